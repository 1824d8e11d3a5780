"""Top words of topics: diversity, exclusivity, labels."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda._word_ranking import heaviest, word_labels
from opelda.errors import InputError
from opelda.metrics._topics import GivenTopics, MeasuredTopics, chosen_topics


def top_words(topics: GivenTopics, n_words: int, least: int = 1) -> NDArray[np.intp]:
    """Return the ids of each topic's `heaviest` words; of ids already, the first `n_words`."""
    whole("n_words", n_words, least)
    measured = MeasuredTopics.of(topics)
    n = min(n_words, measured.n_words)
    if n < least:
        raise InputError(f"must have at least {least} words each, got {n}.", "topics")
    if measured.are_ids:
        ids = measured.weights[:, :n].astype(np.intp)
        ordered = np.sort(ids, axis=1)
        bad = np.flatnonzero((ordered[:, 0] < 0) | (np.diff(ordered, axis=1) == 0).any(axis=1))
        if len(bad):
            raise InputError(
                "as whole numbers must be distinct word ids, but "
                f"row {bad[0]} is {ids[bad[0]].tolist()}; give weights as floats.",
                "topics",
            )
        return ids
    return heaviest(measured.weights, n)


def topic_diversity(topics: GivenTopics, n_words: int = 25) -> float:
    """Return the share of distinct words among the top words of all topics, from 1/K to 1.

    Parameters
    ----------
    topics, n_words
        As for `coherence`.

    Examples
    --------
    >>> topic_diversity([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]], n_words=2)
    0.75
    """
    ids = top_words(topics, n_words)
    return len(np.unique(ids)) / ids.size


def topic_exclusivity(topics: GivenTopics, n_words: int = 10) -> NDArray[np.float64]:
    """Return each topic's exclusivity: the mean over its top words of beta_kw / sum_k beta_kw.

    1 if no other topic has its words, 1/K if all topics have them alike; a word without weight
    counts 1/K.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Weights of the words in each topic, not negative.
    n_words : int
        As for `coherence`.

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
    # by the largest first: the sum of huge weights may exceed a double
    largest = weights.max(axis=0).astype(np.float64)
    shares = weights / np.where(largest > 0, largest, 1.0)
    shares[:, largest == 0] = 1.0
    shares /= shares.sum(axis=0)
    means: NDArray[np.float64] = np.take_along_axis(shares, ids, axis=1).mean(axis=1)
    return means


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
) -> list[str]:
    """Return a short name for each topic; see `opelda.report.label_topics`."""
    whole("n_words", n_words)
    measured = MeasuredTopics.of(topics)
    table, words = measured.weights, measured.words(feature_names)
    wanted = chosen_topics(only, len(table), "only")
    labels = word_labels(table.astype(np.float64) if measured.are_ids else table, words, n_words)
    return [labels[number] for number in wanted]


def labels_of(topics: GivenTopics, feature_names: Sequence[str] | None = None) -> list[str]:
    """Return the model's labels; labels of words without them or with `feature_names`."""
    labels = getattr(topics, "topic_labels_", None)
    if labels is None or feature_names is not None:
        return label_topics(topics, feature_names=feature_names)
    return list(labels)
