"""An iterate of OPE on its problem: the next vertex from it, and its certificate."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opelda.errors import InputError
from opelda.optimize._result import Iterate
from opelda.optimize._terms import Term, evaluate_gradient, evaluate_value
from opelda.optimize._vectors import Vector, as_vector

# A gap below zero by more than this part of its own scale is not rounding.
_NEGATIVE_GAP = 1e-5


@dataclass(frozen=True, eq=False)
class Problem:
    """f = g1 + g2 and the linear oracle of the domain."""

    g1: Term
    g2: Term
    oracle: Callable[[Vector], Vector]


class Point:
    """An iterate, whose gradients are evaluated when first asked for and once."""

    def __init__(self, problem: Problem, x: Vector, iteration: int) -> None:
        self._problem = problem
        self._iteration = iteration
        self.x = x

    @cached_property
    def _g1_gradient(self) -> Vector:
        return evaluate_gradient(self._problem.g1, "g1", self.x, self._iteration)

    @cached_property
    def _g2_gradient(self) -> Vector:
        return evaluate_gradient(self._problem.g2, "g2", self.x, self._iteration)

    def vertex(self, a: int, b: int) -> Vector:
        """Return e_t = argmax over the domain of <a g1'(x) + b g2'(x), e>.

        This is the gradient of F_t = (2/t) (a g1 + b g2) in Algorithm 1 (Than & Doan): the factor
        does not change the argmax. A term not picked yet is not evaluated.
        """
        if b == 0:
            return self._ask(a * self._g1_gradient)
        if a == 0:
            return self._ask(b * self._g2_gradient)
        return self._ask(a * self._g1_gradient + b * self._g2_gradient)

    def evaluate(self) -> Iterate:
        """Return the values of f and its terms and the Frank-Wolfe gap at this point."""
        g1 = evaluate_value(self._problem.g1, "g1", self.x, self._iteration)
        g2 = evaluate_value(self._problem.g2, "g2", self.x, self._iteration)
        return Iterate(self._iteration, self.x.copy(), g1 + g2, g1, g2, self._gap())

    def _gap(self) -> float:
        slope = self._g1_gradient + self._g2_gradient
        vertex = self._ask(slope)
        gap = float(slope @ (vertex - self.x))
        scale = float(np.abs(slope).sum() * (1.0 + np.abs(self.x).max()))
        if gap < -_NEGATIVE_GAP * scale:
            raise InputError(
                f"the oracle's point at iteration {self._iteration} is worse than the iterate by "
                f"{-gap:.3g} along f': make the oracle return a maximiser of <direction, v>, and "
                "start from an x0 inside its domain."
            )
        return max(0.0, gap)

    def _ask(self, direction: Vector) -> Vector:
        vertex = self._problem.oracle(direction)
        name = f"the oracle's point at iteration {self._iteration}"
        return as_vector(vertex, self.x.size, name)
