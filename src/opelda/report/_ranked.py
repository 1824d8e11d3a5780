"""Words of topics for a slider between frequent ones and unusual ones."""

import numpy as np
from numpy.typing import NDArray

from opelda.report._exported import SMALLEST, ExportedTopics

SHOWN = 30  # words of a topic that a page shows at a time
LAMBDAS = np.linspace(0.0, 1.0, 21)


def ranked_words(
    topics: ExportedTopics, n_topics: int, marginal: NDArray[np.float64]
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return for each topic the words that are among its best for some lambda, and p(w|t).

    The relevance lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)), see `rank_words`.
    """
    logs = np.log(np.maximum(marginal, SMALLEST))
    found = []
    for words, values in topics.by_topic(n_topics):
        chosen = np.zeros(len(words), np.bool_)
        for part in 1.0 - LAMBDAS:
            score = values - part * logs[words]
            n = min(SHOWN, len(words))
            if n:
                chosen[np.argpartition(-score, n - 1)[:n]] = True
        found.append((words[chosen], np.exp(values[chosen])))
    return found
