"""CGS, HAMCMC and PMD: posterior means by Gibbs, Langevin and particle sampling."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

from opelda.engines.seam import CGSSettings, uniforms
from opelda.inference._method import Document, Method, Vector, between, count

Pair: TypeAlias = tuple[Vector, Vector]  # differences s of samples, and y of slopes, damped
DEFENCE = 0.1  # share of particles from the prior: it bounds the importance weights


@dataclass
class CGS(Method):
    """Collapsed Gibbs sampling: the topic z of each token, drawn in turn given all others.

    P(z = k) is proportional to (alpha_k + N_k) beta_kj; N_k counts the document's other tokens in
    topic k. The first sweep places the tokens one after another. The mixture is the mean of
    (alpha + N) / (sum(alpha) + |d|) over the counted sweeps. A count of 2.5 is three tokens, of
    weights 1, 1 and 0.5; a document has at most 10^8. Griffiths & Steyvers (PNAS 2004); Mimno,
    Hoffman & Blei (ICML 2012).

    Parameters
    ----------
    burn_in, n_samples : int
        Sweeps discarded, then sweeps counted.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> result = infer([[40, 0, 20]], topics, method=CGS(), random_state=0)
    >>> bool(0.5 < result.theta[0, 0] < 0.9)
    True
    """

    name: ClassVar[str] = "cgs"
    expects_logs: ClassVar[bool] = True

    burn_in: int = count(25, 0)
    n_samples: int = count(25)

    def kernel(self, n_topics: int, seed: int) -> CGSSettings:
        return CGSSettings(int(self.burn_in), int(self.n_samples), seed)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        beta, alpha = document.beta, document.alpha
        words, weights = tokens(document.counts)
        n_sweeps = self.burn_in + self.n_samples
        z = np.zeros(len(words), np.int64)
        sizes, mean = np.zeros_like(alpha), np.zeros_like(alpha)
        for sweep in range(n_sweeps):
            u = uniforms(document.key, sweep * len(words), len(words))
            for i, (j, w) in enumerate(zip(words, weights, strict=True)):
                if sweep > 0:
                    sizes[z[i]] -= w
                # N_k beta_kj before alpha_k beta_kj: of the former few are not zero
                ends = np.cumsum(np.concatenate((sizes * beta[:, j], alpha * beta[:, j])))
                at = np.searchsorted(ends, u[i] * ends[-1], side="right")
                z[i] = at % len(alpha)
                sizes[z[i]] += w
            if sweep >= self.burn_in:
                mean += sizes / self.n_samples
        return (mean + alpha) / (document.n_tokens + alpha.sum()), n_sweeps


def tokens(counts: Vector) -> tuple[NDArray[np.int64], Vector]:
    """Return each token's word (its position in the document) and weight.

    >>> tokens(np.array([1.0, 2.5]))
    (array([0, 1, 1, 1]), array([1. , 1. , 1. , 0.5]))
    """
    each = np.ceil(counts).astype(np.int64)
    words = np.repeat(np.arange(len(counts)), each)
    weights = np.ones(len(words))
    weights[np.cumsum(each) - 1] = counts - (each - 1)
    return words, weights


class Position(NamedTuple):
    """A sample eta, and the slope of U there."""

    eta: Vector
    slope: Vector


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
        # y'y / s'y is the curvature of this pair
        if 0 < y @ y <= steepest * (s @ y):
            pairs.append((s, y))
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


@dataclass
class PMD(Method):
    """Particle mirror descent: the posterior as a cloud of weighted mixtures; theta is its mean.

    Dai, He, Dai & Song (AISTATS 2016), in our form for documents. Mirror descent over densities,
    q_(t+1) ∝ q_t^(1 - gamma_t) [prior * likelihood]^gamma_t with gamma_t = 1/t: particles are drawn
    from q_t and weighted with [prior * likelihood / q_t]^gamma_t; their kernel density is q_(t+1).

    - The kernel of a particle theta_i is Dirichlet(alpha + s theta_i), so the prior's poles cancel
      in the weights. s follows the particles' spread, up to N.
    - The first q is such a kernel at the posterior's mode, with s = N/4. One particle in ten comes
      from the prior, which keeps every weight below ten times the likelihood's maximum.
    - Kernels widen the cloud, and small powers hardly narrow it: these weights only steer the
      particles. The mean is taken with gamma = 1 (importance sampling, right for any q_t), each
      iteration weighted by its effective number of particles.
    - A particle enters the mean as (r + alpha) / (N + sum alpha), r its expected counts, which has
      theta's posterior mean and a smaller variance.

    Parameters
    ----------
    n_particles : int
        Particles per iteration; the error falls like one over their square root.
    n_iter : int
        Iterations, each with new particles.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=PMD(), random_state=0).theta.round(1)
    array([[0.7, 0.3]], dtype=float32)
    """

    name: ClassVar[str] = "pmd"

    n_particles: int = count(100, 2)
    n_iter: int = count(20)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        rng = np.random.default_rng(document.key)
        d, alpha = document.counts, document.alpha
        mode = document.interior_mode()[np.newaxis]
        # four times as wide as if the topics of all tokens were known
        q = Proposal(alpha, mode, np.zeros(1), document.n_tokens / 4.0)
        mean, n_effective = np.zeros(len(alpha)), 0.0
        for t in range(1, self.n_iter + 1):
            log_theta = q.draw(rng, self.n_particles)
            theta = np.exp(log_theta)
            # likelihood * prior / q_t
            log_gains = np.log(document.word_probabilities(theta)) @ d - q.log_ratio(log_theta)
            weights = np.exp(_normalized(log_gains))
            effective = 1 / float(weights @ weights)
            n_effective += effective
            mean += effective * (weights @ document.expected_counts(theta))

            log_weights = _normalized(log_gains / t)
            q = Proposal(
                alpha, theta, log_weights, concentration(document, np.exp(log_weights), theta)
            )
        shares = mean / n_effective + alpha
        return shares / shares.sum(), self.n_iter


class Proposal(NamedTuple):
    """q_t: a weighted sum of Dirichlet(alpha + s centre), and DEFENCE times the prior."""

    alpha: Vector
    centres: Vector
    log_weights: Vector
    s: float

    def draw(self, rng: np.random.Generator, n: int) -> Vector:
        """Return the logarithms of n mixtures."""
        kernels = self.alpha + self.s * self.centres
        chosen = rng.choice(len(kernels), n, p=np.exp(self.log_weights))
        from_prior = rng.random((n, 1)) < DEFENCE
        return log_dirichlet(rng, np.where(from_prior, self.alpha, kernels[chosen]))

    def log_ratio(self, log_theta: Vector) -> Vector:
        """Return log(q_t / prior); kernel / prior is a multiple of prod_k theta_k^(s c_k)."""
        powers = self.s * self.centres
        heights = log_normalizer(self.alpha + powers) - log_normalizer(self.alpha)
        kernels = logsumexp(self.log_weights + heights + log_theta @ powers.T, axis=1)
        ratio: Vector = np.logaddexp(np.log(DEFENCE), np.log1p(-DEFENCE) + kernels)
        return ratio


def log_dirichlet(rng: np.random.Generator, shapes: Vector) -> Vector:
    """Draw the logarithm of one mixture per row: Gamma(a) is Gamma(a + 1) * U^(1/a)."""
    logs = np.log(rng.standard_gamma(shapes + 1)) + np.log1p(-rng.random(shapes.shape)) / shapes
    logs -= logsumexp(logs, axis=1, keepdims=True)
    return logs


def log_normalizer(shapes: Vector) -> Vector:
    """Return the logarithm of the constant of each row's Dirichlet density."""
    total: Vector = gammaln(shapes.sum(axis=-1)) - gammaln(shapes).sum(axis=-1)
    return total


def _normalized(log_weights: Vector) -> Vector:
    # the largest first: of a log-likelihood of -1e12, 1e-4 is lost in rounding
    below: Vector = log_weights - log_weights.max()
    below -= logsumexp(below)
    return below


def concentration(document: Document, weights: Vector, theta: Vector) -> float:
    """Return the s at which a kernel has 0.3 times the particles' variance, at most N.

    With s <= N a cloud that has collapsed to a point grows again.
    """
    mean = weights @ theta
    variance = float((weights @ (theta - mean) ** 2).sum())
    # a Dirichlet of concentration c has variance mean (1 - mean) / (c + 1)
    wanted = float(mean @ (1 - mean)) / max(0.3 * variance, 1e-300)
    return float(np.clip(wanted - 1 - document.alpha.sum(), 0.0, document.n_tokens))
