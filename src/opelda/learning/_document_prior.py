"""The Dirichlet prior of documents' mixtures that makes their tokens' topics likelier."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines._tokens import SizeHistogram

MOST_DOCUMENTS = 20_000  # are plenty for K numbers
N_ITER = 5
SMALLEST = 1e-5


def likelier_prior(seen: SizeHistogram, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve alpha by a few steps of Minka's fixed point (2000).

    alpha_k <- alpha_k * sum_d [psi(N_dk + alpha_k) - psi(alpha_k)]
                       / sum_d [psi(N_d + sum alpha) - psi(sum alpha)]
    """
    topics, n_topics = seen.topics, len(alpha)
    for _ in range(N_ITER):
        total = alpha.sum()
        found = seen.times * (psi(seen.sizes + alpha[topics]) - psi(alpha[topics]))
        expected = (seen.n_alike * (psi(seen.lengths + total) - psi(total))).sum()
        if expected <= 0:
            break
        alpha = np.maximum(alpha * np.bincount(topics, found, n_topics) / expected, SMALLEST)
    return alpha
