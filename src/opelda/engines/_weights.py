"""The topics while they are being learned: one row of weights per word, scaled lazily.

    lambda_kj = scale * rows_jk + prior_weight * eta_kj

An update that shrinks every weight changes `scale` and `prior_weight` alone; only the rows of words
that a mini-batch holds are ever touched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SMALLEST_SCALE = 1e-6  # below this the rows themselves are scaled: they must stay in single range
WORDS_AT_ONCE = 4096  # that `remake` has in double precision

Prior: TypeAlias = float | NDArray[np.float32]


@dataclass(frozen=True)
class HostWeights:
    """Weights as they travel between engines, processes and files: no padding, host memory."""

    rows: NDArray[np.float32]  # (V, K)
    prior: Prior  # eta: one number, one per word (V,), or one per word and topic (V, K)
    scale: float = 1.0
    prior_weight: float = 0.0
    sums: NDArray[np.float64] | None = None  # sum_j rows_jk, where it is known


class Weights:
    """Weights that an engine owns: rows per word, their sums per topic, and the prior's share.

    Rules and streams change them by the methods here; engines add to `rows` after `begin_change`.
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
        self.prior = prior  # eta, with rows as wide as those of weights
        self.scale = scale
        self.prior_weight = prior_weight
        self.sums = self._add_up() if sums is None else sums  # sum_j rows_jk, kept along
        self.version = 0  # grows when a change begins and when it ends
        self.n_updates = 0  # updates that were made on these, to the end
        self._derived: tuple[int, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_derived": None}  # whoever gets a copy makes tables of its own

    def derived(self, make: Callable[[], Any], *, keep: bool = True) -> Any:
        """Return the table that an engine makes of the weights; keep it until they change."""
        kept, version = self._derived, self.version  # another thread may change them meanwhile
        if kept is not None and kept[0] == version:
            return kept[1]
        table = make()
        if keep and version == self.version:
            self._derived = version, table
        return table

    def touch(self) -> None:
        """Say that a change begins or has ended."""
        self.version += 1
        self._derived = None

    @property
    def rows(self) -> NDArray[Any]:
        """The rows in use."""
        return self._room[: self.n_words]

    def changing_rows(self) -> Any:
        """Return the rows in use where they are changed: an engine's own memory, if it has some."""
        return self.rows

    @property
    def totals(self) -> NDArray[np.float64]:
        """sum_j lambda_kj."""
        totals: NDArray[np.float64] = self.scale * self.sums
        return totals + self.prior_weight * prior_sums(self.prior, self.n_words, self.n_topics)

    def host(self) -> HostWeights:
        """Return the weights without padding; views of these arrays where there is none."""
        prior: Any = self.prior
        if isinstance(prior, np.ndarray):
            prior = (prior if prior.ndim == 1 else prior[:, : self.n_topics]).astype(
                np.float32, copy=False
            )
        rows = self.rows[:, : self.n_topics].astype(np.float32, copy=False)
        return HostWeights(rows, prior, self.scale, self.prior_weight, self.sums)

    def begin_change(self) -> None:
        """Make the rows writable, for arrays of another process are read-only; `touch` follows."""
        self.touch()
        if not self._room.flags.writeable:
            self._room = np.array(self._room)

    def shrink(self, factor: float) -> None:
        """Multiply the rows (not the prior's share) by a factor."""
        self.touch()
        self.scale *= factor
        if self.scale < SMALLEST_SCALE:
            self._rescale(np.full(self.n_topics, self.scale))

    def normalise(self) -> None:
        """Make every topic's rows sum to 1, where their sums have become tiny."""
        if self.scale < SMALLEST_SCALE or (self.scale * self.sums).min() < SMALLEST_SCALE:
            self._rescale(1.0 / self.sums)

    def clear(self) -> None:
        """Forget every row."""
        self.touch()
        self.changing_rows()[:] = 0.0
        self.sums = np.zeros(self.n_topics)
        self.scale = 1.0

    def blend(
        self, share: float, add: Callable[[NDArray[Any], float], NDArray[np.float64]]
    ) -> None:
        """Become (1 - share) of these weights, and `share` of counts, with all of the prior.

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
        except BaseException:  # the rows are part of the way there
            self.recount()
            raise

    def remake(self, make: Callable[[slice, NDArray[np.float64]], NDArray[np.float64]]) -> None:
        """Give every word new weights, the prior's share included: `make` has their lambda (n, K).

        An interruption before the last of them changes nothing.
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
        """Take over another's rows and numbers."""
        self._room, self.n_words, self.prior = other._room, other.n_words, other.prior
        self.sums, self.scale, self.prior_weight = other.sums, other.scale, other.prior_weight
        self.touch()

    def add(self, topic: int, words: NDArray[np.integer], more: NDArray[np.float64]) -> None:
        """Give a topic more weight on some distinct words; `recount` has to follow."""
        self.begin_change()
        self.rows[words, topic] += more

    def grow(self, n_words: int, new: NDArray[np.float64]) -> None:
        """Make room for words up to `n_words`, each with the weights `new` (K,) in its topics."""
        before = self.n_words
        if n_words > len(self._room):  # by a quarter at least, so that copying stays rare
            shape = (max(n_words, len(self._room) * 5 // 4), self.rows.shape[1])
            room = np.zeros(shape, self._room.dtype)
            room[:before] = self.rows
            self._room = room
        # the prior first: whoever reads meanwhile must not find words that it does not have
        self.prior = extended(self.prior, n_words)
        self.n_words = n_words
        self._set(np.arange(before, n_words), new)

    def reset(self, words: NDArray[np.integer], new: NDArray[np.float64]) -> None:
        """Let words begin anew with the weights `new` (K,), and a mean prior."""
        if isinstance(self.prior, np.ndarray) and len(words) < self.n_words:
            prior = self.prior.copy()  # others may hold views of it
            prior[words] = np.delete(prior, words, axis=0).mean(axis=0)
            self.prior = prior
        self._set(words, new)

    def _set(self, words: NDArray[np.integer], new: NDArray[np.float64]) -> None:
        self.begin_change()
        rows, k = self.rows, self.n_topics
        others = self.sums - rows[words, :k].sum(axis=0, dtype=np.float64)
        cancelled = (others < 1e-6 * self.sums).any()  # little is left, and not to many digits
        rows[words, :k] = new / self.scale
        if cancelled:
            self.recount()
        else:
            self.sums = others + rows[words, :k].sum(axis=0, dtype=np.float64)
        self.touch()

    def recount(self) -> None:
        """Take the sums from the rows, which an interruption may have left ahead of them."""
        self.sums = self._add_up()
        self.touch()

    def _rescale(self, factors: NDArray[np.float64]) -> None:
        self.begin_change()
        self.rows[:, : self.n_topics] *= factors.astype(self._room.dtype)
        self.sums = self._add_up()
        self.scale = 1.0
        self.touch()

    def _add_up(self) -> NDArray[np.float64]:
        return _sum_of(self.rows, self.n_topics)


def _sum_of(rows: NDArray[Any], n_topics: int) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = rows[:, :n_topics].sum(axis=0, dtype=np.float64)
    return sums


def prior_sums(prior: Prior, n_words: int, n_topics: int) -> NDArray[np.float64] | float:
    """sum_j eta_kj."""
    if not isinstance(prior, np.ndarray):
        return prior * n_words
    if prior.ndim == 1:
        return float(prior.sum(dtype=np.float64))
    return _sum_of(prior, n_topics)


def extended(prior: Prior, n_words: int) -> Prior:
    """Return the prior with as many words: those it does not know get the mean of those it does."""
    if not isinstance(prior, np.ndarray) or len(prior) >= n_words:
        return prior
    more = np.repeat(prior.mean(axis=0, keepdims=True), n_words - len(prior), axis=0)
    return np.concatenate((prior, more)).astype(prior.dtype)
