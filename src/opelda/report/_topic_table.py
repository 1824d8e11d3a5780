"""Topics as plain rows, as pyLDAvis takes them, and how those of a stream moved."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opelda._word_ranking import LAMBDA, Rank
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.metrics._ranking import rank_words, topic_weights
from opelda.metrics._top_words import label_topics
from opelda.metrics._topics import GivenTopics, MeasuredTopics, chosen_topics
from opelda.report._document_blocks import document_blocks, mixtures
from opelda.report.rows import Table, TopicMove, TopicRow


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
    Table of `opelda.report.rows.TopicRow`
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
    wanted = chosen_topics(only, len(weights), "only")
    best = rank_words(measured, n_words, by=by, weights=shares, lambda_=lambda_, X=X)
    words = label_topics(measured, feature_names=names, only=wanted)
    labels, stability = dict(zip(wanted, words, strict=True)), None
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


def to_pyldavis(model: Any, corpus: Any) -> dict[str, Any]:
    """Return the arguments of ``pyLDAvis.prepare``: ``prepare(**to_pyldavis(model, corpus))``.

    Topics keep the model's numbers. Documents without a word of the model, which pyLDAvis refuses,
    are left out. pyLDAvis 3.4 or newer takes the result; it need not be installed for this.

    Parameters
    ----------
    model, corpus
        As for `top_documents`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import to_pyldavis
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9
    >>> given = to_pyldavis(TopicModel(2, random_state=0).fit(texts), texts)
    >>> given["doc_topic_dists"].shape, given["sort_topics"], given["start_index"]
    ((18, 2), False, 0)
    """
    found = [(mixtures(model, block.X), block.tokens) for block in document_blocks(model, corpus)]
    measured = MeasuredTopics.of(model)
    theta, tokens = (np.concatenate(parts).astype(np.float64) for parts in zip(*found, strict=True))
    kept = tokens > 0
    if not kept.any():
        raise InputError("There is no document with a word of the model; give others.")
    theta, tokens = theta[kept], tokens[kept]
    topics = measured.weights.astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    topics /= topics.sum(axis=1, keepdims=True)
    return {
        "topic_term_dists": topics,
        "doc_topic_dists": theta,
        "doc_lengths": tokens,
        "vocab": [str(word) for word in measured.words()],
        # the tokens as the model explains them: no word has none, and lift stays finite
        "term_frequency": (tokens @ theta) @ topics,
        "sort_topics": False,
        "start_index": 0,
    }


def topic_moves(model: Any, since: float) -> tuple[int, list[TopicMove]]:
    """Return a point of a stream's history and how topics moved since, most first."""
    watch = model._state.watch
    if watch is None or not len(watch.points):
        raise InputError(
            "This model has no history: streams that are learned by sweeps have one, after some "
            "2,000 documents."
        )
    points, names = watch.points, model._words()
    first = points.before(since)
    tokens = watch.sums[1, 0]  # since the last point
    shares = tokens / tokens.sum() if tokens.any() else points.shares[-1]
    moves = []
    for topic, now in enumerate(model.top_words(points.words.shape[2], by="probability")):
        then = [str(names[j]) for j in points.words[first, topic].tolist() if j >= 0]
        moves.append(
            TopicMove(
                topic=topic,
                share_before=float(points.shares[first, topic]),
                share=float(shares[topic]),
                rho=float(points.rho[first:, topic].min()),
                words=now,
                came=[word for word in now if word not in then],
                went=[word for word in then if word not in now],
            )
        )
    moves.sort(key=lambda move: -abs(np.log((move.share + 1e-4) / (move.share_before + 1e-4))))
    return int(points.documents[first]), moves
