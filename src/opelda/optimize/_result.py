"""What `maximize` hands out: the iterate it reports on the way, and the result at the end."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opelda.optimize._vectors import Vector


@dataclass(frozen=True, eq=False)
class Iterate:
    """One recorded point of a run, as a callback sees it.

    Attributes
    ----------
    iteration : int
        The iteration that led to it; the start has 1 in the practical schedule (whose first
        iteration moves nothing) and 0 in the literal one.
    x : ndarray of shape (n,)
        The point.
    f, g1, g2 : float
        The objective and its two terms at `x`.
    gap : float
        The certificate at `x`, see `MaximizeResult`.

    Examples
    --------
    >>> from opelda.optimize import Simplex, Term, maximize
    >>> zero = Term(lambda x: 0.0, lambda x: 0 * x)
    >>> entropy_like = Term(lambda x: -x @ x, lambda x: -2 * x)
    >>> def show(iterate):
    ...     print(iterate.iteration, iterate.x)
    >>> result = maximize(entropy_like, zero, domain=Simplex(2), x0=[1, 0], n_iter=2,
    ...                   history_every=1, callback=show)
    1 [1. 0.]
    2 [0.5 0.5]
    """

    iteration: int
    x: Vector
    f: float
    g1: float
    g2: float
    gap: float


@dataclass(frozen=True, eq=False)
class MaximizeResult:
    """The point `maximize` found and what is certain about it.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The point: the last iterate, or with ``keep="best"`` the recorded one of largest f.
    f, g1, g2 : float
        The objective and its two terms at `x`.
    gap : float
        The certificate at `x`, the Frank-Wolfe gap: the largest <f'(x), v - x> over all points v
        of the domain. It is never negative, and zero exactly when `x` is a stationary point of f
        on the domain. If f is concave, no point of the domain has f above ``f + gap``. If it is
        not, the gap says how far `x` is from being stationary and nothing more: a stationary
        point may be a local maximum, a saddle or a minimum, and a higher one may exist.
    converged : bool
        Whether ``gap <= tol``; without a `tol`, whether the gap is zero.
    n_iter : int
        Iterations done, that is the last t of Algorithm 1.
    history_iter : ndarray of int
        The iterations recorded, the start first.
    f_history, gap_history : ndarray of float
        f and the gap at those iterations.

    Examples
    --------
    >>> from opelda.optimize import Simplex, Term, maximize
    >>> g1 = Term(lambda x: 3 * x[0], lambda x: [3, 0])
    >>> g2 = Term(lambda x: -x @ x, lambda x: -2 * x)
    >>> result = maximize(g1, g2, domain=Simplex(2), random_state=0)
    >>> result.x.round(2)
    array([1., 0.])
    >>> bool(2.0 - result.f <= result.gap)  # f is concave, its maximum is 2
    True
    """

    x: Vector
    f: float
    g1: float
    g2: float
    gap: float
    converged: bool
    n_iter: int
    history_iter: NDArray[np.int64]
    f_history: Vector
    gap_history: Vector
