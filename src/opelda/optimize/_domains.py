"""Domains of OPE, known by their linear oracle; here those whose oracle is a formula."""

from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import number, real_array, whole
from opelda.errors import InputError

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]


class Domain(ABC):
    """A bounded convex set, known by its linear oracle.

    Subclass it to give `maximize` a domain of your own, with a default start and a check of `x0`;
    where neither is wanted, a plain function ``direction -> maximising point`` will do.

    Attributes
    ----------
    n : int
        Dimension of the points.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda.optimize import Domain
    >>> class Segment(Domain):
    ...     '''The points between the origin and `end`.'''
    ...     def __init__(self, end):
    ...         self.end, self.n = np.asarray(end, dtype=float), len(end)
    ...     def oracle(self, direction):
    ...         return self.end * (direction @ self.end > 0)
    ...     def center(self):
    ...         return self.end / 2
    ...     def violation(self, x):
    ...         nearest = np.clip(x @ self.end / (self.end @ self.end), 0, 1) * self.end
    ...         return float(np.linalg.norm(x - nearest))
    >>> Segment([3.0, 4.0]).oracle(np.array([1.0, 0.0]))
    array([3., 4.])
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
        """Return how far `x` breaks the constraint it breaks most, 0.0 inside the domain."""


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
        best = np.argmax(real_array("direction", direction, (self.n,)))
        vertex = np.full(self.n, self._floor)
        vertex[best] = 1.0 - (self.n - 1) * self._floor
        return vertex

    def center(self) -> Vector:
        """Return the uniform distribution."""
        return np.full(self.n, 1.0 / self.n)

    def violation(self, x: ArrayLike) -> float:
        """Return the larger of |sum(x) - 1| and what the smallest entry lacks; 0.0 inside."""
        point = real_array("x", x, (self.n,))
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
        self.epsilon = self._floor = number("epsilon", epsilon, 0.0, 1.0, above=True)
        if self.epsilon * self.n >= 1.0:
            most = 1.0 / self.n
            raise InputError(f"must be below 1/n = {most:.6g}, got {epsilon!r}.", "epsilon")

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
        finite = "give a finite bound, a domain must be bounded"
        low = real_array("lower", lower, advice=finite)
        high = real_array("upper", upper, advice=finite)
        size = max(low.size, high.size)
        fits = all(bound.shape in ((), (size,)) for bound in (low, high))
        if not fits or size == 0 or low.ndim + high.ndim == 0:
            raise InputError(
                f"has shape {low.shape} and upper {high.shape}: give two vectors of one length, or "
                "one vector and a number.",
                "lower",
            )
        self.lower, self.upper = (np.broadcast_to(bound, (size,)) for bound in (low, high))
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
        return np.where(real_array("direction", direction, (self.n,)) > 0.0, self.upper, self.lower)

    def center(self) -> Vector:
        """Return the midpoint."""
        return 0.5 * self.lower + 0.5 * self.upper  # the sum of two bounds may overflow

    def violation(self, x: ArrayLike) -> float:
        """Return the largest amount by which a coordinate leaves its bounds; 0.0 inside."""
        point = real_array("x", x, (self.n,))
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
        slope = real_array("direction", direction, (self.n,))
        # a linear function on the ball is largest at a vertex, radius times a unit vector
        best = np.argmax(np.abs(slope))
        vertex = np.zeros(self.n)
        vertex[best] = np.copysign(self.radius, slope[best])
        return vertex

    def center(self) -> Vector:
        """Return the origin."""
        return np.zeros(self.n)

    def violation(self, x: ArrayLike) -> float:
        """Return how much the l1 norm of `x` exceeds the radius; 0.0 inside."""
        point = real_array("x", x, (self.n,))
        return float(max(0.0, np.abs(point).sum() - self.radius))

    def __repr__(self) -> str:
        return f"L1Ball({self.n}, radius={self.radius})"
