"""Documents' shares of topics without bias, for means and regressions over many documents.

Inferred mixtures of short documents are biased towards the prior, and so are their means. With m
the topics' weights, p(w) = sum_k m_k beta_kw, B = beta (K, V) and D = diag(1 / p(w)),

    theta~_d = (B D B')^-1 B D w_d / |w_d|

is linear in the counts w_d, and E[w_d] / |w_d| = B' theta_d: its expectation is theta_d for any
length. Its entries sum to 1, and some may be negative: only means of it are informative.

D overweights the words of a group that uses a topic's words unlike the collection. The likeliest
mixture of the group's words has a smaller error (docs/covariates.md): the corrected share.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.inference import EM, infer
from opelda.metrics._top_words import shares_or_even
from opelda.metrics._topics import MeasuredTopics

INTERVALS_NOTE = (
    "Intervals treat topics as known; they are too narrow for the training "
    "documents and for groups of 10 or fewer documents."
)
CROSS_FITTED_NOTE = (
    "Intervals include the error of topics, by cross-fitting; they are too "
    "narrow for groups of 10 or fewer documents."
)


class Unmixing:
    """The linear map from counts to shares, for a model's topics."""

    def __init__(self, model: Any) -> None:
        self.topics: NDArray[Any] = MeasuredTopics.of(model).weights
        n_topics = len(self.topics)
        # topics of no weight are looked for, too
        weights = shares_or_even(model, n_topics) + 0.01 / n_topics
        weights /= weights.sum()
        self.marginal: NDArray[np.float64] = weights @ self.topics.astype(np.float64)
        self._known = self.marginal > 0
        inverse = np.divide(1.0, self.marginal, where=self._known, out=np.zeros_like(self.marginal))
        root = np.sqrt(weights)
        scaled = root[:, np.newaxis] * self.topics
        values, vectors = np.linalg.eigh((scaled * inverse) @ scaled.T)
        # Topics that words cannot tell apart have smaller eigenvalues, and share their weight.
        kept = values > 1e-3 * values[-1]
        solved = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        self._of_words = (scaled * inverse).T @ (solved * root)  # (V, K)

    def frequencies(self, X: Any) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
        """Return the documents' word frequencies, and whether each has a word of some topic."""
        tokens = X @ self._known.astype(np.float64)
        return sparse.diags_array(1.0 / np.maximum(tokens, 1e-300)) @ X, tokens > 0

    def shares(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the documents' shares, and whether each has a word of some topic."""
        found, known = self.frequencies(X)
        return found @ self._of_words, known

    def likeliest(self, frequencies: Any) -> NDArray[np.float64]:
        """Return the most likely mixtures for word frequencies."""
        # With 100 steps, shares of 40 groups of Reuters are within .0012 of the optimum.
        method = EM(n_iter=100, n_kept=len(self.topics))
        words = sparse.csr_array(frequencies) * 1e6
        found = infer(words, self.topics, doc_topic_prior=1e-3, method=method)
        mixtures: NDArray[np.float64] = found.theta.astype(np.float64)
        mixtures /= mixtures.sum(axis=1, keepdims=True)
        return mixtures


def on_simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Project rows that sum to 1 onto the simplex.

    >>> on_simplex(np.array([[0.7, 0.4, -0.1], [0.2, 0.3, 0.5]])).round(3)
    array([[0.65, 0.35, 0.  ],
           [0.2 , 0.3 , 0.5 ]])
    """
    ordered = -np.sort(-shares, axis=1)
    over = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, shares.shape[1] + 1)
    n_kept = (ordered > over).sum(axis=1)
    return np.maximum(shares - over[np.arange(len(over)), n_kept - 1, None], 0.0)
