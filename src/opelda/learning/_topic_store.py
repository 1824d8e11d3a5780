"""The topics while they are being learned: one row of weights per word, scaled lazily.

    lambda_kj = scale * rows_jk + prior_weight * eta_kj

An update that shrinks every weight changes `scale` and `prior_weight` alone; only the rows of words
that a mini-batch holds are ever touched.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from opelda.engines import Kept, aligned_empty, row_width

SMALLEST_SCALE = 1e-6  # below this the rows themselves are scaled: they must stay in single range

Prior: TypeAlias = float | NDArray[np.float32]


class TopicStore:
    """Rows of weights per word, their sums per topic, and the prior's share.

    Attributes
    ----------
    rows : float32 array (V, stride)
        Word-major, padded with zeros to 16 topics.
    sums : float64 array (K,)
        sum_j rows_jk, kept along.
    scale, prior_weight : float
    prior : float, float32 array (V,) or float32 array (V, stride)
        eta.
    """

    def __init__(
        self,
        rows: NDArray[np.float32],
        n_topics: int,
        prior: Prior,
        *,
        scale: float = 1.0,
        prior_weight: float = 0.0,
        sums: NDArray[np.float64] | None = None,
    ) -> None:
        self._room = rows  # may hold more rows than there are words, to grow into
        self.n_words = len(rows)
        self.n_topics = n_topics
        self.prior = prior
        self.scale = scale
        self.prior_weight = prior_weight
        self.sums = self._add_up() if sums is None else sums

    @classmethod
    def random(cls, n_words: int, n_topics: int, prior: Prior, seed: int) -> "TopicStore":
        """Start with weights of 1 give or take a tenth: just enough to tell the topics apart.

        Wider, and VB, for which small weights count exponentially less, would keep every word where
        the start happened to put it.
        """
        rows = aligned_empty(n_words, row_width(n_topics))
        np.random.default_rng([seed, 3]).standard_normal(out=rows, dtype=np.float32)
        rows *= 0.1
        rows += 1.0
        np.maximum(rows, 0.1, out=rows)
        rows[:, n_topics:] = 0.0
        return cls(rows, n_topics, prior)

    @property
    def rows(self) -> NDArray[np.float32]:
        """The rows in use."""
        return self._room[: self.n_words]

    @property
    def totals(self) -> NDArray[np.float64]:
        """sum_j lambda_kj."""
        totals: NDArray[np.float64] = self.scale * self.sums
        return totals + self.prior_weight * self._prior_sums()

    def kept(self) -> Kept:
        """Return the weights as engines take them."""
        return Kept(
            rows=self.rows,
            n_topics=self.n_topics,
            scale=self.scale,
            prior_weight=self.prior_weight,
            prior=self.prior,
            totals=self.totals,
        )

    def shrink(self, factor: float) -> None:
        """Multiply the rows (not the prior's share) by a factor."""
        self.scale *= factor
        if self.scale < SMALLEST_SCALE:
            self._rescale(np.full(self.n_topics, self.scale))

    def normalise(self) -> None:
        """Make every topic's rows sum to 1, where they have drifted far from it."""
        if self.scale < SMALLEST_SCALE or (self.scale * self.sums).min() < SMALLEST_SCALE:
            self._rescale(1.0 / self.sums)

    def clear(self) -> None:
        """Forget every row."""
        self.rows[:] = 0.0
        self.sums = np.zeros(self.n_topics)
        self.scale = 1.0

    def move_to(self, other: "TopicStore", weight: float) -> None:
        """Become (1 - weight) of what this is and `weight` of the other, as counts and prior."""
        self.own()
        rows, scale = self.rows, self.scale
        self.scale, self.prior_weight = 1.0, 1.0
        try:
            rows *= np.float32((1.0 - weight) * scale)
            rows += np.float32(weight * other.scale) * other.rows
            self.sums = (1.0 - weight) * scale * self.sums + weight * other.scale * other.sums
        except BaseException:  # interrupted: the rows are part of the way there, and are counted
            self.recount()
            raise

    def restart(self, seed: int) -> None:
        """Go back to the random start, for a first update that did not come to its end."""
        start = TopicStore.random(self.n_words, self.n_topics, self.prior, seed)
        self._room, self.sums = start._room, start.sums
        self.scale, self.prior_weight = 1.0, 0.0

    def own(self) -> None:
        """Have rows of its own to write on: arrays of another process come read-only."""
        if not self._room.flags.writeable:
            self._room = np.array(self._room)

    def grow(self, n_words: int, new: NDArray[np.float64]) -> None:
        """Make room for words up to `n_words`, each with the weights `new` (K,) in its topics."""
        before = self.n_words
        if n_words > len(self._room):  # by a quarter at least, so that copying stays rare
            room = np.zeros(
                (max(n_words, len(self._room) * 5 // 4), self.rows.shape[1]), np.float32
            )
            room[:before] = self.rows
            self._room = room
        self.n_words = n_words
        self.prior = extended(self.prior, n_words)
        self.reset(np.arange(before, n_words), new)

    def reset(self, words: NDArray[np.integer], new: NDArray[np.float64]) -> None:
        """Give words the weights `new` (K,), whatever they had."""
        self.own()
        rows, k = self.rows, self.n_topics
        others = self.sums - rows[words, :k].sum(axis=0, dtype=np.float64)
        cancelled = (others < 1e-6 * self.sums).any()  # little is left, and not to many digits
        rows[words, :k] = new / self.scale
        if cancelled:
            self.recount()
        else:
            self.sums = others + rows[words, :k].sum(axis=0, dtype=np.float64)

    def recount(self) -> None:
        """Take the sums from the rows, which an interruption may have left ahead of them."""
        self.sums = self._add_up()

    def _rescale(self, factors: NDArray[np.float64]) -> None:
        self.own()
        self.rows[:, : self.n_topics] *= factors.astype(np.float32)
        self.sums = self._add_up()
        self.scale = 1.0

    def _add_up(self) -> NDArray[np.float64]:
        sums: NDArray[np.float64] = self.rows[:, : self.n_topics].sum(axis=0, dtype=np.float64)
        return sums

    def _prior_sums(self) -> NDArray[np.float64] | float:
        if not isinstance(self.prior, np.ndarray):
            return self.prior * self.n_words
        if self.prior.ndim == 1:
            return float(self.prior.sum(dtype=np.float64))
        sums: NDArray[np.float64] = self.prior[:, : self.n_topics].sum(axis=0, dtype=np.float64)
        return sums


def extended(prior: Prior, n_words: int) -> Prior:
    """Return the prior with as many words: those it does not know get the mean of those it does."""
    if not isinstance(prior, np.ndarray) or len(prior) >= n_words:
        return prior
    more = np.repeat(prior.mean(axis=0, keepdims=True), n_words - len(prior), axis=0)
    return np.concatenate((prior, more)).astype(np.float32)
