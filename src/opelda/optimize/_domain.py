"""What OPE needs to know of a domain."""

from abc import ABC, abstractmethod

from numpy.typing import ArrayLike

from opelda.optimize._vectors import Vector


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
