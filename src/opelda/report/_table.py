"""The topics of a model as plain rows, for tables, JSON and pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from opelda.errors import InputError
from opelda.report._labels import label_topics
from opelda.report._ranking import Rank, rank_words
from opelda.report._weights import topic_weights


@dataclass(frozen=True)
class TopicRow:
    """One topic as people see it.

    Attributes
    ----------
    topic : int
        Its number: the row of `components_`, the column of what `transform` returns.
    weight : float or None
        Its share of the tokens, where the model knows (see `topic_weights`).
    label : str
        A few words both frequent in it and rare elsewhere.
    words : tuple of str
        Those that stand for it, the best first.
    probabilities : tuple of float
        How probable each of them is in the topic.

    Examples
    --------
    >>> from opelda.report import TopicRow
    >>> TopicRow(0, 0.25, "court, judge", ("court", "judge"), (0.04, 0.03)).label
    'court, judge'
    """

    topic: int
    weight: float | None
    label: str
    words: tuple[str, ...]
    probabilities: tuple[float, ...]


def topic_table(
    model: Any,
    n_words: int = 10,
    *,
    by: Rank = "probability",
    lambda_: float = 0.6,
    topics: Iterable[int] | None = None,
) -> list[TopicRow]:
    """Return the topics of a model with their weights, labels and words, in their own order.

    Parameters
    ----------
    model : a fitted learner
    n_words : int
        Words per topic.
    by : {"probability", "relevance", "frex"}
        How the words are ranked; see `rank_words`.
    lambda_ : float
        For relevance.
    topics : iterable of int, optional
        The topics wanted; None is all.

    Returns
    -------
    list of TopicRow

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import generate
    >>> from opelda.report import topic_table
    >>> model = OnlineOPE(3, random_state=0).fit(generate(200, n_words=50, n_topics=3).X)
    >>> rows = topic_table(model, n_words=4)
    >>> [row.topic for row in rows], [len(row.words) for row in rows]
    ([0, 1, 2], [4, 4, 4])
    """
    check_is_fitted(model)
    components, names, shares = model.components_, model._words(), topic_weights(model)
    wanted = list(range(len(components))) if topics is None else list(topics)
    for number in wanted:
        if not isinstance(number, int | np.integer) or not 0 <= number < len(components):
            raise InputError(
                f"There is no topic {number!r}: the model's are 0 to {len(components) - 1}."
            )
    ranked = rank_words(components, n_words, by=by, weights=shares, lambda_=lambda_)
    labels = label_topics(components, names)
    return [
        TopicRow(
            topic=int(number),
            weight=None if shares is None else float(shares[number]),
            label=labels[number],
            words=tuple(str(names[j]) for j in ranked[number]),
            probabilities=tuple(float(p) for p in components[number, ranked[number]]),
        )
        for number in wanted
    ]
