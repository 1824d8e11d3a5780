"""Algorithm 1 of Than & Doan (OPE) for any two terms and any linear oracle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import choice, flag, number, real_array, seed, whole
from opelda.errors import InputError
from opelda.optimize._domains import Domain, Vector
from opelda.optimize._finish import Ascent, PickedVertices
from opelda.optimize._terms import OUTSIDE, Iterate, Oracle, Point, Term

Coins: TypeAlias = Literal["random", "balanced"]
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class MaximizeResult:
    """The point that `maximize` found, and its certificate.

    Attributes
    ----------
    x : ndarray of shape (n,)
        The last iterate, the recorded iterate with the largest f (``keep="best"``), or the iterate
        with the smallest gap (`max_gap`).
    f, g1, g2 : float
        The objective and its two terms at `x`.
    gap : float
        The Frank-Wolfe gap at `x`: the largest <f'(x), v - x> over all points v of the domain, zero
        exactly where `x` is stationary. If f is concave, its maximum is at most ``f + gap``.
    converged : bool
        Whether ``gap <= max_gap``; without a `max_gap`, whether the gap is zero.
    n_iter : int
        Iterations done.
    history_iter, f_history, gap_history : ndarrays
        The recorded iterations, the start first, with f and the gap.
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


def maximize(
    g1: Term,
    g2: Term,
    *,
    domain: Domain | Oracle,
    x0: ArrayLike | None = None,
    n_iter: int = 1000,
    max_gap: float | None = None,
    schedule: Literal["practical", "literal"] = "practical",
    coins: Coins = "random",
    keep: Literal["last", "best"] = "last",
    history_every: int = 10,
    random_state: RandomState = None,
    callback: Callable[[Iterate], bool | None] | None = None,
    check_gradient: bool = True,
) -> MaximizeResult:
    """Maximise f = g1 + g2 over a polytope by OPE, and certify the point found.

    At iteration t one of the two terms is picked uniformly. With a picks of g1 and b of g2 so far,
    the iterate moves to ``x + (e - x) / t``, where e is the vertex of the domain that maximises <a
    g1'(x) + b g2'(x), e>. Neither term need be concave. docs/optimize.md has examples.

    Parameters
    ----------
    g1, g2 : Term
        The two terms, for example a log likelihood and a log prior.
    domain : Domain or callable
        A `Domain`, or an oracle: a function from a direction to the point of the domain that
        maximises the inner product (with `x0`).
    x0 : array_like of shape (n,), optional
        The start, inside the domain to within 1e-6; its centre by default.
    n_iter : int, default=1000
        Iterations T of OPE. In the practical schedule they are T - 1 moves.
    max_gap : float, optional
        The requested gap: if f is concave, the point is at most this far below the maximum. After
        `n_iter` iterations, at most ``1000 + 10 n`` pairwise Frank-Wolfe and Newton steps on f
        itself finish the run. None runs OPE's iterations alone.
    schedule : {"practical", "literal"}, default="practical"
        "practical": the first pick is g1 and moves nothing, so an interior start stays interior.
        "literal": Algorithm 1 as printed, whose first step goes to a vertex and forgets `x0`.
    coins : {"random", "balanced"}, default="random"
        Terms are picked independently; or each once, in random order, in every pair of picks.
    keep : {"last", "best"}, default="last"
        Return the last iterate, or the recorded iterate with the largest f.
    history_every : int, default=10
        Record f and the gap at the start, at multiples of this, at the last iteration and in steps
        that finish a run. A record costs both values and one oracle call.
    random_state : int, Generator, RandomState or None, default=None
        Source of the coins.
    callback : callable, optional
        Called with an `Iterate` at every record; return True to stop.
    check_gradient : bool, default=True
        Raise for a gradient of the wrong sign or scale, by differences of values near the start.

    Returns
    -------
    MaximizeResult
        With a warning if `max_gap` was not reached, or if f turned out not to be concave.

    Examples
    --------
    The MAP of three outcomes, seen 6, 3 and 1 times, under a Dirichlet(2) prior is (seen + 1) / 13:

    >>> import numpy as np
    >>> from opelda.optimize import Simplex, Term, maximize
    >>> seen = np.array([6, 3, 1])
    >>> likelihood = Term(lambda x: seen @ np.log(x), lambda x: seen / x)
    >>> prior = Term(lambda x: np.log(x).sum(), lambda x: 1 / x)
    >>> result = maximize(likelihood, prior, domain=Simplex(3), max_gap=1e-9, random_state=0)
    >>> result.x.round(4), result.converged
    (array([0.5385, 0.3077, 0.1538]), True)
    """
    for name, term in (("g1", g1), ("g2", g2)):
        if not isinstance(term, Term):
            raise InputError(
                f"must be a Term, got {type(term).__name__}: wrap its two functions as "
                "Term(value, gradient).",
                name,
            )
    last, every = whole("n_iter", n_iter), whole("history_every", history_every)
    if max_gap is not None:
        max_gap = number("max_gap", max_gap, 0.0, np.inf)
    choice("schedule", schedule, ("practical", "literal"))
    choice("coins", coins, get_args(Coins))
    choice("keep", keep, ("last", "best"))
    generator = np.random.default_rng(seed(random_state))
    oracle, x = _start(domain, x0)
    checked = flag("check_gradient", check_gradient)

    def stops(record: Iterate) -> bool:
        return callback is not None and callback(record) is True

    # a and b picks so far: F_t = (2/t) (a g1 + b g2). Practical: t = 1 is a pick of g1, no move.
    t, a, b = (1, 1, 0) if schedule == "practical" else (0, 0, 0)
    point = Point(g1, g2, oracle, x, t)
    current = kept = point.evaluate()
    if checked:  # after the start's record, which reports terms that are not finite
        point.check_gradients()
    picks = PickedVertices(x, t)
    history = [current]
    stop = stops(current)

    for pick_g1 in draw_coins(last - t, coins, generator):
        if stop:
            break
        t += 1
        a, b = (a + 1, b) if pick_g1 else (a, b + 1)
        # x + (e - x)/t, written so that a step of 1 lands on e and coordinates stay positive.
        vertex = point.vertex(a, b)
        x = ((t - 1) * x + vertex) / t
        point = Point(g1, g2, oracle, x, t)
        if max_gap is not None:
            picks.add(vertex)
        if t % every and t != last:
            continue
        current = point.evaluate()
        history.append(current)
        # only recorded points have values
        if keep == "last" or current.f > kept.f:
            kept = current
        stop = stops(current) or (max_gap is not None and kept.gap <= max_gap)

    if max_gap is not None and not stop and kept.gap > max_gap:
        # the picks belong to the last iterate; an earlier, better iterate is an atom
        found = picks.atoms() if kept is current else (kept.x[None], np.ones(1))
        scale = max(abs(record.g1) + abs(record.g2) for record in history)
        ascent = Ascent(Point(g1, g2, oracle, kept.x, t), *found, scale)
        for current in ascent.iterates():
            history.append(current)
            if current.gap < kept.gap:
                kept = current
            stop = stops(current)
            if stop or kept.gap <= max_gap:
                break
        t = current.iteration
        ascent.warn(kept.gap, np.inf if stop else max_gap)

    recorded = [(record.iteration, record.f, record.gap) for record in history]
    return MaximizeResult(
        kept.x, kept.f, kept.g1, kept.g2, kept.gap, kept.gap <= (max_gap or 0.0), t,
        *map(np.array, zip(*recorded, strict=True)),
    )  # fmt: skip


def draw_coins(n_coins: int, kind: Coins, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Return uniform picks, True for g1; "balanced" draws one order per consecutive pair."""
    if kind == "random":
        return generator.integers(2, size=n_coins).astype(bool)
    first = generator.integers(2, size=(n_coins + 1) // 2).astype(bool)
    return np.column_stack([first, ~first]).ravel()[:n_coins]


def _start(domain: Domain | Oracle, x0: ArrayLike | None) -> tuple[Oracle, Vector]:
    """Return the oracle and a checked start."""
    if isinstance(domain, Domain):
        x = real_array("x0", domain.center() if x0 is None else x0, (domain.n,))
        outside = domain.violation(x)
        if outside > OUTSIDE * (1.0 + np.abs(x).max()):
            raise InputError(
                f"lies outside {domain!r} by {outside:.3g}; move it inside, or remove it to start "
                "from the centre.",
                "x0",
            )
        return domain.oracle, x
    if isinstance(domain, type) or not callable(domain):
        raise InputError(
            f"must be a Domain such as Simplex(n) or an oracle function, got {domain!r}.", "domain"
        )
    if x0 is None:
        raise InputError(
            "is missing; an oracle has no centre, so pass a start inside its domain.", "x0"
        )
    x = real_array("x0", x0)
    return domain, real_array("x0", x, (max(x.size, 1),))
