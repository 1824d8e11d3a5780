"""Short names of topics, made of their words."""

from collections.abc import Iterable, Sequence

import numpy as np

from opelda._validation import whole
from opelda._word_ranking import word_labels
from opelda.metrics._topics import GivenTopics, MeasuredTopics


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
) -> list[str]:
    """Return a short name for each topic, made of its words; see `opelda.report.label_topics`."""
    whole("n_words", n_words)
    measured = MeasuredTopics.of(topics)
    table, words = measured.weights, measured.words(feature_names)
    numbers = range(len(table)) if only is None else only
    wanted = [whole("only", number, 0, len(table) - 1) for number in numbers]
    if measured.are_ids:  # here whole numbers are weights
        table = table.astype(np.float64)
    labels = word_labels(table, words, n_words)
    return [labels[number] for number in wanted]
