"""CUSUM (Page 1954): measures of a stream's blocks, watched for a lasting change.

A lane sums the log likelihood ratios of a change against none, and restarts at 0. Without a change
the sum reaches `limit` once in exp(limit) blocks or more (Lorden 1971).
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAST = 15  # past blocks before a lane is judged
AT_LEAST = 4  # blocks of an alarm
MARGIN = 2.0  # standard errors of the usual level
SMALLEST = 1e-12  # divisor

Array = NDArray[np.float64]


class Alarms(NamedTuple):
    """Lanes that changed, and their levels before and since."""

    up: NDArray[np.bool_]
    down: NDArray[np.bool_]
    before: Array
    now: Array


@dataclass(frozen=True)
class Lanes:
    """Measures, a column of `table` each; never changed in place.

    Rows of `table`: number of blocks, weight, mean and variance (of a weight of 1) of the past; the
    sums of rises and falls; number, weight, total and squares of blocks since a sum restarted,
    which join the past when both sums are 0; weight and total since each sum restarted.
    """

    table: Array
    signed: ClassVar[bool] = True  # whether levels can be negative

    @classmethod
    def of(cls, n_lanes: int, **how: float) -> "Lanes":
        return cls(np.zeros((14, n_lanes)), **how)

    def judged(self, values: Array, weights: Array) -> tuple[Array, Array]:
        """Return log likelihood ratios (2, n) of rises and falls, and variances."""
        raise NotImplementedError

    def pooled(self, own: Array, known: NDArray[np.bool_], common: float) -> Any:
        """Shrink each lane's number towards the mean of known lanes, which counts as 20 blocks."""
        mean = own[known].mean() if known.any() else common
        return (self.table[0] * own + 20 * mean) / (self.table[0] + 20)

    def see(self, values: Array, weights: Array, limit: float) -> tuple["Lanes", Alarms]:
        """Add a block of levels and weights; a weight of 0 is no observation."""
        table = self.table.copy()
        blocks, _, mean, _ = self.table[:4]
        seen = weights > 0
        values = np.where(seen, values, mean)
        known = seen & (blocks >= LEAST)
        ratios, variance = self.judged(values, weights)
        more = np.minimum(np.where(known, ratios, 0.0), limit / AT_LEAST)
        table[4:6] = np.maximum(table[4:6] + more, 0.0)
        # A deviation counts as three standard deviations at most.
        usual = 3.0 * np.sqrt(variance / np.maximum(weights, SMALLEST))
        off = np.where(known, np.clip(values - mean, -usual, usual), values - mean)
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
        table = self.table.copy()
        table[:, lanes] = 0.0
        return replace(self, table=table)


@dataclass(frozen=True)
class ShareLanes(Lanes):
    """Shares of tokens, whose counts vary as a multiple of Poisson; a change is by `factor`."""

    signed: ClassVar[bool] = False
    factor: float = 1.2

    def judged(self, values: Array, weights: Array) -> tuple[Array, Array]:
        blocks, tokens, mean, own = self.table[:4]
        tokens, known = np.maximum(tokens, 1.0), (blocks > 1) & (mean > 0)
        times = np.where(known, own / np.maximum(mean, SMALLEST), 0.0)
        spread = np.maximum(self.pooled(times, known, 1.0), 1.0)
        # bounds of the usual level
        margin = MARGIN * np.sqrt(spread * mean / tokens)
        high = mean + margin + MARGIN**2 * spread / tokens
        low = np.maximum(mean - margin, 0.0)
        rise = np.log(self.factor) * values - (self.factor - 1.0) * high
        fall = (1.0 - 1.0 / self.factor) * low - np.log(self.factor) * values
        return np.stack((rise, fall)) * weights / spread, spread * high


@dataclass(frozen=True)
class LevelLanes(Lanes):
    """Mean log probabilities of tokens, normal variables; a change is a fall by `drop` nats."""

    drop: float = 0.0

    def judged(self, values: Array, weights: Array) -> tuple[Array, Array]:
        variance = self.pooled(self.table[3], self.table[0] > 1, 0.0)
        unit = np.maximum(variance, SMALLEST)
        deviation = np.sqrt(unit / np.maximum(weights, SMALLEST))
        error = MARGIN * np.sqrt(unit / np.maximum(self.table[1], SMALLEST))
        off = (self.table[2] - error - values - self.drop / 2) / deviation
        fall = np.minimum(self.drop / deviation, 2.0) * off
        return np.stack((np.full_like(fall, -np.inf), fall)), variance


def _merge(table: Array, lanes: NDArray[np.bool_]) -> None:
    """Add the blocks of restarted sums to the past, which counts as 100 blocks at most."""
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
