"""PMD: particle mirror descent (Dai et al. 2016), in a form for one document."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from opelda.inference._method import Document, Method, Vector, count

DEFENCE = 0.1  # share of particles from the prior: it bounds the importance weights


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
    """q_t: a weighted sum of Dirichlet(alpha + s centre) and, for DEFENCE of it, the prior."""

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
