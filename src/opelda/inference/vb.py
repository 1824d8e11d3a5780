"""VB: mean-field variational Bayes for one document (Blei et al. 2003)."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.special import gammaln, psi

from opelda.engines.seam import Batch, Solution, VBSettings
from opelda.inference._method import Document, Method, Vector, between, count, one_of


@dataclass
class VB(Method):
    """Variational Bayes: the Dirichlet q(theta | gamma) closest to the posterior.

    Each iteration sets gamma_k = alpha_k + sum_j d_j phi_jk with phi_jk proportional to
    exp(E[log theta_k]) beta_kj. The document's evidence lower bound never falls, and decides when
    to stop. The mixture is the mean of q. Blei, Ng & Jordan (JMLR 2003), equations 6 and 7;
    Hoffman, Blei & Bach (NIPS 2010).

    Parameters
    ----------
    n_iter : int
        Iterations at most.
    tol : float
        Stop when the bound's relative change is below this; 0: never.
    init : {"fixed", "random"}
        The first gamma: alpha_k + N/K, or one Gamma(100, 1/100) draw per topic and seed, the same
        for all documents.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=VB(tol=0), doc_topic_prior=1.0).theta.round(2)
    array([[0.64, 0.36]], dtype=float32)
    """

    name: ClassVar[str] = "vb"
    expects_logs: ClassVar[bool] = True

    n_iter: int = count(50)
    tol: float = between(1e-4, 0.0, 1e30)
    init: Literal["fixed", "random"] = one_of("fixed", "random")

    def kernel(self, n_topics: int, seed: int) -> VBSettings:
        return VBSettings(
            n_iter=int(self.n_iter),
            tol=float(self.tol),
            start=self._draw(n_topics, seed) if self.init == "random" else None,
        )

    def solve(self, batch: Batch, seed: int) -> Solution:
        """Infer a batch with the reference, and add the factors of tokens' topics."""
        found = super().solve(batch, seed)
        totals = batch.alpha.sum() + np.add.reduceat(
            np.append(batch.counts, 0.0).astype(np.float64), batch.indptr[:-1]
        )
        log_theta = psi(np.maximum(np.asarray(found.theta) * totals[:, None], 1e-300))
        factors = np.exp(log_theta - log_theta.max(axis=1, keepdims=True))
        return replace(found, factors=factors)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        gamma, bounds = self.ascend(document, seed)
        return gamma / gamma.sum(), len(bounds) - 1

    def ascend(self, document: Document, seed: int) -> tuple[Vector, list[float]]:
        """Return gamma and the bound before the first and after every iteration."""
        n_topics = len(document.alpha)
        gamma = document.alpha + document.n_tokens / n_topics
        if self.init == "random":
            gamma = self._draw(n_topics, seed)
        bounds = [bound(document, gamma)]
        for _ in range(self.n_iter):
            # Blei et al. (6) and (7), phi never stored
            weight, _, phinorm = expectations(document, gamma)
            gamma = document.alpha + weight * (document.beta @ (document.counts / phinorm))
            bounds.append(bound(document, gamma))
            if self.tol > 0 and bounds[-1] - bounds[-2] < self.tol * abs(bounds[-1]):
                break
        return gamma, bounds

    def _draw(self, n_topics: int, seed: int) -> Vector:
        return np.random.default_rng([seed, 2]).gamma(100.0, 0.01, n_topics)


def expectations(document: Document, gamma: Vector) -> tuple[Vector, float, Vector]:
    """Return exp(E[log theta]) divided by its largest value, the log of that, and phinorm."""
    log_theta = psi(gamma) - psi(gamma.sum())
    top = float(log_theta.max())
    weight = np.exp(log_theta - top)
    return weight, top, np.maximum(weight @ document.beta, 1e-300)


def bound(document: Document, gamma: Vector) -> float:
    """Return the document's evidence lower bound at gamma, with the best phi for it."""
    alpha, d = document.alpha, document.counts
    log_theta = psi(gamma) - psi(gamma.sum())
    _, top, phinorm = expectations(document, gamma)
    words = d @ np.log(phinorm) + document.n_tokens * top
    mixture = (alpha - gamma) @ log_theta + (gammaln(gamma) - gammaln(alpha)).sum()
    return float(words + mixture + gammaln(alpha.sum()) - gammaln(gamma.sum()))
