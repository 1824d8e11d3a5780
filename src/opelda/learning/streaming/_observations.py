"""New documents of a stream with the topics drawn for them, as watching sees them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Vocabulary
from opelda.engines import Engine
from opelda.engines.seam import TokenCounts, Weights
from opelda.learning.streaming._window import Assignments

SCORED_TOKENS = 500  # of a mini-batch, at most, but for its first document
WORDS_OF_EVENT = 10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Drawn:
    """Documents, the topics drawn for their tokens, and the topics they were drawn by.

    The weights must not have learned from these documents yet while anything is asked here.
    """

    engine: Engine
    weights: Weights
    kept: Assignments
    counts: TokenCounts
    alpha: Array
    vocabulary: Vocabulary | None

    @cached_property
    def cells(self) -> tuple[NDArray[np.intp], NDArray[np.int32], Array]:
        """Words, topics and weights of the counts."""
        indptr, topics, data = self.counts.arrays
        words = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        return words, topics, np.ldexp(data.astype(np.float64), -self.counts.shift)

    @cached_property
    def logs(self) -> Array:
        """Log probabilities of the cells' words by their topics."""
        return log_probabilities(self.weights, *self.cells[:2])

    def score(self, n_words: int) -> tuple[float, float]:
        """Return the sum of the log probabilities of some tokens, and how many they are.

        Each by the topics of the other tokens of its document; of the first `n_words` words alone.
        """
        kept, alpha = self.kept, self.alpha
        lengths = np.diff(kept.ends)
        n_tokens = int(lengths.sum())
        docs = np.arange(0, len(lengths), max(-(-n_tokens // SCORED_TOKENS), 1))
        each = np.repeat(np.arange(len(docs)), lengths[docs])
        at = kept.token_numbers(docs)
        topics, n_topics = kept.topics[at].astype(np.intp), len(alpha)
        ids = kept.token_words[at]
        mixtures = np.bincount(each * n_topics + topics, minlength=len(docs) * n_topics)
        known = ids < n_words
        each, topics, ids = each[known], topics[known], ids[known]
        if not len(ids):
            return 0.0, 0.0
        words, slots = np.unique(ids, return_inverse=True)
        beta = np.ascontiguousarray(self.engine.read(self.weights, words.astype(np.int32)).T)
        theta = mixtures.reshape(-1, n_topics).astype(beta.dtype) + alpha.astype(beta.dtype)
        found = np.einsum("ik,ik->i", theta[each], beta[slots]) - beta[slots, topics]
        found /= lengths[docs][each] - 1 + alpha.sum()
        return float(np.log(np.maximum(found, 1e-30), dtype=np.float64).sum()), float(len(ids))

    def tops(self, former: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the likeliest words of each topic among the cells' and its former ones."""
        n_topics, n = former.shape
        old_topics, old = np.nonzero(former >= 0)
        words: NDArray[np.int64] = np.concatenate((self.cells[0], former[old_topics, old]))
        topics: NDArray[np.int64] = np.concatenate((self.cells[1], old_topics))
        n_words = self.weights.n_words
        pairs: NDArray[np.int64] = np.unique(topics * n_words + words)
        topics, words = np.divmod(pairs, n_words)
        order = np.lexsort((words, -log_probabilities(self.weights, words, topics), topics))
        topics, words = topics[order], words[order]
        rank = np.arange(len(topics)) - np.searchsorted(topics, topics)
        found, best = np.full((n_topics, n), -1, np.int32), rank < n
        found[topics[best], rank[best]] = words[best]
        return found

    def unexpected(self, topic: int) -> tuple[str, ...]:
        """Return the words of which a topic has the most tokens more than it expects."""
        words, topics, weights = self.cells
        here = topics == topic
        words, weights = words[here], weights[here]
        by = weights * (np.log(weights / weights.sum()) - self.logs[here])
        return self.names(words[np.lexsort((words, -by))][:WORDS_OF_EVENT])

    def topic_of(self, word: int) -> int | None:
        """Return the topic with most of a word's tokens."""
        words, topics, weights = self.cells
        here = words == word
        return int(topics[here][weights[here].argmax()]) if here.any() else None

    def names(self, words: NDArray[np.integer]) -> tuple[str, ...]:
        """Return columns as words."""
        return names_of(words, self.vocabulary)


def names_of(words: NDArray[np.integer], vocabulary: Vocabulary | None) -> tuple[str, ...]:
    """Return columns as words, without those below 0."""
    named = None if vocabulary is None else vocabulary.words
    return tuple(f"x{j}" if named is None else named[j] for j in words.tolist() if j >= 0)


def log_probabilities(
    weights: Weights, words: NDArray[np.integer], topics: NDArray[np.integer]
) -> Array:
    """Return those of words by topics, pair by pair."""
    host, totals = weights.host(), weights.totals
    prior = host.prior
    if isinstance(prior, np.ndarray):
        prior = prior[words] if prior.ndim == 1 else prior[words, topics]
    cells = weights.scale * host.rows[words, topics].astype(np.float64)
    found: Array = np.log(np.maximum(cells + weights.prior_weight * prior, 1e-30))
    found -= np.log(totals)[topics]
    return found
