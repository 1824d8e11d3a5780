"""Topics that are nearly the same."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from opelda._validation import number
from opelda._word_ranking import hellinger
from opelda.metrics._label_words import label_topics
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._rows import Table

# Merging pairs above it lost less than 0.02 nats a token of theirs on three collections; a fourth
# had none (benchmarks/tidying.py).
NEARLY_THE_SAME = 0.9


@dataclass(frozen=True)
class SimilarRow:
    """Two topics that are nearly the same.

    Attributes
    ----------
    topic, other : int
        Their numbers.
    similarity : float
        From 0, no word in common, to 1, the same.
    label, other_label : str
        What they are called.

    Examples
    --------
    >>> from opelda.report import SimilarRow
    >>> SimilarRow(3, 17, 0.95, "court, judge", "judge, court").other
    17
    """

    topic: int
    other: int
    similarity: float
    label: str
    other_label: str


def similar_topics(
    topics: GivenTopics,
    threshold: float = NEARLY_THE_SAME,
    *,
    feature_names: Sequence[str] | None = None,
) -> Table[SimilarRow]:
    """Return the pairs of topics that are nearly the same, the most similar first.

    The similarity of two topics is the sum over words of sqrt(beta_aw beta_bw) (Bhattacharyya's
    coefficient, 1 less the square of Hellinger's distance). ``model.merge_topics`` makes one of
    them.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    threshold : float
        The least similarity. Of topics as ``TopicModel()`` learns them hardly any pair has .7.
    feature_names : sequence of str, optional
        The words of the columns; by default those that the model knows, else x0, x1, ...

    Returns
    -------
    Table of SimilarRow

    Examples
    --------
    >>> from opelda.report import similar_topics
    >>> topics = [[0.5, 0.5, 0, 0], [0, 0, 0.7, 0.3], [0.4, 0.6, 0, 0]]
    >>> [(row.topic, row.other, round(row.similarity, 3)) for row in similar_topics(topics)]
    [(0, 2, 0.995)]
    """
    least = number("threshold", threshold, 0.0, 1.0)
    measured = MeasuredTopics.of(topics)
    alike = 1.0 - hellinger(measured.weights) ** 2
    first, second = np.nonzero(np.triu(alike >= least, 1))
    order = np.argsort(-alike[first, second], kind="stable")
    labels = getattr(topics, "topic_labels_", None)
    if labels is None or feature_names is not None:
        labels = label_topics(measured, feature_names=feature_names)
    rows = (
        SimilarRow(a, b, float(alike[a, b]), labels[a], labels[b])
        for a, b in zip(first[order].tolist(), second[order].tolist(), strict=True)
    )
    return Table(SimilarRow, rows)


def groups_of(pairs: Sequence[SimilarRow]) -> list[list[int]]:
    """Return groups of topics that are nearly the same, over others too, as `merge_topics` takes.

    >>> groups_of([SimilarRow(1, 4, 0.9, "", ""), SimilarRow(4, 7, 0.9, "", "")])
    [[1, 4, 7]]
    """
    n_topics = max((row.other for row in pairs), default=-1) + 1
    graph = np.zeros((n_topics, n_topics))
    for row in pairs:
        graph[row.topic, row.other] = 1.0
    _, group = connected_components(graph, directed=False)
    found = (np.flatnonzero(group == each).tolist() for each in np.unique(group))
    return [members for members in found if len(members) > 1]
