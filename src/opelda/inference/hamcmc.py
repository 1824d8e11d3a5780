"""HAMCMC: quasi-Newton Langevin sampling (Simsekli et al. 2016), in a form for one document."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple

import numpy as np

from opelda.inference._method import Document, Method, Vector, between, count


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

    Simsekli, Badeau, Cemgil & Richard (ICML 2016), in our form for documents. It samples eta,
    theta = softmax(eta), sum_k eta_k = 0, from the posterior in these coordinates, where the
    Jacobian turns the prior's exponents alpha - 1 into alpha::

        U(eta) = -sum_j d_j log x_j - sum_k alpha_k log theta_k + const
        U'(eta) = (N + sum alpha) theta - (r + alpha),        r the expected counts
        eta_t = eta_(t-M) - e_t H_t U'(eta_(t-M)) + Normal(0, 2 e_t H_t),     e_t = step * t^(-1/3)

    H_t is the L-BFGS inverse Hessian from the last 2M - 1 samples without eta_(t-M): a step scaled
    by its own starting point's curvature would not leave the posterior invariant. H_t begins with
    2 / (N + sum alpha), the inverse of a bound on the Hessian; pairs of samples beyond that bound
    are left out. theta is the mean of (r + alpha) / (N + sum alpha) over the samples, weighted by
    e_t. Without an accept-reject step the bias is of the order of e_t. Short documents with alpha
    well below 1 need many more samples.

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

        start = _centred(np.log(document.interior_mode()))
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
    """Return differences of consecutive points along which U is convex and not too steep."""
    pairs = []
    for before, after in pairwise(points):
        s = after.eta - before.eta
        y = after.slope - before.slope + s  # damped: no direction counts as flatter than 1
        # y'y / s'y is the curvature that H would take over from this pair
        if 0 < y @ y <= steepest * (s @ y):
            pairs.append(Pair(s, y))
    return pairs


def inverse_hessian_times(pairs: Sequence[Pair], scale: float, v: Vector) -> Vector:
    """Return H v by L-BFGS: per pair H <- (I - s y'/y's) H (I - y s'/y's) + s s'/y's."""
    v, shifts = v.copy(), []
    for s, y in reversed(pairs):
        shifts.append((s @ v) / (y @ s))
        v -= shifts[-1] * y
    v *= scale
    for (s, y), shift in zip(pairs, reversed(shifts), strict=True):
        v += s * (shift - (y @ v) / (y @ s))
    return v


def inverse_hessian_root(pairs: Sequence[Pair], scale: float, z: Vector, along: Vector) -> Vector:
    """Return R (z, along) with R R' = H: standard normal numbers in, Normal(0, H) out.

    Each pair's update of H is one of R: (I - s y'/y's) R, and the column s / sqrt(y's).
    """
    z = np.sqrt(scale) * z
    for (s, y), number in zip(pairs, along, strict=True):
        z += s * (number / np.sqrt(y @ s) - (y @ z) / (y @ s))
    return z


def _centred(eta: Vector) -> Vector:
    centred: Vector = eta - eta.mean()
    return centred
