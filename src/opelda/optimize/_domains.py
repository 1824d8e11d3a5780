"""Domains of OPE with their linear oracles: a formula, or a linear program (HiGHS)."""

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]

from opelda._validation import number, real_array, whole
from opelda.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


class Domain(ABC):
    """A bounded convex set of points of dimension `n`, defined by its linear oracle.

    Subclass it for a domain of your own; with `x0`, a function ``direction -> maximising point``
    is enough.

    Examples
    --------
    >>> from opelda.optimize import Box, Domain
    >>> isinstance(Box([0.0], 1.0), Domain)
    True
    """

    n: int

    @abstractmethod
    def oracle(self, direction: ArrayLike) -> Vector:
        """Return a point v of the domain (a vertex) that maximises <direction, v>."""

    @abstractmethod
    def center(self) -> Vector:
        """Return a point inside the domain, the default start."""

    @abstractmethod
    def violation(self, x: ArrayLike) -> float:
        """Return how far `x` breaks its worst constraint, 0.0 inside the domain."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n})"


class Simplex(Domain):
    """The probability simplex {x : x >= epsilon, sum(x) = 1} of n coordinates.

    With epsilon > 0, below 1/n, logarithms stay finite at vertices too.

    Examples
    --------
    >>> from opelda.optimize import Simplex
    >>> Simplex(3, epsilon=0.125).oracle([0.1, 0.7, 0.2])
    array([0.125, 0.75 , 0.125])
    """

    def __init__(self, n: int, epsilon: float = 0.0) -> None:
        self.n = whole("n", n)
        self.epsilon = number("epsilon", epsilon, 0.0, 1.0)
        if self.epsilon and self.epsilon * self.n >= 1.0:
            raise InputError(f"must be below 1/n = {1.0 / n:.6g}, got {epsilon!r}.", "epsilon")

    def oracle(self, direction: ArrayLike) -> Vector:
        best = np.argmax(real_array("direction", direction, (self.n,)))
        vertex = np.full(self.n, self.epsilon)
        vertex[best] = 1.0 - (self.n - 1) * self.epsilon
        return vertex

    def center(self) -> Vector:
        return np.full(self.n, 1.0 / self.n)

    def violation(self, x: ArrayLike) -> float:
        point = real_array("x", x, (self.n,))
        return float(max(0.0, self.epsilon - point.min(), abs(point.sum() - 1.0)))


class Box(Domain):
    """The box {x : lower <= x <= upper}; one bound may be a number.

    Examples
    --------
    >>> from opelda.optimize import Box
    >>> Box([0, 0, -1], 2).oracle([1.0, -1.0, 3.0])
    array([2., 0., 2.])
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        finite = "use a finite bound, a domain must be bounded"
        low = real_array("lower", lower, advice=finite)
        high = real_array("upper", upper, advice=finite)
        self.n = max(low.size, high.size)
        fits = all(bound.shape in ((), (self.n,)) for bound in (low, high))
        if not fits or self.n == 0 or low.ndim + high.ndim == 0:
            raise InputError(
                f"has shape {low.shape} and upper {high.shape}; pass two vectors of equal length, "
                "or one vector and a number.",
                "lower",
            )
        self.lower, self.upper = (np.broadcast_to(bound, (self.n,)) for bound in (low, high))
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            raise InputError(f"is above upper at [{crossed[0]}]; the box is empty.", "lower")

    def oracle(self, direction: ArrayLike) -> Vector:
        return np.where(real_array("direction", direction, (self.n,)) > 0.0, self.upper, self.lower)

    def center(self) -> Vector:
        return 0.5 * self.lower + 0.5 * self.upper  # the sum of two bounds may overflow

    def violation(self, x: ArrayLike) -> float:
        point = real_array("x", x, (self.n,))
        return float(max(0.0, (self.lower - point).max(), (point - self.upper).max()))


class L1Ball(Domain):
    """The l1 ball {x : sum |x_i| <= radius} about the origin, in n dimensions.

    Examples
    --------
    >>> from opelda.optimize import L1Ball
    >>> L1Ball(3, radius=2.0).oracle([1.0, -5.0, 4.0])
    array([ 0., -2.,  0.])
    """

    def __init__(self, n: int, radius: float = 1.0) -> None:
        self.n = whole("n", n)
        self.radius = number("radius", radius, 0.0, np.finfo(float).max, above=True)

    def oracle(self, direction: ArrayLike) -> Vector:
        slope = real_array("direction", direction, (self.n,))
        # a linear function on the ball is largest at a vertex, radius times a unit vector
        best = np.argmax(np.abs(slope))
        vertex = np.zeros(self.n)
        vertex[best] = np.copysign(self.radius, slope[best])
        return vertex

    def center(self) -> Vector:
        return np.zeros(self.n)

    def violation(self, x: ArrayLike) -> float:
        point = real_array("x", x, (self.n,))
        return float(max(0.0, np.abs(point).sum() - self.radius))


class Polytope(Domain):
    """The polytope {x : A x <= b, A_eq x = b_eq}, which must be bounded and not empty.

    Equality rows are optional. Every call of the oracle solves a linear program: prefer `Simplex`,
    `Box` or `L1Ball` for the same set. HiGHS, and a gap computed with it, has a relative tolerance
    of about 1e-7.

    Examples
    --------
    The triangle with corners (0, 0), (4, 0), (0, 3):

    >>> from opelda.optimize import Polytope
    >>> Polytope(A=[[-1, 0], [0, -1], [3, 4]], b=[0, 0, 12]).oracle([1.0, 2.0]).round(6)
    array([0., 3.])
    """

    def __init__(
        self,
        A: ArrayLike,
        b: ArrayLike,
        A_eq: ArrayLike | None = None,
        b_eq: ArrayLike | None = None,
    ) -> None:
        if (A_eq is None) != (b_eq is None):
            alone = "b_eq" if A_eq is None else "A_eq"
            raise InputError("is given alone; pass both A_eq and b_eq, or neither.", alone)
        self._A, self._b = _rows(A, b, "A", "b")
        self.n = self._A.shape[1]
        if A_eq is None or b_eq is None:
            A_eq, b_eq = np.empty((0, self.n)), np.empty(0)
        self._A_eq, self._b_eq = _rows(A_eq, b_eq, "A_eq", "b_eq")
        self._solve(np.zeros(self.n), self._A, self._b, self._b_eq)  # raises if it is empty

    def oracle(self, direction: ArrayLike) -> Vector:
        slope = real_array("direction", direction, (self.n,))
        # The solver's tolerances are absolute, gradients come in any size.
        return self._solve(-slope / (np.abs(slope).max() or 1.0), self._A, self._b, self._b_eq)

    def center(self) -> Vector:
        # Row i holds on the whole ball if a_i x + r |a_i| <= b_i, where only the part of a_i
        # along the flat counts; the r of a single point is 0.
        along = self._A - self._A @ np.linalg.pinv(self._A_eq) @ self._A_eq
        reach = np.linalg.norm(along, axis=1)
        reach[reach < 1e-12] = 0.0
        radius_alone = np.append(np.zeros(self.n), -1.0)
        rows = np.vstack([np.column_stack([self._A, reach]), radius_alone])
        sides = np.append(self._b, 0.0)
        objective = radius_alone if reach.any() else np.zeros(self.n + 1)
        return self._solve(objective, rows, sides, self._b_eq)[: self.n]

    def violation(self, x: ArrayLike) -> float:
        point = real_array("x", x, (self.n,))
        over = self._A @ point - self._b
        off = np.abs(self._A_eq @ point - self._b_eq)
        return float(max(0.0, over.max(initial=0.0), off.max(initial=0.0)))

    def _solve(self, cost: Vector, A: Matrix, b: Vector, b_eq: Vector) -> Vector:
        """Minimise <cost, x> subject to A x <= b and A_eq x = b_eq."""
        extra = A.shape[1] - self.n
        A_eq = np.pad(self._A_eq, [(0, 0), (0, extra)])
        # Dual simplex, since an interior-point solution need not be a vertex.
        solution = linprog(cost, A, b, A_eq, b_eq, bounds=(None, None), method="highs-ds")
        if "unbounded" in solution.message:
            raise InputError("The polytope is unbounded; add a row that bounds it.")
        if solution.status == 2:  # infeasible
            raise InputError(
                "The polytope is empty, no x satisfies every row; check the signs (A x <= b) and "
                "relax a constraint."
            )
        if solution.status != 0:
            raise RuntimeError(f"HiGHS could not solve a linear program: {solution.message}")
        return np.asarray(solution.x, dtype=np.float64) + 0.0  # no negative zeros


def _rows(A: ArrayLike, b: ArrayLike, A_name: str, b_name: str) -> tuple[Matrix, Vector]:
    """Check one block of rows and scale each to unit length: slacks are distances."""
    advice = "use finite numbers, and remove a row that does not bind"
    matrix, sides = real_array(A_name, A, advice=advice), real_array(b_name, b, advice=advice)
    if matrix.ndim != 2 or matrix.shape[1] == 0 or sides.shape != matrix.shape[:1]:
        raise InputError(
            f"has shape {matrix.shape} and {b_name} {sides.shape}; pass a matrix of m rows and a "
            "vector of m right-hand sides.",
            A_name,
        )
    lengths = np.linalg.norm(matrix, axis=1)
    lengths[lengths == 0.0] = 1.0
    return matrix / lengths[:, None], sides / lengths
