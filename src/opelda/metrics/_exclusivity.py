"""Exclusivity: whether the top words of a topic are its own."""

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError
from opelda.metrics._top_words import top_words
from opelda.metrics._topics import GivenTopics, MeasuredTopics


def topic_exclusivity(topics: GivenTopics, n_words: int = 10) -> NDArray[np.float64]:
    """Return each topic's exclusivity: the mean over its top words of beta_kw / sum_k beta_kw.

    1 if no other topic has any of them, 1/K if all topics have them alike. A word that no topic has
    counts 1/K.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Weights of the words in each topic, none negative.
    n_words : int
        Words per topic: the heaviest, of equal ones those of lower id; all, if there are fewer.

    Returns
    -------
    float64 array (K,)

    Examples
    --------
    >>> topic_exclusivity([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], n_words=2)
    array([0.75, 0.75])
    """
    measured = MeasuredTopics.of(topics)
    weights = measured.weights
    if measured.are_ids or (weights < 0).any():
        raise InputError(
            "must hold the words' weights as floats, none negative; word ids do not say how much "
            "of a word a topic has.",
            "topics",
        )
    ids = top_words(measured, n_words)
    # by the largest first: the sum of huge weights has no place in a double
    largest = weights.max(axis=0).astype(np.float64)
    shares = weights / np.where(largest > 0, largest, 1.0)
    shares[:, largest == 0] = 1.0
    shares /= shares.sum(axis=0)
    means: NDArray[np.float64] = np.take_along_axis(shares, ids, axis=1).mean(axis=1)
    return means
