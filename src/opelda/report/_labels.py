"""What to call a topic: a few words that are both frequent in it and rare elsewhere."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics._top_words import as_weights
from opelda.report._ranking import rank_words, sums_over_topics

# A label's words are taken from so many of a topic's most probable: others say little to a reader.
CANDIDATES = 20


def label_topics(topics: Topics | ArrayLike, words: Sequence[str], n: int = 3) -> list[str]:
    """Return a short name for each topic, such as "court, judge, trial".

    Of a topic's 20 most probable words those with the highest FREX scores (see `rank_words`); a
    word that only goes on from one already taken, or is the beginning of one, is passed over.

    Parameters
    ----------
    topics : array (K, V) or Topics
    words : sequence of str
        The words of the columns.
    n : int
        Words per label.

    Examples
    --------
    >>> from opelda.report import label_topics
    >>> topics = [[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.1, 0.5]]
    >>> label_topics(topics, ["people", "court", "courts", "law", "game"], n=2)
    ['court, people', 'game, people']
    """
    table = as_weights(topics)
    if len(words) != table.shape[1]:
        raise InputError(f"There are {len(words)} words for topics of {table.shape[1]} columns.")
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise InputError(f"n must be a whole number from 1 on, got {n!r}.")
    everywhere = sums_over_topics(table)
    labels = []
    for row, candidates in zip(table, rank_words(table, CANDIDATES), strict=True):
        topic = np.ascontiguousarray(row, np.float64)
        frequency = _ranks_of(topic, candidates)
        exclusivity = _ranks_of(topic / everywhere, candidates)
        scores = 2.0 / (1.0 / frequency + 1.0 / exclusivity)
        best = candidates[np.argsort(-scores, kind="stable")]  # of equals the more probable
        labels.append(", ".join(_apart((str(words[j]) for j in best), n)))
    return labels


def _ranks_of(values: NDArray[np.float64], some: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for some of the values the share of all that are no larger."""
    ranks = np.searchsorted(np.sort(values), values[some], side="right")
    return ranks / len(values)


def _apart(words: Iterable[str], n: int) -> list[str]:
    """Take the first few words of which none begins with another."""
    taken: list[str] = []
    for word in words:
        if not any(word.startswith(other) or other.startswith(word) for other in taken):
            taken.append(word)
        if len(taken) == n:
            break
    return taken
