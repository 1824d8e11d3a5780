"""HAMCMC: quasi-Newton Langevin sampling (Simsekli et al. 2016), in a form for one document."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from opelda.inference._method import Document, Method, Vector, between, count

EM_STEPS = 50  # towards the start
DAMPING = 1.0  # added to every curvature: no direction counts as flatter than that


class Position(NamedTuple):
    """A sample eta, and the slope of U there."""

    eta: Vector
    slope: Vector


class Pair(NamedTuple):
    """A difference s of two samples and the (damped) difference y of their slopes."""

    s: Vector
    y: Vector


@dataclass
class HAMCMC(Method):
    """Hessian-approximated MCMC: Langevin steps scaled by the curvature seen along the way.

    The paper has no form for the documents of a topic model; this one is ours. It samples
    eta, theta = softmax(eta), sum_k eta_k = 0, from the posterior's density in these coordinates:
    the Jacobian prod_k theta_k turns the prior's exponents alpha - 1 into alpha, so

        U(eta) = -sum_j d_j log x_j - sum_k alpha_k log theta_k + const,
        U'(eta) = (N + sum alpha) theta - (r + alpha),        r the expected counts.

    Position t starts from the one M steps earlier::

        eta_t = eta_(t-M) - e_t H_t U'(eta_(t-M)) + Normal(0, 2 e_t H_t),     e_t = step * t^(-1/3)

    with H_t the L-BFGS inverse Hessian from the last 2M - 1 samples without eta_(t-M) itself; a
    step scaled by its own starting point's curvature would not leave the posterior invariant. The
    Hessian of U is at most (N + sum alpha)/2 everywhere, so its inverse is where H_t begins, and
    pairs of samples that claim more (or less than nothing) are left out: steps shrink with the
    document's length as they must.

    theta is the mean of (r + alpha) / (N + sum alpha) over the samples, weighted by e_t; it has
    theta's posterior mean and a smaller variance. There is no accept-reject step, hence a bias of
    the order of e_t. For alpha well below 1 and short documents the density has long, flat tails
    in these coordinates, and many more samples are needed.

    Parameters
    ----------
    n_iter : int
        Samples, M interleaved chains together.
    burn_in : int
        Samples discarded first, fewer than n_iter. The start is near the mode.
    memory : int
        M, at least 2.
    step : float
        Step size at t = 1.

    References
    ----------
    Simsekli, Badeau, Cemgil & Richard, "Stochastic quasi-Newton Langevin Monte Carlo", ICML (2016).

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[40, 0, 20]], topics, method=HAMCMC(), random_state=0).theta.round(1)
    array([[0.7, 0.3]], dtype=float32)
    """

    name: ClassVar[str] = "hamcmc"

    n_iter: int = count(1000)
    burn_in: int = count(200, 0)
    memory: int = count(3, 2)
    step: float = between(1.0, 0.0, 1.0, above=True)

    def check(self) -> None:
        """Raise `InputError` for a parameter that cannot be used, or a burn-in of all samples."""
        super().check()
        self._require(self.burn_in < self.n_iter, "burn_in", f"less than n_iter={self.n_iter}")

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        mean = np.zeros(len(document.alpha))
        for t, (weight, _, shares) in enumerate(self._samples(document), start=1):
            if t > self.burn_in:
                mean += weight * shares
        return mean / mean.sum(), self.n_iter

    def _samples(self, document: Document) -> Iterator[tuple[float, Vector, Vector]]:
        """Yield e_t, eta_t and r + alpha there, for t = 1, 2, ..."""
        rng = np.random.default_rng(document.key)
        alpha, total = document.alpha, document.n_tokens + document.alpha.sum()
        scale = 2 / total  # the inverse of the largest curvature

        def noise() -> Vector:
            return _centred(rng.standard_normal(len(alpha)))

        start = _centred(np.log(document.interior_mode(EM_STEPS)))
        n_past = 2 * self.memory - 1
        starts = [start + np.sqrt(scale) * noise() for _ in range(n_past)]
        past = deque((look(document, eta)[0] for eta in starts), n_past)
        for t in range(1, self.n_iter + 1):
            current = past[-self.memory]
            pairs = curvature_pairs([p for p in past if p is not current], total)
            e = self.step * t ** (-1 / 3)
            drift = inverse_hessian_times(pairs, scale, current.slope)
            kick = inverse_hessian_root(pairs, scale, noise(), rng.standard_normal(len(pairs)))
            moved = _centred(current.eta - e * drift + np.sqrt(2 * e) * kick)
            sample, shares = look(document, moved)
            past.append(sample)
            yield e, sample.eta, shares


def look(document: Document, eta: Vector) -> tuple[Position, Vector]:
    """Return eta with the slope of U there, and r + alpha."""
    theta = np.exp(eta - eta.max())
    theta /= theta.sum()
    shares = document.expected_counts(theta) + document.alpha
    return Position(eta, shares.sum() * theta - shares), shares


def curvature_pairs(points: Sequence[Position], steepest: float) -> list[Pair]:
    """Return the differences of consecutive points along which U is convex and not too steep."""
    pairs = []
    for before, after in pairwise(points):
        s = after.eta - before.eta
        y = after.slope - before.slope + DAMPING * s
        # y'y / s'y is the curvature that H would take over from this pair
        if 0 < y @ y <= steepest * (s @ y):
            pairs.append(Pair(s, y))
    return pairs


def inverse_hessian_times(pairs: Sequence[Pair], scale: float, v: Vector) -> Vector:
    """H v by L-BFGS.

    H = scale * I to begin with, then per pair H <- (I - s y'/y's) H (I - y s'/y's) + s s'/y's.
    """
    v, shifts = v.copy(), []
    for s, y in reversed(pairs):
        shifts.append((s @ v) / (y @ s))
        v -= shifts[-1] * y
    v *= scale
    for (s, y), shift in zip(pairs, reversed(shifts), strict=True):
        v += s * (shift - (y @ v) / (y @ s))
    return v


def inverse_hessian_root(pairs: Sequence[Pair], scale: float, z: Vector, along: Vector) -> Vector:
    """R (z, along) with R R' = H, so that standard normal numbers in give Normal(0, H) out.

    Each pair's update of H is one of R: (I - s y'/y's) R, and the column s / sqrt(y's).
    """
    z = np.sqrt(scale) * z
    for (s, y), number in zip(pairs, along, strict=True):
        z += s * (number / np.sqrt(y @ s) - (y @ z) / (y @ s))
    return z


def _centred(eta: Vector) -> Vector:
    centred: Vector = eta - eta.mean()
    return centred
