"""The Dirichlet prior of documents' mixtures that makes their tokens' topics likelier."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda.engines import Tokens

MOST_DOCUMENTS = 20_000  # are plenty for K numbers
N_ITER = 5
SMALLEST = 1e-5


def likelier_prior(tokens: Tokens, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """Improve alpha by a few steps of Minka's fixed point (2000), on documents spread evenly.

    alpha_k <- alpha_k * sum_d [psi(N_dk + alpha_k) - psi(alpha_k)]
                       / sum_d [psi(N_d + sum alpha) - psi(sum alpha)]
    """
    n_topics, n_docs = len(alpha), len(tokens.first) - 1
    docs = np.arange(0, n_docs, max(1, n_docs // MOST_DOCUMENTS))
    lengths = tokens.first[docs + 1] - tokens.first[docs]
    before = np.cumsum(lengths) - lengths
    places = np.arange(lengths.sum()) + np.repeat(tokens.first[docs] - before, lengths)
    cells = np.repeat(np.arange(len(docs)), lengths) * n_topics + tokens.topics[places]
    cells, sizes = np.unique(cells, return_counts=True)  # the N_dk that are not 0
    # most are small numbers: a topic and a number that many documents share are one term
    longest = int(sizes.max(initial=0)) + 1
    kinds, times = np.unique(cells % n_topics * longest + sizes, return_counts=True)
    topics, sizes = kinds // longest, kinds % longest
    lengths, n_alike = np.unique(lengths, return_counts=True)
    for _ in range(N_ITER):
        total = alpha.sum()
        seen = times * (psi(sizes + alpha[topics]) - psi(alpha[topics]))
        expected = (n_alike * (psi(lengths + total) - psi(total))).sum()
        if expected <= 0:
            break
        alpha = np.maximum(alpha * np.bincount(topics, seen, n_topics) / expected, SMALLEST)
    return alpha
