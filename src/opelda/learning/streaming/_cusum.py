"""Measures of a stream, block by block, each watched for a lasting change against its own past.

A lane adds up how much likelier each block of documents is after a change than before it (CUSUM,
Page 1954), and begins again whenever "before" is likelier. Without a change the sum reaches `limit`
once in exp(limit) blocks or more (Lorden 1971), if the blocks vary as past blocks did: so much for
false alarms. Past blocks say what is usual and how much blocks vary, which is more than chance
alone makes them; the usual level is taken with a margin for how little is known of it.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

MEMORY = 100  # blocks that make up what is usual
LEAST = 15  # of them, before a lane is judged
POOLED = 20  # blocks that all lanes together count for in how much one of them varies
AT_LEAST = 4  # blocks make an alarm: a single one that is odd does not
MARGIN = 2.0  # standard errors of the usual level
ODD = 3.0  # standard deviations: what is further off counts as that much
SMALLEST = 1e-12  # that is divided by
ROWS = 14

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Alarms:
    """The lanes that changed: upwards or downwards, and their levels before and since."""

    up: NDArray[np.bool_]
    down: NDArray[np.bool_]
    before: Array
    now: Array


@dataclass(frozen=True)
class Lanes:
    """Some measures; nothing is changed in place.

    `table` has a column for each, and as rows: blocks, weight, mean and variance (of a weight of 1)
    of the past; the sums upwards and downwards; of the blocks since one of them began, which become
    part of the past when both have ended, number, weight, total and squares, odd ones cut short;
    and since each of them began weight and total.
    """

    table: Array
    signed: ClassVar[bool] = True  # whether levels can be negative

    @classmethod
    def of(cls, n_lanes: int, **how: float) -> "Lanes":
        """Begin with nothing known."""
        return cls(np.zeros((ROWS, n_lanes)), **how)

    def increments(self, values: Array, weights: Array) -> Array:
        """Return log likelihood ratios, (2, n): a rise against no change, a fall against none."""
        raise NotImplementedError

    def pooled(self, own: Array, known: NDArray[np.bool_], common: float) -> Array:
        """Draw a number of each lane towards the mean of known lanes, `common` if there is none."""
        blocks = self.table[0]
        mean = own[known].mean() if known.any() else common
        found: Array = (blocks * own + POOLED * mean) / (blocks + POOLED)
        return found

    @cached_property
    def variance(self) -> Array:
        """The variance of a weight of 1, drawn towards what lanes have in common."""
        return self.pooled(self.table[3], self.table[0] > 1, 0.0)

    def see(self, values: Array, weights: Array, limit: float) -> tuple["Lanes", Alarms]:
        """Take in a block: of each lane a level and what it weighs, nothing where that is 0."""
        table = self.table.copy()
        blocks, _, mean, _ = self.table[:4]
        seen = weights > 0
        values = np.where(seen, values, mean)
        judged = seen & (blocks >= LEAST)
        more = np.where(judged, self.increments(values, weights), 0.0)
        table[4:6] = np.maximum(table[4:6] + np.minimum(more, limit / AT_LEAST), 0.0)
        # Odd blocks count for less, and a block for more if the mean is made of few.
        usual = ODD * np.sqrt(self.variance / np.maximum(weights, SMALLEST))
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
    """Shares of a block's tokens, which vary as counts do, a number of times as much.

    A rise is `factor` times as much, a fall as much the other way; less than its root is none.
    """

    signed: ClassVar[bool] = False
    factor: float = 1.2

    @cached_property
    def spread(self) -> Array:
        """How many times as much shares vary as those of independent tokens would, at least 1."""
        blocks, _, mean, own = self.table[:4]
        known = (blocks > 1) & (mean > 0)
        times = np.where(known, own / np.maximum(mean, SMALLEST), 0.0)
        return np.maximum(self.pooled(times, known, 1.0), 1.0)

    @cached_property
    def variance(self) -> Array:
        """The variance of a weight of 1, at the usual level or what may still be that."""
        return self.spread * self._high

    @cached_property
    def _high(self) -> Array:
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
    """Mean log probabilities of tokens, which are watched for a fall by `drop` nats."""

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
    """Make the blocks of runs that led to nothing part of what is usual."""
    blocks, weight, mean, variance = table[:4, lanes]
    more, more_weight, total, squares = table[6:10, lanes]
    both = np.maximum(blocks + more, 1.0)
    level = np.where(more > 0, total / np.maximum(more_weight, SMALLEST), mean)
    kept = np.minimum(MEMORY / both, 1.0)
    table[:4, lanes] = (
        (blocks + more) * kept,
        (weight + more_weight) * kept,
        (blocks * mean + more * level) / both,
        (blocks * variance + squares) / both,
    )
    table[6:10, lanes] = 0.0
