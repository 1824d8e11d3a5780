"""CVB and CVB0: collapsed variational Bayes of the second and the zeroth order."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import CVB0Settings, CVBSettings
from opelda.inference._method import FLOOR, Document, Method, Vector, between, count


@dataclass
class CVB(Method):
    """Collapsed variational Bayes (Teh, Newman & Welling, NIPS 2006), the topics given.

    The tokens of a word share a distribution q over topics, at first proportional to beta_kj
    alpha_k. A visit to word j, in the order of the vocabulary, sets

        q_jk proportional to beta_kj a_k exp(-V_k / (2 a_k^2)),   a_k = alpha_k + E_k,

    E_k and V_k being the mean and variance of the number of the document's other tokens in topic
    k: sums of q and of q (1 - q). The mixture is proportional to alpha plus the mean counts. Time
    and memory grow with distinct words times topics.

    Parameters
    ----------
    n_iter : int
        Passes over the words at most.
    tol : float
        Stop after a pass in which no q changed by this much; 0: never.

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
        d, beta, alpha = document.counts, document.beta, np.maximum(document.alpha, FLOOR)
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


@dataclass
class CVB0(Method):
    """Collapsed variational Bayes of order zero, with decreasing steps over the words.

    Pass after pass, a visit to distinct word j, with its d_j tokens, sets

        gamma_k proportional to beta_kj (N_k + alpha_k),
        N <- (1 - rho_t)^d_j N + (1 - (1 - rho_t)^d_j) |d| gamma,
        rho_t = scale / (offset + t)^decay,

    t counting visits over all passes. N starts at |d| alpha / sum(alpha). The mixture is
    proportional to alpha plus the mean N at the ends of the counted passes; it approaches the
    maximum of the concave sum_j d_j log x_j + sum_k alpha_k log theta_k. Asuncion et al. (UAI
    2009); Foulds et al. (KDD 2013).

    Parameters
    ----------
    burn_in, n_samples : int
        Passes discarded, then passes counted.
    scale, offset, decay : float
        Of the steps rho_t; scale is at most 1.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> topics = [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]]
    >>> infer([[4, 0, 2]], topics, method=CVB0(), doc_topic_prior=1.0).theta.round(1)
    array([[0.6, 0.4]], dtype=float32)
    """

    name: ClassVar[str] = "cvb0"
    settings = CVB0Settings

    burn_in: int = count(25, 0)
    n_samples: int = count(25)
    scale: float = between(1.0, 0.0, 1.0, above=True)
    offset: float = between(10.0, 0.0, 1e9)
    decay: float = between(0.9, 0.0, 1.0, above=True)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        d, beta, alpha, n_tokens = document.counts, document.beta, document.alpha, document.n_tokens
        n_theta = n_tokens * alpha / alpha.sum()
        mean = np.zeros_like(alpha)
        t = 0
        for sweep in range(self.burn_in + self.n_samples):
            for j in range(len(d)):
                t += 1  # over all passes: steps keep falling
                keep = (1 - self.scale / (self.offset + t) ** self.decay) ** d[j]
                # a token's step, d_j times at once
                gamma = beta[:, j] * (n_theta + alpha)
                n_theta = keep * n_theta + (1 - keep) * n_tokens * gamma / gamma.sum()
            if sweep >= self.burn_in:
                mean += n_theta / self.n_samples
        theta = (mean + alpha) / (n_tokens + alpha.sum())
        return theta, self.burn_in + self.n_samples
