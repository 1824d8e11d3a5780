"""Topics on a GPU: weights that move there and back, and the probabilities they stand for."""

from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines.cpu._tables import TopicTable, row_width
from opelda.engines.cuda._device import LANES, Device, device_of
from opelda.engines.seam import SMALLEST_PROBABILITY, Prior, Weights, prior_sums
from opelda.errors import EngineError


class CudaWeights(Weights):
    """Weights whose rows are on the GPU, in host memory, or alike in both.

    Updates and sweeps change them on the GPU, most other methods of `Weights` in host memory.
    """

    device: Any  # None on a machine without the GPU

    def __init__(self, device: Device, *given: Any, **more: Any) -> None:
        self.device = device
        self._here: Any = None  # host memory
        self._there: Any = None  # GPU
        self._sums_here: Any = None
        self._sums_there: Any = None
        super().__init__(*given, **more)

    @classmethod
    def of(cls, device: Device, owner: str, weights: Weights) -> "CudaWeights":
        """Return the same weights for a GPU."""
        given = {name: getattr(weights, name) for name in ("scale", "prior_weight", "sums")}
        return cls(device, owner, weights.rows, weights.n_topics, weights.prior, **given)

    def __getstate__(self) -> dict[str, Any]:
        there, _, _ = self._there, self._room, self.sums
        state = super().__getstate__() | {"device": self.device.number, "_sums_there": None}
        self._there = there
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, device=None)
        with suppress(EngineError):
            self.device = device_of(state["device"])

    @property
    def _room(self) -> NDArray[Any]:
        """The rows in host memory alone, to be read or changed."""
        if self._here is None:
            self._here = self.device.host(self._there)
        self._there = None
        found: NDArray[Any] = self._here
        return found

    @_room.setter
    def _room(self, rows: Any) -> None:
        on_host = isinstance(rows, np.ndarray)
        self._here, self._there = (rows, None) if on_host else (None, rows)

    @property
    def sums(self) -> NDArray[np.float64]:
        """sum_j rows_jk in host memory, copied when it is read, for updates do not wait."""
        if self._sums_here is None:
            self._sums_here = self.device.host(self._sums_there)
        found: NDArray[np.float64] = self._sums_here
        return found

    @sums.setter
    def sums(self, sums: Any) -> None:
        on_host = isinstance(sums, np.ndarray)
        self._sums_here, self._sums_there = (sums, None) if on_host else (None, sums)

    def sums_on_device(self) -> Any:
        """Return sum_j rows_jk on the GPU."""
        if self._sums_there is None:
            self._sums_there = self.device.array(self._sums_here)
        return self._sums_there

    def on_device(self) -> Any:
        """Return the rows in use on the GPU, to be read."""
        if self._there is None:
            self._there = self.device.array(self._here)
        return self._there[: self.n_words]

    def changing_rows(self) -> Any:
        """Return the rows in use on the GPU alone, to be changed."""
        rows = self.on_device()
        self._here = None
        return rows

    def host(self) -> Any:
        """Return the weights without padding, and keep the rows on the GPU."""
        there = self._there
        found = super().host()
        self._there = there
        return found

    def begin_change(self) -> None:
        """Make host rows writable, for arrays of another process are read-only."""
        self.touch()
        if self._here is not None and not self._here.flags.writeable:
            self._here = np.array(self._here)

    def _rescale(self, factors: NDArray[np.float64]) -> None:
        if self._there is None:
            super()._rescale(factors)
            return
        self.touch()
        rows = self.changing_rows()
        rows[:, : self.n_topics] *= self.device.array(factors, np.float32)
        self.sums, self.scale = self._add_up(), 1.0
        self.touch()

    def _add_up(self) -> NDArray[np.float64]:
        if self._there is None:
            return super()._add_up()
        sums = self.device.column_sums(self.on_device(), self.n_topics)
        found: NDArray[np.float64] = self.device.host(sums)
        return found


class CudaTable(TopicTable):
    """The topics of some words, or of all, on the GPU, and in host memory once they are read."""

    def __init__(
        self,
        device: Device,
        beta: Any,
        means: Any,
        n_topics: int,
        ids: NDArray[np.int32] | None = None,
        known: NDArray[np.bool_] | None = None,
    ) -> None:
        self.device, self.n_topics, self.ids, self.known = device, n_topics, ids, known
        self.beta = beta  # (n, width): columns from K on are zeros
        self.means = means
        self._coarse = None

    @classmethod
    def of_topics(
        cls, device: Device, components: NDArray[Any], ids: NDArray[np.int32] | None
    ) -> "CudaTable":
        """Lay out topics (K, n) that are given."""
        cp, (n_topics, n_words) = device.cp, components.shape
        beta = cp.zeros((n_words, width_of(n_topics)), np.float32)
        beta[:, :n_topics] = device.array(components).T
        beta[beta < SMALLEST_PROBABILITY] = 0.0
        means = (beta.sum(axis=1, dtype=np.float64) / n_topics).astype(np.float32)
        known = device.host(means > 0)
        return cls(device, beta, means, n_topics, ids, None if known.all() else known)

    @classmethod
    def of_weights(
        cls, weights: CudaWeights, words: NDArray[np.int32] | None = None, *, logs: bool = False
    ) -> "CudaTable":
        """Turn the weights of some words, or of all, into probabilities; or exp(E[log beta])."""
        device, n_topics, width = weights.device, weights.n_topics, width_of(weights.n_topics)
        n_words = weights.n_words if words is None else len(words)
        kept = weights.on_device()
        beta = device.cp.empty((n_words, width), np.float32)
        means = device.cp.empty(n_words, np.float32)
        sums: Any = weights.sums_on_device()
        of_prior = weights.prior_weight * prior_sums(weights.prior, weights.n_words, n_topics)
        each = device.array(of_prior) if isinstance(of_prior, np.ndarray) else None
        more: tuple[Any, ...] = ()
        if logs:
            sums = device.array(psi(weights.totals))
            more = (device.cp.empty((n_words, width)),)
        device.run(
            "counts", "log_rows" if logs else "topic_rows", n_words,
            kept, np.int32(kept.shape[1]), device.array(words, np.int32), np.int32(n_words),
            np.int32(n_topics), np.int32(width), np.float64(weights.scale),
            np.float32(weights.prior_weight), *prior_parts(device, weights.prior), sums,
            np.float64(0.0 if each is not None else of_prior), each, *more, beta, means,
            threads=LANES,
        )  # fmt: skip
        return cls(device, beta, means, n_topics, words)

    @property
    def n_words(self) -> int:
        return int(self.beta.shape[0])

    @cached_property
    def rows(self) -> NDArray[np.float32]:  # type: ignore[override]
        """The probabilities in host memory."""
        wide = self.device.host(self.beta)
        shape = len(wide), row_width(self.n_topics)
        found: NDArray[np.float32] = np.zeros(shape, np.float32)
        found[:, : self.n_topics] = wide[:, : self.n_topics]
        return found

    @cached_property
    def mean(self) -> NDArray[np.float32]:  # type: ignore[override]
        """The means in host memory."""
        return self.device.host(self.means)


def width_of(n_topics: int) -> int:
    """Return the floats of a row on the GPU: 32 for 32 topics, 64 for 33."""
    return -(-n_topics // LANES) * LANES


def prior_parts(device: Device, prior: Prior) -> tuple[np.float32, Any, Any]:
    """Return eta as kernels take it: one number, one per word, or rows as wide as weights'."""
    if not isinstance(prior, np.ndarray):
        return np.float32(prior), None, None
    there = device.array(prior, np.float32)
    return (np.float32(0), there, None) if prior.ndim == 1 else (np.float32(0), None, there)
