"""Domains whose linear oracle is a formula: simplex, shrunken simplex, box, l1 ball."""

import numpy as np
from numpy.typing import ArrayLike

from opelda._validation import number, whole
from opelda.errors import InputError
from opelda.optimize._domain import Domain
from opelda.optimize._vectors import Vector, as_real_array, as_vector, check_finite


class Simplex(Domain):
    """The probability simplex {x : x >= 0, sum(x) = 1}.

    Parameters
    ----------
    n : int
        Number of coordinates.

    Examples
    --------
    >>> from opelda.optimize import Simplex
    >>> Simplex(3).oracle([0.1, 0.7, 0.2])
    array([0., 1., 0.])
    >>> Simplex(4).center()
    array([0.25, 0.25, 0.25, 0.25])
    """

    _floor = 0.0

    def __init__(self, n: int) -> None:
        self.n = whole("n", n)

    def oracle(self, direction: ArrayLike) -> Vector:
        """Return the vertex of the largest entry of `direction` (the first of several)."""
        best = np.argmax(as_vector(direction, self.n, "direction"))
        vertex = np.full(self.n, self._floor)
        vertex[best] = 1.0 - (self.n - 1) * self._floor
        return vertex

    def center(self) -> Vector:
        """Return the uniform distribution."""
        return np.full(self.n, 1.0 / self.n)

    def violation(self, x: ArrayLike) -> float:
        """Return the larger of |sum(x) - 1| and what the smallest entry lacks; 0.0 inside."""
        point = as_vector(x, self.n, "x")
        return float(max(0.0, self._floor - point.min(), abs(point.sum() - 1.0)))

    def __repr__(self) -> str:
        return f"Simplex({self.n})"


class ShrunkenSimplex(Simplex):
    """The simplex kept away from its edge: {x : x >= epsilon, sum(x) = 1}.

    The domain of Algorithm 1 (Than & Doan): logarithms of the coordinates stay finite on it,
    vertices included.

    Parameters
    ----------
    n : int
        Number of coordinates.
    epsilon : float
        Smallest value of a coordinate, between 0 and 1/n (both excluded).

    Examples
    --------
    >>> from opelda.optimize import ShrunkenSimplex
    >>> ShrunkenSimplex(3, epsilon=0.125).oracle([0.1, 0.7, 0.2])
    array([0.125, 0.75 , 0.125])
    """

    def __init__(self, n: int, epsilon: float) -> None:
        super().__init__(n)
        real = isinstance(epsilon, int | float | np.number) and not isinstance(epsilon, bool)
        if not real or not 0.0 < epsilon * self.n < 1.0:
            raise InputError(
                f"must be a number above 0 and below {1.0 / self.n:.6g} for {self.n} coordinates, "
                f"got {epsilon!r}; for 0 use Simplex.",
                "epsilon",
            )
        self.epsilon = self._floor = float(epsilon)

    def __repr__(self) -> str:
        return f"ShrunkenSimplex({self.n}, epsilon={self.epsilon})"


class Box(Domain):
    """The box {x : lower <= x <= upper}.

    Parameters
    ----------
    lower, upper : array_like
        Finite bounds; a number stands for the same bound on every coordinate, but at least one of
        the two is a vector, which gives the dimension.

    Examples
    --------
    >>> from opelda.optimize import Box
    >>> Box([0, 0, -1], 2).oracle([1.0, -1.0, 3.0])
    array([2., 0., 2.])
    >>> Box([0, 0, -1], 2).center()
    array([1. , 1. , 0.5])
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        low, high = as_real_array(lower, "lower"), as_real_array(upper, "upper")
        size = max(low.size, high.size)
        fits = all(bound.shape in ((), (size,)) for bound in (low, high))
        if not fits or size == 0 or low.ndim + high.ndim == 0:
            raise InputError(
                f"has shape {low.shape} and upper {high.shape}: give two vectors of one length, or "
                "one vector and a number.",
                "lower",
            )
        self.lower, self.upper = (np.broadcast_to(bound, (size,)) for bound in (low, high))
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            check_finite(bound, name, "give a finite bound, a domain must be bounded")
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            i = int(crossed[0])
            raise InputError(
                f"is {self.lower[i]} at [{i}], above upper's {self.upper[i]}: the box is empty, "
                "exchange the two.",
                "lower",
            )
        self.n = size

    def oracle(self, direction: ArrayLike) -> Vector:
        """Return the corner with `upper` where `direction` is positive, else `lower`."""
        return np.where(as_vector(direction, self.n, "direction") > 0.0, self.upper, self.lower)

    def center(self) -> Vector:
        """Return the midpoint."""
        return 0.5 * self.lower + 0.5 * self.upper

    def violation(self, x: ArrayLike) -> float:
        """Return the largest amount by which a coordinate leaves its bounds; 0.0 inside."""
        point = as_vector(x, self.n, "x")
        return float(max(0.0, (self.lower - point).max(), (point - self.upper).max()))

    def __repr__(self) -> str:
        return f"Box(lower={self.lower}, upper={self.upper})"


class L1Ball(Domain):
    """The l1 ball {x : sum |x_i| <= radius} about the origin.

    Parameters
    ----------
    n : int
        Number of coordinates.
    radius : float, default=1.0
        A positive number.

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
        """Return the vertex along the entry of `direction` that is largest in magnitude."""
        slope = as_vector(direction, self.n, "direction")
        best = np.argmax(np.abs(slope))
        vertex = np.zeros(self.n)
        vertex[best] = np.copysign(self.radius, slope[best])
        return vertex

    def center(self) -> Vector:
        """Return the origin."""
        return np.zeros(self.n)

    def violation(self, x: ArrayLike) -> float:
        """Return how much the l1 norm of `x` exceeds the radius; 0.0 inside."""
        point = as_vector(x, self.n, "x")
        return float(max(0.0, np.abs(point).sum() - self.radius))

    def __repr__(self) -> str:
        return f"L1Ball({self.n}, radius={self.radius})"
