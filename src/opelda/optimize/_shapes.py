"""Domains whose linear oracle is a formula: simplex, shrunken simplex, box, l1 ball."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from opelda.errors import InputError

from ._domain import Domain
from ._vectors import Vector, as_real_array, as_vector, check_finite


def _dimension(n: SupportsIndex, owner: str) -> int:
    try:
        size = index(n)
    except TypeError:
        raise TypeError(
            f"{owner}: the dimension n must be an integer, got {type(n).__name__}."
        ) from None
    if size < 1:
        raise InputError(f"{owner}: the dimension n is {size}: give at least 1.")
    return size


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

    def __init__(self, n: SupportsIndex) -> None:
        self.n = _dimension(n, type(self).__name__)

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

    def __init__(self, n: SupportsIndex, epsilon: float) -> None:
        super().__init__(n)
        if not 0.0 < epsilon * self.n < 1.0:
            raise InputError(
                f"ShrunkenSimplex: epsilon is {epsilon}, but {self.n} coordinates need "
                f"0 < epsilon < {1.0 / self.n:.6g}: choose it in between, or use Simplex for 0."
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
        low = as_real_array(lower, "Box: lower")
        high = as_real_array(upper, "Box: upper")
        size = max(low.size, high.size)
        fits = all(bound.shape in ((), (size,)) for bound in (low, high))
        if not fits or size == 0 or low.ndim + high.ndim == 0:
            raise InputError(
                f"Box: lower has shape {low.shape} and upper {high.shape}: give two vectors of "
                "one length, or one vector and a number."
            )
        self.lower, self.upper = (np.broadcast_to(bound, (size,)) for bound in (low, high))
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            check_finite(bound, f"Box: {name}", "give a finite bound, a domain must be bounded")
        crossed = np.flatnonzero(self.lower > self.upper)
        if crossed.size:
            i = int(crossed[0])
            raise InputError(
                f"Box: lower[{i}] = {self.lower[i]} is above upper[{i}] = {self.upper[i]}: "
                "the box is empty, exchange the two."
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

    def __init__(self, n: SupportsIndex, radius: float = 1.0) -> None:
        self.n = _dimension(n, "L1Ball")
        if not 0.0 < radius < np.inf:
            raise InputError(f"L1Ball: the radius is {radius}: give a positive finite number.")
        self.radius = float(radius)

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
