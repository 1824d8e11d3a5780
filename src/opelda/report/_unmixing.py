"""Documents' shares of topics without bias, for means and regressions over many documents.

A mixture that is inferred of few words is drawn to the prior, or to the topics that most words
could be of, and so are the means of such mixtures: differences between groups come out too small,
whatever interval is put around them. With m the topics' weights and p(w) = sum_k m_k beta_kw,

    theta~_d = (B D B')^-1 B D w_d / |w_d|,   B = beta (K, V),   D = diag(1 / p(w)),

is linear in the document's counts w_d, and E[w_d] / |w_d| = B' theta_d: its expectation is theta_d
itself, however short the document. It is each word's p(k | w), summed over the document and
corrected for how often a word of one topic passes for another's; its entries sum to 1 and some may
be negative. Of one document it says little; means of it say what they seem to say.

Where a group uses a topic's words unlike the collection does, D weighs the group's own words too
much. The likeliest mixture of the group's words weighs them by the group's own p(w) and errs less
(docs/covariates.md): it is a group's corrected share.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.inference import EM, infer
from opelda.metrics._ranking import shares_or_even
from opelda.metrics._topics import MeasuredTopics

# The least eigenvalue of B D B' (scaled: the largest is 1) that is inverted. Below it, topics are
# the same for all that words can say, and share what is theirs.
SMALLEST = 1e-3
# Steps of EM to a group's mixture: on 40 groups of Reuters no share is then off by more than .0012.
N_ITER = 100
INTERVALS_NOTE = (
    "Intervals take topics as known: they are too narrow where topics were learned from these "
    "documents, and for groups of 10 or fewer."
)


class Unmixing:
    """A model's topics, made ready to read shares off counts."""

    def __init__(self, model: Any) -> None:
        self.topics: NDArray[Any] = MeasuredTopics.of(model).weights
        n_topics = len(self.topics)
        # topics of no weight are looked for, too
        weights = shares_or_even(model, n_topics) + 0.01 / n_topics
        weights /= weights.sum()
        self.marginal: NDArray[np.float64] = weights @ self.topics.astype(np.float64)
        self._known = self.marginal > 0  # words that some topic has
        inverse = np.divide(1.0, self.marginal, where=self._known, out=np.zeros_like(self.marginal))
        root = np.sqrt(weights)
        scaled = root[:, np.newaxis] * self.topics
        values, vectors = np.linalg.eigh((scaled * inverse) @ scaled.T)
        kept = values > SMALLEST * values[-1]
        solved = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        self._of_words = (scaled * inverse).T @ (solved * root)  # (V, K)

    def frequencies(self, X: Any) -> tuple[sparse.csr_array, NDArray[np.bool_]]:
        """Return the documents' words as parts of each, and whether it has any that says much."""
        tokens = X @ self._known.astype(np.float64)
        return sparse.diags_array(1.0 / np.maximum(tokens, 1e-300)) @ X, tokens > 0

    def shares(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return the documents' shares, and whether each has a word that says anything."""
        found, known = self.frequencies(X)
        return found @ self._of_words, known

    def likeliest(self, frequencies: Any) -> NDArray[np.float64]:
        """Return the mixtures that make words of these frequencies most probable."""
        method = EM(n_iter=N_ITER, n_kept=len(self.topics))
        words = sparse.csr_array(frequencies) * 1e6
        found = infer(words, self.topics, doc_topic_prior=1e-3, method=method)
        mixtures: NDArray[np.float64] = found.theta.astype(np.float64)
        mixtures /= mixtures.sum(axis=1, keepdims=True)
        return mixtures


def on_simplex(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest mixtures to rows that sum to 1.

    >>> on_simplex(np.array([[0.7, 0.4, -0.1], [0.2, 0.3, 0.5]])).round(3)
    array([[0.65, 0.35, 0.  ],
           [0.2 , 0.3 , 0.5 ]])
    """
    ordered = -np.sort(-shares, axis=1)
    over = (np.cumsum(ordered, axis=1) - 1.0) / np.arange(1, shares.shape[1] + 1)
    n_kept = (ordered > over).sum(axis=1)
    found: NDArray[np.float64] = np.maximum(
        shares - over[np.arange(len(over)), n_kept - 1, None], 0.0
    )
    return found
