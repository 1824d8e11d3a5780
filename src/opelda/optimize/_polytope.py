"""The general polytope {x : A x <= b, A_eq x = b_eq}: its oracle is a linear program (HiGHS)."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog  # type: ignore[import-untyped, unused-ignore]

from opelda._validation import real_array
from opelda.errors import InputError
from opelda.optimize._domains import Domain, Matrix, Vector

_INFEASIBLE = 2  # scipy.optimize.linprog's status


class Polytope(Domain):
    """The polytope {x : A x <= b, A_eq x = b_eq}, which must be bounded and not empty.

    Both are checked when it is made, by one linear program each. Coordinates may be negative:
    there are no bounds but the rows given.

    Parameters
    ----------
    A : array_like of shape (m, n)
        Inequality rows.
    b : array_like of shape (m,)
        Their right-hand sides.
    A_eq : array_like of shape (p, n), optional
        Equality rows.
    b_eq : array_like of shape (p,), optional
        Their right-hand sides.

    Notes
    -----
    Every call of the oracle solves one linear program; prefer `Simplex`, `Box` or `L1Ball` where
    one of them is the same set. HiGHS works to a tolerance of about 1e-7 and so, relative to the
    size of the gradient and of the polytope, does a gap computed with this oracle.

    Examples
    --------
    The triangle with corners (0, 0), (4, 0), (0, 3) and its inscribed circle's centre:

    >>> from opelda.optimize import Polytope
    >>> triangle = Polytope(A=[[-1, 0], [0, -1], [3, 4]], b=[0, 0, 12])
    >>> triangle.oracle([1.0, 2.0]).round(6)
    array([0., 3.])
    >>> triangle.center().round(6)
    array([1., 1.])
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
            raise InputError("is given alone: give both A_eq and b_eq, or neither.", alone)
        self._A, self._b = _rows(A, b, "A", "b")
        self.n = self._A.shape[1]
        if A_eq is None or b_eq is None:
            A_eq, b_eq = np.empty((0, self.n)), np.empty(0)
        self._A_eq, self._b_eq = _rows(A_eq, b_eq, "A_eq", "b_eq")
        if self._A_eq.shape[1] != self.n:
            raise InputError(
                f"has {self.n} columns and A_eq {self._A_eq.shape[1]}: give both one column per "
                "coordinate.",
                "A",
            )
        self._solve(np.zeros(self.n), self._A, self._b, self._b_eq)  # raises if it is empty
        self._check_bounded()

    def oracle(self, direction: ArrayLike) -> Vector:
        """Return a maximiser of <direction, v> over the polytope, found by linear programming."""
        slope = real_array("direction", direction, (self.n,))
        # The solver's tolerances are absolute, gradients come in any size.
        return self._solve(-slope / (np.abs(slope).max() or 1.0), self._A, self._b, self._b_eq)

    def center(self) -> Vector:
        """Return the Chebyshev centre: the centre of a largest ball that fits inside.

        With equalities the ball lives in the flat they define.
        """
        # Row i holds on the whole ball if a_i x + r |a_i| <= b_i, where only the part of a_i
        # along the flat counts; the r of a single point is 0.
        along = self._A - self._A @ np.linalg.pinv(self._A_eq) @ self._A_eq
        reach = np.linalg.norm(along, axis=1)
        reach[reach < 1e-12] = 0.0
        rows = np.column_stack([self._A, reach])
        radius_alone = np.append(np.zeros(self.n), -1.0)
        rows = np.vstack([rows, radius_alone])
        sides = np.append(self._b, 0.0)
        objective = radius_alone if reach.any() else np.zeros(self.n + 1)
        return self._solve(objective, rows, sides, self._b_eq)[: self.n]

    def violation(self, x: ArrayLike) -> float:
        """Return the distance from `x` to the half-space it misses most; 0.0 inside."""
        point = real_array("x", x, (self.n,))
        over = self._A @ point - self._b
        off = np.abs(self._A_eq @ point - self._b_eq)
        return float(max(0.0, over.max(initial=0.0), off.max(initial=0.0)))

    def __repr__(self) -> str:
        return f"Polytope(n={self.n}, rows={len(self._b)}, equalities={len(self._b_eq)})"

    def _solve(self, cost: Vector, A: Matrix, b: Vector, b_eq: Vector) -> Vector:
        """Minimise <cost, x> subject to A x <= b and A_eq x = b_eq."""
        extra = A.shape[1] - self.n
        A_eq = np.pad(self._A_eq, [(0, 0), (0, extra)])
        # Dual simplex, since an interior-point solution need not be a vertex.
        solution = linprog(cost, A, b, A_eq, b_eq, bounds=(None, None), method="highs-ds")
        if solution.status == _INFEASIBLE:
            raise InputError(
                "The polytope is empty, no x satisfies every row: check the signs (A x <= b) and "
                "relax a constraint."
            )
        if solution.status != 0:
            raise RuntimeError(f"HiGHS could not solve a linear program: {solution.message}")
        return np.asarray(solution.x, dtype=np.float64) + 0.0  # no negative zeros

    def _check_bounded(self) -> None:
        """Raise if some ray d != 0 has A d <= 0 and A_eq d = 0."""
        everything = np.vstack([self._A, self._A_eq])
        if np.linalg.matrix_rank(everything) < self.n:
            ray = np.linalg.svd(everything)[2][-1]
        else:
            # Rays form a cone, cut here at A d >= -1: the cut cone is bounded (full rank), and a
            # ray in it can be stretched until one row is -1. The least sum(A d) is thus 0 or <= -1.
            rows = np.vstack([self._A, -self._A])
            sides = np.repeat([0.0, 1.0], len(self._A))
            ray = self._solve(self._A.sum(axis=0), rows, sides, np.zeros_like(self._b_eq))
            if (self._A @ ray).sum() > -0.5:
                return
        i = int(np.argmax(np.abs(ray)))
        grows = "increase" if ray[i] > 0 else "decrease"
        raise InputError(
            f"The polytope is unbounded, x[{i}] can {grows} for ever: add a row that stops it."
        )


def _rows(A: ArrayLike, b: ArrayLike, A_name: str, b_name: str) -> tuple[Matrix, Vector]:
    """Check one block of rows and scale each to unit length, so that slacks are distances."""
    advice = "give finite numbers, and leave out a row that does not bind"
    matrix, sides = real_array(A_name, A, advice=advice), real_array(b_name, b, advice=advice)
    if matrix.ndim != 2 or matrix.shape[1] == 0 or sides.shape != matrix.shape[:1]:
        raise InputError(
            f"has shape {matrix.shape} and {b_name} {sides.shape}: give a matrix of m rows and a "
            "vector of m right-hand sides.",
            A_name,
        )
    lengths = np.linalg.norm(matrix, axis=1)
    lengths[lengths == 0.0] = 1.0
    return matrix / lengths[:, None], sides / lengths
