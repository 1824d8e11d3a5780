"""The GPU's private parts of an update: a batch's statistics, summed there and added there."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines.cuda._device import LANES, Device
from opelda.engines.cuda._documents import CudaRows
from opelda.engines.cuda._kernels import CudaMixtures, batch_of
from opelda.engines.cuda._tables import CudaTable


class Sums:
    """Sums over documents in whole multiples of a unit: exact, in any order.

    The sums are zero before a batch is added, and `clean`, zero again, once they are taken.
    """

    e_seconds = 0.0
    mean_gap = np.nan
    clean = True

    def __init__(self, device: Device, n_words: int, n_topics: int) -> None:
        self.device, self.shape = device, (n_words, n_topics)
        self._cells = device.cp.zeros(self.shape, np.int64)
        self._rests = device.cp.zeros(n_words, np.int64)
        self._mass = device.cp.zeros(n_topics + 1, np.int64)
        self._touched = device.cp.zeros(n_words, np.int32)

    def add(
        self, table: CudaTable, rows: CudaRows, found: CudaMixtures, n_tokens: float, divide: bool
    ) -> None:
        """Add the statistics of documents, part of a batch of `n_tokens`."""
        picks = self._picks = found.picks
        self._table, self._divide = table, np.int32(divide)
        self._unit = np.float64(2.0 ** (61 - int(np.ceil(np.log2(max(n_tokens, 1.0))))))
        batch = batch_of(self.device.cp.arange(rows.n_docs, dtype=np.int32), rows, table)
        if picks is None:
            weighs = found.theta if found.factors is None else found.factors
            self.device.run(
                "update", "add_dense", rows.n_docs,
                *batch, found.theta, weighs, self._divide, self._cells, self._mass, self._touched,
                self._unit,
                threads=LANES,
            )  # fmt: skip
            return
        self.device.run(
            "update", "add_picks", rows.n_docs,
            *batch, picks.n_picked, np.int32(picks.topics.shape[1]), picks.topics, picks.values,
            np.float32(picks.share), np.float32(picks.rest), picks.start_words, self._divide,
            self._cells, self._rests, self._mass, self._touched, self._unit,
            threads=LANES,
        )  # fmt: skip

    def mass(self) -> NDArray[np.float64]:
        """sum_d |d| theta_dk."""
        found = self.device.host(self._mass) / self._unit
        mass: NDArray[np.float64] = found[:-1]
        return mass if self._picks is None else mass + self._picks.start * found[-1]

    def add_to(self, weights: Any, gain: NDArray[np.float64]) -> None:
        """Take the statistics, times a number per topic, and add them to weights."""
        rows = weights.changing_rows()
        self._take(
            self.shape[0], rows, np.int32(rows.shape[1]), self.device.array(gain), None, None
        )
        weights.sums = self.device.column_sums(rows, weights.n_topics)

    def statistics(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Take the words of the documents and their statistics."""
        words = self.device.cp.flatnonzero(self._touched).astype(np.int32)
        values = self.device.cp.empty((len(words), self.shape[1]))
        self._take(len(words), None, np.int32(0), None, words, values)
        return self.device.host(words), self.device.host(values)

    def _take(self, n_words: int, *to: Any) -> None:
        table, start, start_words = self._table, None, None
        if self._picks is not None:
            start, start_words = self.device.fixed(self._picks.start), self._picks.start_words
        self.device.run(
            "update", "take_sums", n_words,
            np.int32(n_words), np.int32(self.shape[1]), self._cells, self._rests, self._touched,
            self._unit, start, start_words, table.beta, np.int32(table.beta.shape[1]),
            self._divide, *to,
            threads=LANES,
        )  # fmt: skip
        self._mass.fill(0)
        del self._table, self._picks
        self.clean = True
