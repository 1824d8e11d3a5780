"""The two terms of f = g1 + g2 at an iterate, and the check of their gradients."""

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
_ADVICE = (
    "keep the domain where the term is finite (for logarithms: Simplex(n, epsilon), or a Box with "
    "a positive lower bound) or start from another x0"
)


@dataclass(frozen=True)
class Term:
    """One of the two terms of the objective f = g1 + g2.

    Parameters
    ----------
    value, gradient : callable
        ``value(x)`` returns the term at `x`, a number; ``gradient(x)`` its gradient, an array of
        the shape of `x`. Both get a fresh copy of the iterate. Steps take gradients alone.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda.optimize import Term
    >>> Term(lambda x: -0.5 * x @ x, lambda x: -x).gradient(np.array([1.0, 2.0]))
    array([-1., -2.])
    """

    value: Callable[[Vector], Any]
    gradient: Callable[[Vector], Any]


@dataclass(frozen=True, eq=False)
class Iterate:
    """One recorded point of a run, as a callback gets it; `gap` is as in `MaximizeResult`.

    `iteration` is that of the last move; the start has 1 in the practical schedule, else 0.
    """

    iteration: int
    x: Vector
    f: float
    g1: float
    g2: float
    gap: float


@dataclass(frozen=True, eq=False)
class Point:
    """An iterate, with gradients evaluated on first use."""

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
        return self.g1_gradient + self.g2_gradient

    @cached_property
    def best(self) -> Vector:
        return self._best(self.slope)

    @cached_property
    def values(self) -> tuple[float, float]:
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
        if gap < -1e-5 * scale:  # more than rounding
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
    """Return the term's value at `x`; `name` and `iteration` are for messages."""
    described = f"the value of {name} at iteration {iteration}"
    return float(real_array(described, term.value(x.copy()), (), advice=_ADVICE))


def _gradient(term: Term, name: str, x: Vector, iteration: int) -> Vector:
    """Return the term's gradient at `x`; `name` and `iteration` are for messages."""
    described = f"the gradient of {name} at iteration {iteration}"
    return real_array(described, term.gradient(x.copy()), x.shape, advice=_ADVICE)


def _check_gradient(term: Term, name: str, x: Vector, along: Vector) -> None:
    """Raise if central differences on the way to x + along agree, and contradict the gradient.

    Rounded values, noise and kinks let the differences disagree. A term that is not finite ends
    the check.
    """
    # an irrational part of the way, past a kink or an edge at the start
    point = x + (3.0 - 2.0 * np.sqrt(2.0)) * along
    steps = np.array([1e-2, 1e-3, 1e-4])
    try:
        stated = float(_gradient(term, name, point, 0) @ along)
        ahead, behind = (
            np.array([_value(term, name, point + step * along, 0) for step in ways])
            for ways in (steps, -steps)
        )
    except InputError:
        return
    slopes = (ahead - behind) / (2 * steps)
    off = np.abs(slopes - stated).min()
    gross = off > 0.25 * max(np.abs(slopes).max(), abs(stated))
    if gross and (ahead != behind).all() and np.ptp(slopes) <= 0.01 * off:
        raise InputError(
            f"has a wrong gradient: near the start, the gradient gives a slope of {stated:.6g} "
            f"and the values give {slopes[1]:.6g}; correct its sign or scale, or skip this check "
            "with {check_gradient}.",
            name,
            check_gradient=False,
        )
