"""The topics while they are being learned: one row of weights per word, scaled lazily.

    lambda_kj = scale * rows_jk + prior_weight * eta_kj

An update that shrinks every weight changes `scale` and `prior_weight` alone, and touches only the
rows of the words of a mini-batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SMALLEST_SCALE = 1e-6  # below this the rows themselves are scaled, to stay in single range
WORDS_AT_ONCE = 4096  # of `remake`, in double precision

Prior: TypeAlias = float | NDArray[np.float32]


@dataclass(frozen=True)
class HostWeights:
    """Weights as engines, processes and files exchange them: no padding, host memory."""

    rows: NDArray[np.float32]  # (V, K)
    prior: Prior  # eta: one number, one per word (V,), or one per word and topic (V, K)
    scale: float = 1.0
    prior_weight: float = 0.0
    sums: NDArray[np.float64] | None = None  # sum_j rows_jk, where it is known


class Weights:
    """Weights that an engine owns: rows per word, their sums per topic, and the prior's share.

    Rules and streams call the methods here; engines add to `rows` after `begin_change`.
    """

    def __init__(
        self,
        owner: str,
        rows: NDArray[Any],
        n_topics: int,
        prior: Prior,
        *,
        scale: float = 1.0,
        prior_weight: float = 0.0,
        sums: NDArray[np.float64] | None = None,
    ) -> None:
        self.owner = owner  # the name of the engine
        # (V, width), columns from K on are zeros; maybe more rows than words, to grow into
        self._room = rows
        self.n_words = len(rows)
        self.n_topics = n_topics
        self.prior = prior  # eta, with rows as wide as the weights'
        self.scale = scale
        self.prior_weight = prior_weight
        self.sums = self._add_up() if sums is None else sums  # sum_j rows_jk, kept along
        self.version = 0  # grows when a change begins and when it ends
        self.n_updates = 0  # completed updates
        self._derived: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_derived": None}

    def derived(self, make: Callable[[], Any], most_bytes: float = np.inf) -> Any:
        """Return the table that an engine makes of the weights; keep it until they change.

        Tables of weights of more than `most_bytes` are not kept.
        """
        kept, version = self._derived, self.version  # another thread may change the weights
        if kept is not None and kept[0] == version:
            return kept[1]
        table = make()
        # (reading `rows` copies GPU weights to the host)
        if version == self.version and (most_bytes == np.inf or self.rows.nbytes <= most_bytes):
            self._derived = version, table
        return table

    def touch(self) -> None:
        """Mark the beginning or the end of a change."""
        self.version += 1
        self._derived = None

    @property
    def rows(self) -> NDArray[Any]:
        """The rows in use."""
        return self._room[: self.n_words]

    def changing_rows(self) -> Any:
        """Return the rows in use where the engine changes them."""
        return self.rows

    @property
    def totals(self) -> NDArray[np.float64]:
        """sum_j lambda_kj."""
        totals: NDArray[np.float64] = self.scale * self.sums
        return totals + self.prior_weight * prior_sums(self.prior, self.n_words, self.n_topics)

    def host(self) -> HostWeights:
        """Return the weights without padding, where possible as views."""
        prior: Any = self.prior
        if isinstance(prior, np.ndarray):
            prior = prior if prior.ndim == 1 else prior[:, : self.n_topics]
            prior = prior.astype(np.float32, copy=False)
        rows = self.rows[:, : self.n_topics].astype(np.float32, copy=False)
        return HostWeights(rows, prior, self.scale, self.prior_weight, self.sums)

    def begin_change(self) -> None:
        """Make the rows writable, for arrays of another process are read-only; `touch` ends it."""
        self.touch()
        if not self._room.flags.writeable:
            self._room = np.array(self._room)

    def shrink(self, factor: float) -> None:
        """Multiply the rows by a factor, without the prior's share."""
        self.touch()
        self.scale *= factor
        if self.scale < SMALLEST_SCALE:
            self._rescale(np.full(self.n_topics, self.scale))

    def normalise(self) -> None:
        """Make every topic's rows sum to 1, where a sum has become tiny."""
        if self.scale < SMALLEST_SCALE or (self.scale * self.sums).min() < SMALLEST_SCALE:
            self._rescale(1.0 / self.sums)

    def clear(self) -> None:
        """Set every row to zero."""
        self.touch()
        self.changing_rows()[:] = 0.0
        self.sums = np.zeros(self.n_topics)
        self.scale = 1.0

    def blend(
        self, share: float, add: Callable[[NDArray[Any], float], NDArray[np.float64]]
    ) -> None:
        """Set the weights to (1 - share) of them, `share` of counts, and all of the prior.

        `add` adds the counts, times a factor, to rows and returns the growth of their sums. An
        interruption leaves weights that add up.
        """
        self.begin_change()
        scale = self.scale * (1.0 - share)
        if 0.0 < scale < SMALLEST_SCALE:
            self._rescale(np.full(self.n_topics, self.scale))
            scale = 1.0 - share
        try:
            self.prior_weight = 1.0
            rows = self.changing_rows()
            if scale > 0.0:
                grown = add(rows, share / scale)
                self.scale, self.sums = scale, self.sums + grown
            else:
                room = np.zeros_like(rows)
                grown = add(room, 1.0)
                self.scale, self._room, self.sums = 1.0, room, grown
            self.touch()
        except BaseException:  # a part of the rows is changed
            self.recount()
            raise

    def remake(self, make: Callable[[slice, NDArray[np.float64]], NDArray[np.float64]]) -> None:
        """Replace the weights by `make(words, lambda)`, (n, K), for a slice of words at a time.

        The new weights include the prior's share. An interrupted `make` leaves them unchanged.
        """
        room = np.zeros_like(self._room)
        for first in range(0, self.n_words, WORDS_AT_ONCE):
            words = slice(first, min(first + WORDS_AT_ONCE, self.n_words))
            rows = self.rows[words, : self.n_topics].astype(np.float64)
            before = self.scale * rows + self.prior_weight * self.prior_of(words)
            room[words, : self.n_topics] = make(words, before)
        self.touch()
        self._room, self.scale, self.prior_weight = room, 1.0, 0.0
        self.recount()

    def prior_of(self, words: slice) -> Any:
        """Return eta of some words, to be broadcast to (n, K)."""
        prior = self.prior
        if not isinstance(prior, np.ndarray):
            return prior
        part = prior[words].astype(np.float64)
        return part[:, None] if part.ndim == 1 else part[:, : self.n_topics]

    def become(self, other: "Weights") -> None:
        """Replace the rows and numbers by those of other weights."""
        self._room, self.n_words, self.prior = other._room, other.n_words, other.prior
        self.sums, self.scale, self.prior_weight = other.sums, other.scale, other.prior_weight
        self.touch()

    def add(self, topic: int, words: NDArray[np.integer], more: NDArray[np.float64]) -> None:
        """Give a topic more weight on some distinct words; `recount` has to follow."""
        self.begin_change()
        self.rows[words, topic] += more

    def grow(self, n_words: int, new: NDArray[np.float64]) -> None:
        """Add words up to `n_words`, each with the weights `new` (K,)."""
        before = self.n_words
        if n_words > len(self._room):  # by a quarter at least, so that copying stays rare
            shape = (max(n_words, len(self._room) * 5 // 4), self.rows.shape[1])
            room = np.zeros(shape, self._room.dtype)
            room[:before] = self.rows
            self._room = room
        # the prior first: a concurrent reader must not find words without a prior
        self.prior = extended(self.prior, n_words)
        self.n_words = n_words
        self._set(np.arange(before, n_words), new)

    def reset(self, words: NDArray[np.integer], new: NDArray[np.float64]) -> None:
        """Set the weights of some words to `new` (K,), and their prior to the others' mean."""
        if isinstance(self.prior, np.ndarray) and len(words) < self.n_words:
            prior = self.prior.copy()  # `host` returns views of the prior
            prior[words] = np.delete(prior, words, axis=0).mean(axis=0)
            self.prior = prior
        self._set(words, new)

    def _set(self, words: NDArray[np.integer], new: NDArray[np.float64]) -> None:
        self.begin_change()
        rows, k = self.rows, self.n_topics
        others = self.sums - _sums_of(rows[words, :k], k)
        cancelled = (others < 1e-6 * self.sums).any()  # the difference has lost its digits
        rows[words, :k] = new / self.scale
        self.sums = self._add_up() if cancelled else others + _sums_of(rows[words, :k], k)
        self.touch()

    def recount(self) -> None:
        """Compute the sums from the rows, which an interruption may have left inconsistent."""
        self.sums = self._add_up()
        self.touch()

    def _rescale(self, factors: NDArray[np.float64]) -> None:
        self.begin_change()
        self.rows[:, : self.n_topics] *= factors.astype(self._room.dtype)
        self.sums, self.scale = self._add_up(), 1.0
        self.touch()

    def _add_up(self) -> NDArray[np.float64]:
        return _sums_of(self.rows, self.n_topics)


def _sums_of(rows: NDArray[Any], n_topics: int) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = rows[:, :n_topics].sum(axis=0, dtype=np.float64)
    return sums


def prior_sums(prior: Prior, n_words: int, n_topics: int) -> NDArray[np.float64] | float:
    """sum_j eta_kj."""
    if not isinstance(prior, np.ndarray):
        return prior * n_words
    return float(prior.sum(dtype=np.float64)) if prior.ndim == 1 else _sums_of(prior, n_topics)


def extended(prior: Prior, n_words: int) -> Prior:
    """Return the prior for more words: the new words get the mean of the known."""
    if not isinstance(prior, np.ndarray) or len(prior) >= n_words:
        return prior
    more = np.repeat(prior.mean(axis=0, keepdims=True), n_words - len(prior), axis=0)
    return np.concatenate((prior, more)).astype(prior.dtype)
