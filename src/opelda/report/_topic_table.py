"""Topics as rows, their names, the arguments of pyLDAvis, and the moves of a stream's topics."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from opelda._validation import number as checked
from opelda._validation import whole
from opelda._word_ranking import LAMBDA, Rank, distinct, heaviest
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.learning._uncertainty import topic_limits
from opelda.metrics import _top_words
from opelda.metrics._mixture_measures import mixtures
from opelda.metrics._top_words import rank_words, topic_weights
from opelda.metrics._topics import GivenTopics, MeasuredTopics, chosen_topics
from opelda.report._document_blocks import called, document_blocks
from opelda.report._retrieval import top_documents
from opelda.report.rows import DocumentRow, GroupWordsRow, Table, TopicMove, TopicRow

N_WORDS = 15  # in a request for a label


def topic_table(
    topics: GivenTopics,
    n_words: int = 10,
    *,
    by: Rank = "relevance",
    lambda_: float = LAMBDA,
    only: Iterable[int] | None = None,
    feature_names: Sequence[str] | None = None,
    X: Any = None,
    level: float | None = None,
) -> Table[TopicRow]:
    """Return topics with their weights, labels and words.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
    n_words : int
        Words per topic.
    by, lambda_
        The ranking of words, and a parameter of relevance, as for `rank_words`.
    only : iterable of int, optional
        The numbers of the topics, in the order wanted; None is all.
    feature_names : sequence of str, optional
        The words of the columns; by default the model's words, else x0, x1, ...
    X : array or sparse matrix (D, V), Corpus or texts
        Documents for ``by="coherence"``.
    level : float, optional
        The level of credible intervals of weights and probabilities, such as 0.95, for models with
        sweeps (docs/howto/stable-topics.md); None: no intervals.

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import generate
    >>> model = OnlineOPE(3, random_state=0).fit(generate(200, n_words=50, n_topics=3).X)
    >>> rows = topic_table(model, n_words=4)
    >>> [row.topic for row in rows], [len(row.words) for row in rows]
    ([0, 1, 2], [4, 4, 4])
    """
    measured = MeasuredTopics.of(topics)
    weights, names, shares = measured.weights, measured.words(feature_names), topic_weights(topics)
    wanted = chosen_topics(only, len(weights), "only")
    best = rank_words(measured, n_words, by=by, weights=shares, lambda_=lambda_, X=X)
    words = _top_words.label_topics(measured, feature_names=feature_names, only=wanted)
    labels, stability = dict(zip(wanted, words, strict=True)), None
    if isinstance(topics, Learner):
        labels |= topics._given_labels()
        stability = topics.topic_stability_
    rows = [
        TopicRow(
            topic=number,
            weight=None if shares is None else float(shares[number]),
            label=labels[number],
            words=tuple(str(names[j]) for j in best[number]),
            probabilities=tuple(float(p) for p in weights[number, best[number]]),
            stability=None if stability is None else float(stability[number]),
        )
        for number in wanted
    ]
    if level is not None:
        rows = [_with_limits(row, topics, checked("level", level, 0.0, 0.9999)) for row in rows]
    return Table(TopicRow, rows)


def _with_limits(row: TopicRow, model: Any, level: float) -> TopicRow:
    """Return a row with the intervals of its weight and of its words' probabilities."""
    ends = topic_limits(model, row.topic, row.probabilities, row.weight, level)
    (*lows, low), (*highs, high) = (each.tolist() for each in ends)
    return replace(row, low=low, high=high, lows=tuple(lows), highs=tuple(highs))


class TopicToLabel(NamedTuple):
    """A request for a topic's label.

    >>> print(TopicToLabel(3, ("court", "judge"), ("On juries",), ("police",)).prompt)
    Name the topic that these words and documents have in common, in two to four words.
    Answer with the name only, and do not repeat a name in use.
    Words: court, judge
    Documents:
    - On juries
    In use: police
    """

    topic: int
    words: tuple[str, ...]  # the best first
    documents: tuple[str, ...]  # names or beginnings of typical ones, if a corpus is given
    taken: tuple[str, ...]  # labels of other topics

    @property
    def prompt(self) -> str:
        """The request in English, for any language model."""
        lines = [
            "Name the topic that these words and documents have in common, in two to four words.",
            "Answer with the name only, and do not repeat a name in use.",
            f"Words: {', '.join(self.words)}",
        ]
        if self.documents:
            lines += ["Documents:", *(f"- {document}" for document in self.documents)]
        if self.taken:
            lines.append(f"In use: {'; '.join(self.taken)}")
        return "\n".join(lines)


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
    with_: Callable[[TopicToLabel], str] | None = None,
    corpus: Any = None,
) -> list[str]:
    """Return a short name for each topic, such as "court, judge, trial".

    A label has the words with the highest FREX scores (see `rank_words`) of the topic's 20 most
    probable ones, without stop words and words of one stem. Words that the texts have side by side
    are joined to phrases, such as "interest rate". Equal labels get more words, or the topic's
    number. Labels given by ``model.set_topic_labels`` are in ``model.topic_labels_``.

    Parameters
    ----------
    topics, feature_names, only
        As for `topic_table`.
    n_words : int
        Words or phrases per label.
    with_ : callable, optional
        Returns a label for an object with the topic's number `topic`, `words`, `documents`, the
        labels `taken` and a `prompt` for a language model. Topics are processed by decreasing
        weight, with up to three calls for a unique label.
    corpus : Corpus, counts or documents, optional
        As for `transform`: the source of typical documents for ``with_``.

    Examples
    --------
    >>> topics = [[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.1, 0.5]]
    >>> words = ["people", "court", "courts", "law", "game"]
    >>> label_topics(topics, n_words=2, feature_names=words)
    ['court, people', 'game, people']
    >>> label_topics(topics, feature_names=words, with_=lambda topic: topic.words[0].upper())
    ['COURT', 'GAME']
    """
    if with_ is None:
        if corpus is not None:
            raise InputError("has no effect without with_; remove this parameter.", "corpus")
        return _top_words.label_topics(topics, n_words, feature_names=feature_names, only=only)
    if not callable(with_):
        raise InputError(f"must be callable, got {with_!r:.60}.", "with_")
    table = topic_table(topics, N_WORDS, feature_names=feature_names)
    wanted = chosen_topics(only, len(table), "only")
    documents: Iterable[DocumentRow] = ()
    if corpus is not None:
        documents = top_documents(topics, corpus, 4, topics=dict.fromkeys(wanted))
    labels = labels_by(with_, [table[number] for number in dict.fromkeys(wanted)], documents)
    return [labels[number] for number in wanted]


def labels_by(
    with_: Callable[[TopicToLabel], str],
    rows: Iterable[TopicRow],
    documents: Iterable[DocumentRow] = (),
) -> dict[int, str]:
    """Return the labels of a callable by topic."""
    typical: dict[int, list[str]] = {}
    for found in documents:
        text = found.text or called(found.name, found.document, None)
        typical.setdefault(found.topic, []).append(text)
    labels: dict[int, str] = {}
    for row in sorted(rows, key=lambda row: -(row.weight or 0.0)):
        shown = tuple(typical.get(row.topic, ()))
        asked, label = TopicToLabel(row.topic, row.words, shown, tuple(labels.values())), ""
        for _ in range(3):
            answer = with_(asked)
            if not isinstance(answer, str) or not answer.strip():
                raise InputError(
                    f"must return a name for each topic, but for topic {row.topic} returned "
                    f"{answer!r:.60}.",
                    "with_",
                )
            # models like to quote, to end with a full stop, and to explain
            label = " ".join(answer.strip().splitlines()[0].split())
            label = label.strip("\"'`*. \u201c\u201d\u2018\u2019")[:80]
            if label and label not in asked.taken:
                break
        labels[row.topic] = label or ", ".join(row.words[:3])
    return dict(zip(labels, distinct(list(labels.values())), strict=True))


def to_pyldavis(model: Any, corpus: Any) -> dict[str, Any]:
    """Return the arguments of ``pyLDAvis.prepare``: ``prepare(**to_pyldavis(model, corpus))``.

    Takes the model and the corpus of `top_documents`. Topics keep the model's numbers; documents
    without a known word are excluded. pyLDAvis must be 3.4 or newer.

    Examples
    --------
    >>> from opelda import TopicModel
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
        raise InputError("No document has a word of the model's vocabulary; pass other documents.")
    theta, tokens = theta[kept], tokens[kept]
    topics = measured.weights.astype(np.float64)
    theta /= theta.sum(axis=1, keepdims=True)
    topics /= topics.sum(axis=1, keepdims=True)
    return {
        "topic_term_dists": topics,
        "doc_topic_dists": theta,
        "doc_lengths": tokens,
        "vocab": [str(word) for word in measured.words()],
        # the tokens expected by the model, so that no word has 0 and lift stays finite
        "term_frequency": (tokens @ theta) @ topics,
        "sort_topics": False,
        "start_index": 0,
    }


def words_by_group(
    model: Any, n_words: int = 5, *, only: Iterable[int] | None = None
) -> Table[GroupWordsRow]:
    """Return the words that distinguish groups within topics, of a model fitted with `content`.

    Words are ranked by p log(p / p_common), their part of the divergence from the common topic.

    Parameters
    ----------
    model : learner
    n_words : int
        Words per topic and group; fewer if fewer deviate.
    only : iterable of int, optional
        The numbers of the topics, in the order wanted; None is all.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["the tax bill saves jobs"] * 20 + ["the tax bill hurts families"] * 20
    >>> model = TopicModel(1, random_state=0)
    >>> model = model.fit(texts, content="party", data={"party": ["r"] * 20 + ["d"] * 20})
    >>> [(row.group, sorted(row.words)) for row in words_by_group(model)]
    [('d', ['families', 'hurts']), ('r', ['jobs', 'saves'])]
    """
    content = model._learned().content
    if content is None:
        raise InputError("has no words by group; fit it with content.", "model")
    common, names, labels = model.components_, model._words(), _top_words.labels_of(model)
    n_words, rows = whole("n_words", n_words), []
    own = [content.topics(group, common).components for group in range(len(content.groups))]
    for topic in chosen_topics(only, len(common), "only"):
        for group, table in zip(content.groups, own, strict=True):
            ratios = table[topic].astype(np.float64) / common[topic]
            score = table[topic] * np.log(ratios)
            best = [j for j in heaviest(score[np.newaxis], min(n_words, len(score)))[0]]
            # (a topic whose other words are rarer has all words a little more often)
            best = [j for j in best if ratios[j] > 1.1]
            words, times = tuple(str(names[j]) for j in best), tuple(map(float, ratios[best]))
            rows.append(GroupWordsRow(topic, labels[topic], group, words, times))
    return Table(GroupWordsRow, rows)


def topic_moves(model: Any, since: float) -> tuple[int, list[TopicMove]]:
    """Return a document in a stream's history, and the topics by their change since."""
    watch = model._state.watch
    if watch is None or not len(watch.points):
        raise InputError(
            "This model has no history; only streams learned by sweeps have a history, after "
            "about 2,000 documents."
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
                topic,
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
