"""CVB0: zeroth-order collapsed variational Bayes, in its stochastic form."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import CVB0Settings
from opelda.inference._method import Document, Method, Vector, between, count


@dataclass
class CVB0(Method):
    """Collapsed variational Bayes of order zero, with decreasing steps over the words.

    The document's distinct words are visited in the order of the vocabulary, pass after pass. A
    visit to word j, which stands for its d_j tokens, sets

        gamma_k proportional to beta_kj (N_k + alpha_k),
        N <- (1 - rho_t)^d_j N + (1 - (1 - rho_t)^d_j) |d| gamma,   rho_t = s / (tau + t)^kappa,

    where t counts visits from 1 and goes on over the passes. N starts at the prior's share of the
    document, |d| alpha / sum(alpha). The mixture is proportional to alpha plus N averaged over the
    ends of the counted passes. In the long run it approaches the maximum of the concave
    sum_j d_j log x_j + sum_k alpha_k log theta_k.

    Parameters
    ----------
    burn_in : int
        Passes before the counted ones.
    n_samples : int
        Passes counted.
    scale : float
        s, at most 1.
    offset : float
        tau.
    decay : float
        kappa.

    References
    ----------
    Asuncion, Welling, Smyth & Teh, "On smoothing and inference for topic models" (UAI 2009); Foulds
    et al., "Stochastic collapsed variational Bayesian inference for latent Dirichlet allocation"
    (KDD 2013).

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
                t += 1  # over all passes: steps go on falling
                keep = (1 - self.scale / (self.offset + t) ** self.decay) ** d[j]
                # the step of one token, d_j times at once
                gamma = beta[:, j] * (n_theta + alpha)
                n_theta = keep * n_theta + (1 - keep) * n_tokens * gamma / gamma.sum()
            if sweep >= self.burn_in:
                mean += n_theta / self.n_samples
        theta = (mean + alpha) / (n_tokens + alpha.sum())
        return theta, self.burn_in + self.n_samples
