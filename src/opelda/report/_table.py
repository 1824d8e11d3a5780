"""Topics as plain rows, for tables, JSON and pages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from opelda._validation import whole
from opelda._word_ranking import LAMBDA, Rank
from opelda.learning._learner import Learner
from opelda.metrics._label_words import label_topics
from opelda.metrics._ranking import rank_words, topic_weights
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._rows import Table


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
        The model's, where it was given one (`set_topic_labels`); else a few words both frequent in
        it and rare elsewhere.
    words : tuple of str
        Those that stand for it, the best first.
    probabilities : tuple of float
        How probable each of them is in the topic.
    stability : float or None
        How far it comes again in other runs, where the model knows (`topic_stability_`).

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
    stability: float | None = None


def topic_table(
    topics: GivenTopics,
    n_words: int = 10,
    *,
    by: Rank = "relevance",
    lambda_: float = LAMBDA,
    only: Iterable[int] | None = None,
    feature_names: Sequence[str] | None = None,
    X: Any = None,
) -> Table[TopicRow]:
    """Return topics with their weights, labels and words, in their own order.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_words : int
        Words per topic.
    by : {"relevance", "probability", "tfidf", "frex", "coherence"}
        How the words are ranked; see `rank_words`.
    lambda_ : float
        For relevance.
    only : iterable of int, optional
        The numbers of the topics wanted, in the order wanted; None is all.
    feature_names : sequence of str, optional
        The words of the columns; by default those that the model knows, else x0, x1, ...
    X : array or sparse matrix (D, V), Corpus or texts
        The documents to look in, for ``by="coherence"``.

    Returns
    -------
    Table of TopicRow
        A sequence of rows; `to_polars()` and `to_pandas()` make data frames of it.

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
    measured = MeasuredTopics.of(topics)
    weights, names, shares = measured.weights, measured.words(feature_names), topic_weights(topics)
    numbers = range(len(weights)) if only is None else only
    wanted = [whole("only", number, 0, len(weights) - 1) for number in numbers]
    best = rank_words(measured, n_words, by=by, weights=shares, lambda_=lambda_, X=X)
    labels = dict(
        zip(wanted, label_topics(measured, feature_names=names, only=wanted), strict=True)
    )
    stability = None
    if isinstance(topics, Learner):
        labels |= topics._given_labels()
        stability = topics.topic_stability_
    rows = (
        TopicRow(
            topic=number,
            weight=None if shares is None else float(shares[number]),
            label=labels[number],
            words=tuple(str(names[j]) for j in best[number]),
            probabilities=tuple(float(p) for p in weights[number, best[number]]),
            stability=None if stability is None else float(stability[number]),
        )
        for number in wanted
    )
    return Table(TopicRow, rows)
