"""Finish a run: from OPE's last iterate to a point of the requested gap.

Each iteration takes two steps on f itself, both a change of the weights with which the iterate is
a convex combination of atoms, known points of the domain: a pairwise step (Lacoste-Julien & Jaggi
2015) from the worst atom to the best vertex, and a Newton step over all weights, whose second
derivatives are differences of gradients.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from opelda.optimize._domains import Matrix, Vector
from opelda.optimize._terms import Iterate, Point

_FLAT = 0.1  # a line search ends where the slope has fallen to this part of its first value


class PickedVertices:
    """The iterate of OPE as a convex combination: the start, and how often each vertex was picked.

    At most n + 1 vertices are kept apart; the one picked longest ago is merged into the start.
    """

    def __init__(self, start: Vector, count: int) -> None:
        self._base, self._base_count = count * start, count
        self._most = max(1, min(len(start) + 1, 2**24 // len(start)))  # 128 MiB
        self._picked: dict[bytes, tuple[Vector, int]] = {}

    def add(self, vertex: Vector) -> None:
        """Count one more pick of `vertex`."""
        key = vertex.tobytes()
        _, count = self._picked.pop(key, (vertex, 0))
        self._picked[key] = vertex, count + 1
        if len(self._picked) > self._most:
            vertex, count = self._picked.pop(next(iter(self._picked)))
            self._base += count * vertex
            self._base_count += count

    def atoms(self) -> tuple[Matrix, Vector]:
        """Return the atoms, one per row, and their weights."""
        pairs = list(self._picked.values())
        if self._base_count:
            pairs.append((self._base / self._base_count, self._base_count))
        counts = np.array([count for _, count in pairs], dtype=np.float64)
        return np.array([atom for atom, _ in pairs]), counts / counts.sum()


@dataclass
class Ascent:
    """An ascent of f over convex combinations of atoms."""

    point: Point  # weights @ atoms
    atoms: Matrix  # points of the domain, a row each
    weights: Vector  # positive, of sum 1
    scale: float  # the largest size of f's values so far
    concave: bool = True  # False once f was above a tangent
    _ended: str = "rounding leaves no further progress"

    def iterates(self) -> Iterator[Iterate]:
        """Yield iterates, at most 1000 + 10 n; fewer where rounding leaves no further progress."""
        most = 1000 + 10 * len(self.point.x)
        largest, least, waited = -np.inf, np.inf, 0
        for iteration in range(self.point.iteration + 1, self.point.iteration + most + 1):
            with np.errstate(all="ignore"):  # logarithms at an edge are tried, and left
                moved = self._pairwise(iteration)
                if not (self._newton(iteration) or moved):
                    return
                current = self.point.evaluate()
            yield current
            waited = 0 if current.f > largest or current.gap < least else waited + 1
            if waited == 20:
                return
            largest, least = max(largest, current.f), min(least, current.gap)
        self._ended = f"{most} iterations did not converge"

    def warn(self, gap: float, max_gap: float) -> None:
        """Warn of an f that is not concave, and of a gap above `max_gap`."""
        if not self.concave:
            warnings.warn(
                "f is not concave, it lies above a tangent: the gap says how far x is from "
                "stationary, not how far f is below its maximum. Compare f from several starts.",
                stacklevel=3,
            )
        if gap > max_gap:
            said = f"The gap is {gap:.3g}, above max_gap={max_gap:g}: {self._ended}."
            warnings.warn(said, stacklevel=3)

    def _pairwise(self, iteration: int) -> bool:
        """Move weight from the worst atom to the best vertex of the domain."""
        vertex, worst = self.point.best, np.argmin(self.atoms @ self.point.slope)
        same = np.flatnonzero((self.atoms == vertex).all(axis=1))
        atoms = self.atoms if same.size else np.vstack([self.atoms, vertex])
        weights = self.weights if same.size else np.append(self.weights, 0.0)
        change = np.zeros(len(weights))
        change[same[0] if same.size else -1] = 1.0
        change[worst] -= 1.0
        return self._move(atoms, weights, change, iteration)

    def _newton(self, iteration: int) -> bool:
        """Move towards the maximum of a quadratic model of f, as far as the weights allow."""
        x, slope = self.point.x, self.point.slope
        ways = self.atoms - x
        # parts of the way to an atom, lest a logarithm of a small coordinate bend within them
        widths = np.clip(1e-3 * self.weights, 1e-9, 1e-6)
        bends = np.empty_like(ways)
        for i, width in enumerate(widths):
            near = self._trial(x + width * ways[i], iteration)
            if near is None:
                return False
            bends[i] = (near.slope - slope) / width
        model, rise = bends @ ways.T, ways @ slope
        if not np.isfinite(model).all():
            return False
        curvature, axes = np.linalg.eigh(-(model + model.T) / 2)
        # where f bends upwards the size of the bend is taken, and the step climbs all the same
        size = np.abs(curvature)
        size = np.maximum(size, 1e-10 * max(size.max(), np.abs(rise).max()))  # less is rounding
        if not size.all():
            return False
        aims = axes @ ((axes.T @ rise) / size)
        return self._move(self.atoms, self.weights, aims - aims.sum() * self.weights, iteration)

    def _move(self, atoms: Matrix, weights: Vector, change: Vector, iteration: int) -> bool:
        """Search along a change of the weights for where f is flat; return whether it moved."""
        # from x, since the weights are scaled to a sum of 1 and the change may miss 0 by rounding
        ways = atoms - self.point.x
        way = change @ ways
        first = float(self.point.slope @ way)
        summands = float(np.abs(change) @ np.abs(ways) @ np.abs(self.point.slope))
        if not first > np.finfo(float).eps * summands:
            return False
        limits = np.full(len(weights), np.inf)
        np.divide(-weights, change, out=limits, where=change < 0.0)
        end = float(limits.min())

        # the slope is positive at `low`; at `high` it is negative, or a term is not finite (nan)
        low, at_low, high, at_high = 0.0, first, np.inf, np.nan
        step, reached = min(1.0, end), None
        for _ in range(40):
            mixed = np.maximum(weights + step * change, 0.0)
            mixed[limits <= step] = 0.0
            mixed /= mixed.sum()
            point = self._trial(mixed @ atoms, iteration, valued=True)
            at_step = np.nan if point is None else float(point.slope @ way)
            if point is not None:
                self._compare(point, step * first, step * at_step)
            if point is not None and at_step >= -_FLAT * first:
                low, at_low, reached = step, at_step, (point, mixed)
                if at_step <= _FLAT * first or step == end:
                    break
            else:
                high, at_high = step, at_step
            if high == np.inf:
                step = end
            else:
                part = 0.5 if np.isnan(at_high) else at_low / (at_low - at_high)
                step = low + (high - low) * min(max(part, 0.1), 0.9)
        if reached is None:
            return False
        self.point, mixed = reached
        self.atoms, self.weights = atoms[mixed > 0.0], mixed[mixed > 0.0]
        return True

    def _compare(self, other: Point, rise: float, other_rise: float) -> None:
        """Note whether f lies above a tangent at either point, with these rises."""
        values = np.array([self.point.values, other.values])
        self.scale = max(self.scale, float(np.abs(values).sum(axis=1).max()))
        gain = values[1].sum() - values[0].sum()
        if max(gain - rise, other_rise - gain) > 1e-6 * self.scale:  # more than rounding
            self.concave = False

    def _trial(self, x: Vector, iteration: int, valued: bool = False) -> Point | None:
        """Return the point at `x`; None where a term is not finite, or raises as math.log(0)."""
        point = replace(self.point, x=x, iteration=iteration)
        try:
            _ = point.slope, valued and point.values
        except (ValueError, ArithmeticError):
            return None
        return point
