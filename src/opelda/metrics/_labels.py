"""Short names of topics, made of their words."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.metrics._top_words import heaviest
from opelda.metrics._topics import GivenTopics, MeasuredTopics

SMALLEST = 1e-30  # a sum below this counts as this: it can be divided by
CANDIDATES = 20  # a label's words are among so many of the most probable: others say little


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
) -> list[str]:
    """Return a short name for each topic, such as "court, judge, trial".

    Of a topic's 20 most probable words those with the highest FREX scores (see `rank_words`); a
    word that only goes on from one already taken, or is the beginning of one, is passed over. What
    people have named topics is in `topic_labels_` of a model.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_words : int
        Words per label.
    feature_names : sequence of str, optional
        The words of the columns; by default those that the model knows, else x0, x1, ...
    only : iterable of int, optional
        The numbers of the topics wanted, in the order wanted; None is all.

    Examples
    --------
    >>> from opelda.report import label_topics
    >>> topics = [[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.1, 0.5]]
    >>> words = ["people", "court", "courts", "law", "game"]
    >>> label_topics(topics, n_words=2, feature_names=words)
    ['court, people', 'game, people']
    """
    whole("n_words", n_words)
    measured = MeasuredTopics.of(topics)
    table, words = measured.weights, measured.words(feature_names)
    everywhere = np.maximum(table.sum(axis=0, dtype=np.float64), SMALLEST)
    if only is not None:
        table = table[[whole("only", number, 0, len(table) - 1) for number in only]]
    if measured.are_ids:  # here whole numbers are weights
        table = table.astype(np.float64)
    labels = []
    best_words = heaviest(table, min(CANDIDATES, measured.n_words))
    for row, candidates in zip(table, best_words, strict=True):
        topic = np.ascontiguousarray(row, np.float64)
        frequency = _ranks_of(topic, candidates)
        exclusivity = _ranks_of(topic / everywhere, candidates)
        scores = 2.0 / (1.0 / frequency + 1.0 / exclusivity)
        best = candidates[np.argsort(-scores, kind="stable")]  # of equals the more probable
        labels.append(", ".join(_apart((str(words[j]) for j in best), n_words)))
    return labels


def _ranks_of(values: NDArray[np.float64], some: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for some of the values the share of all that are no larger."""
    # of a few this takes a fourth of the time of sorting all
    return np.array([np.count_nonzero(values <= value) for value in values[some]]) / len(values)


def _apart(words: Iterable[str], n: int) -> list[str]:
    """Take the first few words of which none begins with another."""
    taken: list[str] = []
    for word in words:
        if not any(word.startswith(other) or other.startswith(word) for other in taken):
            taken.append(word)
        if len(taken) == n:
            break
    return taken
