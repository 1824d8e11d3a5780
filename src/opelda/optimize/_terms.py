"""The two terms of f = g1 + g2, evaluated at iterates, and a check of their gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from opelda._validation import real_array
from opelda.errors import InputError
from opelda.optimize._domains import Vector

Oracle: TypeAlias = Callable[[Vector], Vector]

OUTSIDE = 1e-6  # loose enough for a start in single precision, or found by a linear program
_NEGATIVE_GAP = 1e-5  # a gap below zero by more than this part of its own scale is not rounding
_ADVICE = (
    "keep the domain where the term is finite (for logarithms: Simplex(n, epsilon), or a Box with "
    "a positive lower bound) or start from another x0"
)

# Of a gradient's check: widths of the differences, as parts of the way to a vertex; how near two
# slopes are that agree, how far one that is grossly wrong, and how alike three differences, or the
# slopes between two points, must be to count, in parts of their distance from each other.
_STEPS = 0.1 * 8.0 ** -np.arange(12)
_AGREES, _GROSS, _ALIKE = 0.05, 0.25, 0.01
_LOST = 1e-10
_ASIDE = 3.0 - 2.0 * np.sqrt(2.0)  # an irrational part of the way: functions break at round ones
_BETWEEN = 2.0 * (np.arange(1, 25) * _ASIDE % 1.0) - 1.0  # from -1 to 1, in phase with no ripple


@dataclass(frozen=True)
class Term:
    """One of the two terms of the objective f = g1 + g2.

    OPE takes every step from gradients alone; values are asked for only where progress is recorded.

    Parameters
    ----------
    value, gradient : callable
        ``value(x)`` returns the term at `x`, a number; ``gradient(x)`` its gradient, an array of
        the shape of `x`. Both get a fresh copy of the iterate.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda.optimize import Term
    >>> Term(lambda x: -0.5 * x @ x, lambda x: -x).gradient(np.array([1.0, 2.0]))
    array([-1., -2.])
    """

    value: Callable[[Vector], Any]
    gradient: Callable[[Vector], Any]

    def __post_init__(self) -> None:
        for name, part in (("value", self.value), ("gradient", self.gradient)):
            if not callable(part):
                raise InputError(
                    f"must be a callable of x, got {type(part).__name__}: give Term(value, "
                    "gradient) two functions.",
                    name,
                )


@dataclass(frozen=True, eq=False)
class Iterate:
    """One recorded point of a run, as a callback sees it; `gap` is as in `MaximizeResult`.

    `iteration` is the one that led to it; the start has 1 in the practical schedule, whose first
    iteration moves nothing, and 0 in the literal one.
    """

    iteration: int
    x: Vector
    f: float
    g1: float
    g2: float
    gap: float


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate, whose gradients are evaluated when first asked for and once."""

    g1: Term
    g2: Term
    oracle: Oracle
    x: Vector
    iteration: int

    @cached_property
    def g1_gradient(self) -> Vector:
        return _gradient(self.g1, "g1", self.x, self.iteration)

    @cached_property
    def g2_gradient(self) -> Vector:
        return _gradient(self.g2, "g2", self.x, self.iteration)

    @cached_property
    def slope(self) -> Vector:
        """The gradient of f."""
        return self.g1_gradient + self.g2_gradient

    @cached_property
    def best(self) -> Vector:
        """The vertex that is best along f'."""
        return self._best(self.slope)

    @cached_property
    def values(self) -> tuple[float, float]:
        """The two terms."""
        g1 = _value(self.g1, "g1", self.x, self.iteration)
        return g1, _value(self.g2, "g2", self.x, self.iteration)

    def vertex(self, a: int, b: int) -> Vector:
        """Return e_t = argmax over the domain of <a g1'(x) + b g2'(x), e>."""
        # F_t' of Algorithm 1 but for a factor 2/t. A term not picked yet is not evaluated.
        slope = a * self.g1_gradient if a else b * self.g2_gradient
        return self._best(slope + b * self.g2_gradient if a and b else slope)

    def evaluate(self) -> Iterate:
        """Return f, its terms and the Frank-Wolfe gap, max over v of <f'(x), v - x>."""
        (g1, g2), slope = self.values, self.slope
        gap = float(slope @ (self.best - self.x))
        scale = float(np.abs(slope).sum() * (1.0 + np.abs(self.x).max()))
        if gap < -_NEGATIVE_GAP * scale:
            raise InputError(
                f"the oracle's point at iteration {self.iteration} is worse than the iterate by "
                f"{-gap:.3g} along f': make the oracle return a maximiser of <direction, v>, and "
                "start from an x0 inside its domain."
            )
        return Iterate(self.iteration, self.x.copy(), g1 + g2, g1, g2, max(0.0, gap))

    def check_gradients(self) -> None:
        """Raise for a gradient that the term's values on the way to a vertex contradict."""
        terms = ((self.g1, "g1", self.g1_gradient), (self.g2, "g2", self.g2_gradient))
        for term, name, gradient in terms:
            # The way up; where the start is that vertex already, the way down.
            for direction in (gradient, -gradient):
                along = self._best(direction) - self.x
                if np.abs(along).max() > OUTSIDE * (1.0 + np.abs(self.x).max()):
                    _check_gradient(term, name, self.x, along)
                    break

    def _best(self, direction: Vector) -> Vector:
        name = f"the oracle's point at iteration {self.iteration}"
        return real_array(name, self.oracle(direction), self.x.shape)


def _value(term: Term, name: str, x: Vector, iteration: int) -> float:
    """Return the term's value at `x`; `name` and `iteration` are for the error messages."""
    described = f"the value of {name} at iteration {iteration}"
    return float(real_array(described, term.value(x.copy()), (), advice=_ADVICE))


def _gradient(term: Term, name: str, x: Vector, iteration: int) -> Vector:
    """Return the term's gradient at `x`; `name` and `iteration` are for the error messages."""
    described = f"the gradient of {name} at iteration {iteration}"
    return real_array(described, term.gradient(x.copy()), x.shape, advice=_ADVICE)


def _check_gradient(term: Term, name: str, x: Vector, along: Vector) -> None:
    """Raise if a term's gradient is grossly at odds with its values on the way from x to x + along.

    The slope a sixth of the way on, past a kink or an edge at the start, is compared with central
    differences of falling width: one that agrees is enough. It is refused where three widths in a
    row agree with each other, and the slopes all over the narrowest of them, but not the two: a
    ripple finer than the values resolve shows in the slopes alone. Values or slopes that change
    from call to call, or are not finite, decide nothing.
    """
    point = x + _ASIDE * along

    def value(step: float) -> float:
        return _value(term, name, point + step * along, 0)

    def slope(step: float) -> float:
        return float(_gradient(term, name, point + step * along, 0) @ along)

    try:
        stated, found = slope(0.0), []
        for step in _STEPS:
            ahead, behind = value(step), value(-step)
            quotient = (ahead - behind) / (2 * step)
            if abs(quotient - stated) <= _AGREES * max(abs(quotient), abs(stated)):
                return
            # A value that does not move may be rounded, and says nothing.
            moved = abs(ahead - behind) > _LOST * max(abs(ahead), abs(behind))
            found.append(quotient if moved else np.nan)
        triples = np.lib.stride_tricks.sliding_window_view(found, 3)
        off = np.abs(triples[:, 1] - stated)
        gross = off > _GROSS * np.maximum(np.abs(triples[:, 1]), abs(stated))
        against = np.flatnonzero(gross & (np.ptp(triples, axis=1) <= _ALIKE * off))
        if not against.size or value(step) != ahead:
            return
        last = against[-1]
        slopes = [stated, *(slope(_STEPS[last + 2] * part) for part in _BETWEEN)]
    except InputError:
        return
    if np.ptp(slopes) > _ALIKE * off[last]:
        return
    raise InputError(
        f"has a gradient that says {stated:.6g} along a way from the start where its values say "
        f"{triples[last, 1]:.6g}: correct its sign or scale, or skip this check with "
        "{check_gradient}.",
        name,
        check_gradient=False,
    )
