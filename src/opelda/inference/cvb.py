"""CVB: collapsed variational Bayes of the second order (Teh et al. 2007)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import CVBSettings
from opelda.inference._method import Document, Method, Vector, between, count

# an alpha below this counts as this, as in the kernel: its square is divided by
SMALLEST = 1e-30


@dataclass
class CVB(Method):
    """Collapsed variational Bayes: a distribution q over topics for every token.

    The tokens of a word share one q. A visit to word j, in the order of the vocabulary, sets

        q_jk proportional to beta_kj a_k exp(-V_k / (2 a_k^2)),   a_k = alpha_k + E_k,

    where E_k and V_k are the mean and the variance of the number of the document's other tokens in
    topic k: sums over tokens of q and of q (1 - q). Of a count below 1 the whole is left out. q
    starts proportional to beta_kj alpha_k; the mixture is proportional to alpha plus the mean
    counts of all tokens.

    Time per pass and memory per thread are proportional to distinct words times topics.

    Parameters
    ----------
    n_iter : int
        Passes over the words at most.
    tol : float
        Stop after a pass in which no q changed by this much; 0: never.

    References
    ----------
    Teh, Newman & Welling, "A collapsed variational Bayesian inference algorithm for latent
    Dirichlet allocation" (NIPS 2006, published 2007); here the topics are given.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=CVB(), doc_topic_prior=1.0).theta.round(2)
    array([[0.65, 0.35]], dtype=float32)
    """

    name: ClassVar[str] = "cvb"
    settings = CVBSettings

    n_iter: int = count(50)
    tol: float = between(1e-4, 0.0, 1.0)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        d, beta, alpha = document.counts, document.beta, np.maximum(document.alpha, SMALLEST)
        q = beta * alpha[:, None]
        q /= q.sum(axis=0)
        n_done, change = 0, np.inf
        while n_done < self.n_iter and change >= self.tol:
            before = q.copy()
            for j, own in enumerate(np.minimum(d, 1.0)):
                others = d.copy()
                others[j] -= own
                size = alpha + q @ others
                power = -((q * (1 - q)) @ others) / (2 * size**2)
                # only ratios count: the largest power among the word's topics becomes 0
                power -= power[beta[:, j] > 0].max()
                q[:, j] = beta[:, j] * size * np.exp(np.minimum(power, 0.0))
                q[:, j] /= q[:, j].sum()
            n_done, change = n_done + 1, np.abs(q - before).max()
        theta = alpha + q @ d
        return theta / theta.sum(), n_done
