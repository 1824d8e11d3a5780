"""Measures of a stream, block by block, each watched for a lasting change against its own past.

CUSUM (Page 1954): a lane adds up how much likelier each block is after a change than before it, and
begins again whenever "before" is likelier. Without a change the sum reaches `limit` once in
exp(limit) blocks or more (Lorden 1971), if blocks vary as past blocks did.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 15  # past blocks, before a lane is judged
AT_LEAST = 4  # blocks of an alarm: a single odd block raises none
MARGIN = 2.0  # standard errors of the usual level, which few blocks leave uncertain
SMALLEST = 1e-12  # divisor

Array = NDArray[np.float64]


class Alarms(NamedTuple):
    """The lanes that changed, upwards or downwards, and their levels before and since."""

    up: NDArray[np.bool_]
    down: NDArray[np.bool_]
    before: Array
    now: Array


@dataclass(frozen=True)
class Lanes:
    """Some measures, a column of `table` each; nothing is changed in place.

    Rows of `table`: number of blocks, weight, mean and variance (of a weight of 1) of the past; the
    sums upwards and downwards; number, weight, total and squares of the blocks since one of the
    sums began, which join the past when both have ended; weight and total since each sum began.
    """

    table: Array
    signed: ClassVar[bool] = True  # whether levels can be negative

    @classmethod
    def of(cls, n_lanes: int, **how: float) -> "Lanes":
        """Begin without a past."""
        return cls(np.zeros((14, n_lanes)), **how)

    def increments(self, values: Array, weights: Array) -> Array:
        """Return log likelihood ratios (2, n) of a rise and of a fall against no change."""
        raise NotImplementedError

    def pooled(self, own: Array, known: NDArray[np.bool_], common: float) -> Array:
        """Draw each lane's number towards the mean of known lanes, as if by 20 more blocks."""
        blocks = self.table[0]
        mean = own[known].mean() if known.any() else common
        found: Array = (blocks * own + 20 * mean) / (blocks + 20)
        return found

    @cached_property
    def variance(self) -> Array:
        """The variance of a weight of 1."""
        return self.pooled(self.table[3], self.table[0] > 1, 0.0)

    def see(self, values: Array, weights: Array, limit: float) -> tuple["Lanes", Alarms]:
        """Add a block: the lanes' levels and weights; a weight of 0 is no observation."""
        table = self.table.copy()
        blocks, _, mean, _ = self.table[:4]
        seen = weights > 0
        values = np.where(seen, values, mean)
        judged = seen & (blocks >= LEAST)
        more = np.where(judged, self.increments(values, weights), 0.0)
        table[4:6] = np.maximum(table[4:6] + np.minimum(more, limit / AT_LEAST), 0.0)
        # A deviation counts as three standard deviations at most, and for more if the mean is of
        # few blocks.
        usual = 3.0 * np.sqrt(self.variance / np.maximum(weights, SMALLEST))
        off = np.where(judged, np.clip(values - mean, -usual, usual), values - mean)
        squares = off**2 * weights * blocks / (blocks + 1)
        table[6:10] += np.stack((seen, weights, weights * (mean + off), squares))
        for side, at in ((4, 10), (5, 12)):
            since = table[at : at + 2] + np.stack((weights, weights * values))
            table[at : at + 2] = np.where(table[side] > 0, since, 0.0)
        up, down = table[4:6] >= limit
        changed = up | down
        weight, total = np.where(up, table[10:12], table[12:14])
        now = np.where(changed, total / np.maximum(weight, SMALLEST), mean)
        blocks = table[6] * weight / np.maximum(table[7], SMALLEST)
        _merge(table, (table[4] == 0) & (table[5] == 0))
        table[:3, changed] = np.stack((blocks, weight, now))[:, changed]
        if not self.signed:  # variance is proportional to the level
            table[3, changed] *= now[changed] / np.maximum(mean[changed], SMALLEST)
        table[4:, changed] = 0.0
        return replace(self, table=table), Alarms(up, down & ~up, mean, now)

    def renewed(self, lanes: NDArray[np.integer]) -> "Lanes":
        """Forget the past of some lanes."""
        table = self.table.copy()
        table[:, lanes] = 0.0
        return replace(self, table=table)


@dataclass(frozen=True)
class ShareLanes(Lanes):
    """Shares of tokens, watched for a change by `factor`; counts vary by a multiple of Poisson."""

    signed: ClassVar[bool] = False
    factor: float = 1.2

    @cached_property
    def spread(self) -> Array:
        """The variance of shares, relative to independent tokens; at least 1."""
        blocks, _, mean, own = self.table[:4]
        known = (blocks > 1) & (mean > 0)
        times = np.where(known, own / np.maximum(mean, SMALLEST), 0.0)
        return np.maximum(self.pooled(times, known, 1.0), 1.0)

    @cached_property
    def variance(self) -> Array:
        return self.spread * self._high

    @cached_property
    def _high(self) -> Array:
        """The highest level that may still be the usual one."""
        spread, mean, tokens = self.spread, self.table[2], np.maximum(self.table[1], 1.0)
        found: Array = mean + MARGIN * np.sqrt(spread * mean / tokens) + MARGIN**2 * spread / tokens
        return found

    def increments(self, values: Array, weights: Array) -> Array:
        """Return those of Poisson counts, divided by the spread."""
        spread, tokens = self.spread, np.maximum(self.table[1], 1.0)
        mean, log = self.table[2], np.log(self.factor)
        low = np.maximum(mean - MARGIN * np.sqrt(spread * mean / tokens), 0.0)
        rise = log * values - (self.factor - 1.0) * self._high
        fall = (1.0 - 1.0 / self.factor) * low - log * values
        found: Array = np.stack((rise, fall)) * weights / spread
        return found


@dataclass(frozen=True)
class LevelLanes(Lanes):
    """Mean log probabilities of tokens, watched for a fall by `drop` nats."""

    drop: float = 0.0

    def increments(self, values: Array, weights: Array) -> Array:
        """Return those of normal variables."""
        unit = np.maximum(self.variance, SMALLEST)
        deviation = np.sqrt(unit / np.maximum(weights, SMALLEST))
        error = MARGIN * np.sqrt(unit / np.maximum(self.table[1], SMALLEST))
        off = (self.table[2] - error - values - self.drop / 2) / deviation
        fall = np.minimum(self.drop / deviation, 2.0) * off
        found: Array = np.stack((np.full_like(fall, -np.inf), fall))
        return found


def _merge(table: Array, lanes: NDArray[np.bool_]) -> None:
    """Add the blocks of sums that ended to the past, of which 100 blocks count."""
    blocks, weight, mean, variance = table[:4, lanes]
    more, more_weight, total, squares = table[6:10, lanes]
    both = np.maximum(blocks + more, 1.0)
    level = np.where(more > 0, total / np.maximum(more_weight, SMALLEST), mean)
    kept = np.minimum(100 / both, 1.0)
    table[:4, lanes] = (
        (blocks + more) * kept,
        (weight + more_weight) * kept,
        (blocks * mean + more * level) / both,
        (blocks * variance + squares) / both,
    )
    table[6:10, lanes] = 0.0
