"""EM: the mixture that maximises likelihood and prior in the softmax basis, on a few topics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from opelda.engines.seam import EMSettings
from opelda.inference._method import FLOOR, Document, Method, Vector, count


@dataclass
class EM(Method):
    """Expectation maximisation on the topics that explain most of the document.

    One step from the prior's mean, over all topics, gives n_k, the tokens that topic k explains.
    The `n_kept` largest are iterated: n_k proportional to theta_k sum_j d_j beta_kj / x_j, and
    theta_k = (n_k + alpha_k) / (N + sum alpha). Every other topic keeps the prior's share. With
    every topic kept this climbs to the only maximum of sum_j d_j log x_j + sum_k alpha_k log
    theta_k, the posterior's mode in the softmax basis (MacKay 1998). Dempster, Laird & Rubin
    (1977); Hofmann (1999), with a prior; docs/inference.md compares it.

    Parameters
    ----------
    n_iter : int
        Iterations on the topics kept.
    n_kept : int
        The largest number of topics kept.

    Examples
    --------
    >>> from opelda.inference import infer
    >>> infer([[4, 0, 2]], [[0.8, 0.1, 0.1], [0.1, 0.1, 0.8]], method=EM()).theta.round(2)
    array([[0.67, 0.33]], dtype=float32)
    """

    name: ClassVar[str] = "em"
    can_be_cut: ClassVar[bool] = True
    settings = EMSettings

    n_iter: int = count(6)
    n_kept: int = count(16)

    def reference(self, document: Document, seed: int) -> tuple[Vector, int]:
        d, beta, alpha = document.counts, document.beta, document.alpha
        n_tokens, total = document.n_tokens, alpha.sum()
        prior = alpha @ beta
        n = alpha * (beta @ (d / np.maximum(prior, FLOOR * total)))
        kept = np.sort(np.argsort(-n, kind="stable")[: self.n_kept])
        beta, n = beta[kept], n[kept] * (n_tokens / n[kept].sum())
        # n sums to N throughout: x is N + sum alpha times the words' probabilities
        for _ in range(self.n_iter):
            x = np.maximum(prior + n @ beta, FLOOR * n_tokens)
            n = (n + alpha[kept]) * (beta @ (d / x))
            n *= n_tokens / n.sum()
        theta = alpha / (n_tokens + total)
        theta[kept] += n / (n_tokens + total)
        return theta, int(self.n_iter)
