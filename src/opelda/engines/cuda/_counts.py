"""Counts of tokens on a GPU, and weights that are moved towards them."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.cuda._device import Device
from opelda.engines.cuda._tables import CudaWeights
from opelda.engines.seam import TokenCounts


class CudaCounts(TokenCounts):
    """Counts on the GPU, all cells of them: 32 bits each where the tokens of any word fit."""

    def __init__(self, device: Device, there: Any, shift: int) -> None:
        object.__setattr__(self, "device", device)
        object.__setattr__(self, "there", there)  # (V, K)
        object.__setattr__(self, "shift", shift)

    device: Device
    there: Any

    @classmethod
    def of(cls, device: Device, counts: TokenCounts) -> "CudaCounts":
        """Take counts of another engine, or such as were added up."""
        if isinstance(counts, cls):
            return counts
        starts, topics, cells = counts.arrays
        words = np.repeat(np.arange(counts.n_words), np.diff(starts))
        there = device.cp.zeros(counts.cells.shape, np.int64)
        there[device.array(words), device.array(topics)] = device.array(cells, np.int64)
        return cls(device, there, counts.shift)

    @property
    def kind(self) -> str:
        """Which kernels are for them."""
        return "small" if self.there.dtype == np.int32 else "large"

    @property
    def unit(self) -> float:
        """The weight of 1."""
        return 2.0**-self.shift

    @property
    def n_words(self) -> int:
        """V."""
        return int(self.there.shape[0])

    @property
    def n_topics(self) -> int:
        """K."""
        return int(self.there.shape[1])

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The tokens of each topic."""
        with self.device.busy():
            return self.device.host(self.device.column_sums(self.there, self.n_topics)) * self.unit

    @property
    def word_sums(self) -> NDArray[np.int64]:
        """The weight of each word, in multiples of 2**-shift."""
        return self.device.host(self.there.sum(axis=1, dtype=np.int64))

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct weights of cells, ascending, and how many cells have each."""
        cells, times = self.device.cp.unique(self.there[self.there != 0], return_counts=True)
        return self.device.host(cells).astype(np.int64), self.device.host(times)

    @cached_property
    def cells(self) -> sparse.csr_array:
        """The counts in host memory."""
        with self.device.busy():
            words, topics = self.device.cp.nonzero(self.there)
            values = self.device.host(self.there[words, topics]).astype(np.int64)
        starts = np.searchsorted(self.device.host(words), np.arange(self.n_words + 1))
        parts = values, self.device.host(topics).astype(np.int32), starts
        return sparse.csr_array(parts, shape=self.there.shape)


def blend(weights: CudaWeights, counts: TokenCounts, share: float) -> None:
    """Move weights towards counts; see `Engine.blend`."""
    there = CudaCounts.of(weights.device, counts)

    def add(rows: Any, factor: float) -> NDArray[np.float64]:
        cells = there.there
        weights.device.run(
            "counts", f"add_{there.kind}", cells.size,
            cells, np.float64(factor * there.unit), np.int64(cells.size),
            np.int32(there.n_topics), np.int32(rows.shape[1]), rows,
        )  # fmt: skip
        return factor * there.sums

    weights.blend(share, add)
