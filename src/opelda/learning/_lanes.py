"""Measures of a stream, block by block, each watched for a lasting change against its own past.

A lane adds up how much likelier each block of documents is after a change than before it (CUSUM,
Page 1954), and begins again whenever "before" is likelier. Without a change the sum reaches `limit`
once in exp(limit) blocks or more (Lorden 1971), if the blocks vary as those before them did: so
much for false alarms. Past blocks say what is usual and how much blocks vary, which is more than
chance alone makes them; the usual level is taken with a margin for how little is known of it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

MEMORY = 100  # blocks that make up what is usual
LEAST = 20  # of them, before a lane is judged
POOLED = 20  # blocks that all lanes together count for in how much one of them varies
AT_LEAST = 4  # blocks make an alarm: a single one that is odd does not
MARGIN = 2.0  # standard errors of the usual level
ROWS = 12

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
    of the past; then twice, upwards and downwards, the sum, and blocks, weight and total since the
    sum began.
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

    @property
    def variance(self) -> Array:
        """The variance of a weight of 1, drawn towards what lanes have in common."""
        blocks, _, _, own = self.table[:4]
        known = blocks > 1
        common = own[known].mean() if known.any() else 0.0
        found: Array = (blocks * own + POOLED * common) / (blocks + POOLED)
        return found

    def see(self, values: Array, weights: Array, limit: float) -> tuple["Lanes", Alarms]:
        """Take in a block: of each lane a level and what it weighs, nothing where that is 0."""
        table = self.table.copy()
        blocks, weight, mean, _ = self.table[:4]
        seen = weights > 0
        values = np.where(seen, values, mean)
        judged = seen & (blocks >= LEAST)
        more = np.where(judged, self.increments(values, weights), 0.0)
        now = mean.copy()
        alarms = []
        for side, at in enumerate((4, 8)):
            sums = np.maximum(table[at] + np.minimum(more[side], limit / AT_LEAST), 0.0)
            since = table[at + 1 : at + 4] + np.stack((seen, weights, weights * values))
            table[at], table[at + 1 : at + 4] = sums, np.where(sums > 0, since, 0.0)
            over = sums >= limit
            now[over] = table[at + 3, over] / table[at + 2, over]
            alarms.append(over)
        rate = np.where(seen, 1.0 / np.clip(blocks + 1, 1.0, MEMORY), 0.0)
        off = values - mean
        table[0] += seen
        table[1] += np.where(blocks >= MEMORY, (weights - weight / MEMORY) * seen, weights)
        table[2] += rate * off
        table[3] += rate * (off * (values - table[2]) * weights - table[3])
        up, down = alarms
        changed = up | down
        for at, side in ((4, up), (8, down & ~up)):
            table[:3, side] = table[at + 1 : at + 4, side]
            table[2, side] = now[side]
        table[4:, changed] = 0.0
        if not self.signed:  # variance is proportional to the level
            table[3, changed] *= np.minimum(now[changed] / np.maximum(mean[changed], 1e-12), 1e6)
        return type(self)(table, *self._how), Alarms(up, down & ~up, mean, now)

    def renewed(self, lanes: NDArray[np.integer]) -> "Lanes":
        """Forget the past of some lanes."""
        table = self.table.copy()
        table[:, lanes] = 0.0
        return type(self)(table, *self._how)

    @property
    def _how(self) -> tuple[float, ...]:
        return ()


@dataclass(frozen=True)
class Shares(Lanes):
    """Shares of a block's tokens, which vary as counts do, a number of times as much.

    A rise is half as much again, a fall as much the other way; less than about a quarter is none.
    """

    signed: ClassVar[bool] = False
    factor: ClassVar[float] = 1.5

    @property
    def spread(self) -> Array:
        """How many times as much shares vary as those of independent tokens would, at least 1."""
        blocks, _, mean, own = self.table[:4]
        known = (blocks > 1) & (mean > 0)
        times = np.where(known, own / np.maximum(mean, 1e-12), 0.0)
        common = times[known].mean() if known.any() else 1.0
        found: Array = (blocks * times + POOLED * common) / (blocks + POOLED)
        return np.maximum(found, 1.0)

    def increments(self, values: Array, weights: Array) -> Array:
        """Return those of Poisson counts, divided by the spread."""
        spread, tokens = self.spread, np.maximum(self.table[1], 1.0)
        mean, log = self.table[2], np.log(self.factor)
        error = MARGIN * np.sqrt(spread * mean / tokens)
        high = mean + error + MARGIN**2 * spread / tokens
        low = np.maximum(mean - error, 0.0)
        rise = log * values - (self.factor - 1.0) * high
        fall = (1.0 - 1.0 / self.factor) * low - log * values
        found: Array = np.stack((rise, fall)) * weights / spread
        return found


@dataclass(frozen=True)
class Levels(Lanes):
    """Mean log probabilities of tokens, which are watched for a fall by `drop` nats."""

    drop: float = 0.0

    def increments(self, values: Array, weights: Array) -> Array:
        """Return those of normal variables."""
        unit = np.maximum(self.variance, 1e-12)
        deviation = np.sqrt(unit / np.maximum(weights, 1e-12))
        error = MARGIN * np.sqrt(unit / np.maximum(self.table[1], 1e-12))
        off = (self.table[2] - error - values - self.drop / 2) / deviation
        fall = np.minimum(self.drop / deviation, 2.0) * off
        found: Array = np.stack((np.full_like(fall, -np.inf), fall))
        return found

    @property
    def _how(self) -> tuple[float, ...]:
        return (self.drop,)
