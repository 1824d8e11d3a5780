"""The best words of a model's topics, without all of its topics in memory."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._word_ranking import Rank, best_words, heaviest, word_factors
from opelda.metrics._ranking import topic_weights

WEIGHTS_AT_ONCE = 2**24  # that are ranked


def heaviest_words(model: Any, n: int, by: Rank = "probability") -> NDArray[np.intp]:
    """Return the ids of each topic's n best words, a part of the words at a time."""
    state, shares = model._state, topic_weights(model)
    n_words, n_topics = state.weights.n_words, state.weights.n_topics
    if shares is None:
        shares = np.full(n_topics, 1.0 / n_topics)
    weights, ids = [], []
    size = max(1, WEIGHTS_AT_ONCE // n_topics)
    for first in range(0, n_words, size):
        words = np.arange(first, min(first + size, n_words), dtype=np.int32)
        topics = model._read(state, words)
        if by == "probability":
            best = heaviest(topics, min(n, len(words)))
            weights.append(np.take_along_axis(topics, best, axis=1))
        else:
            factors = word_factors(topics, by, shares)
            best, scores = best_words(topics, min(n, len(words)), factors)
            weights.append(scores)
        ids.append(best + first)
    best = heaviest(np.concatenate(weights, axis=1), n)
    return np.take_along_axis(np.concatenate(ids, axis=1), best, axis=1)
