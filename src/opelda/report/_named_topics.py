"""Names of topics: made of their words, or by a callable such as one that asks a language model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from opelda._word_ranking import distinct
from opelda.errors import InputError
from opelda.metrics import _top_words
from opelda.metrics._topics import GivenTopics, chosen_topics
from opelda.report._document_blocks import called
from opelda.report._topic_table import topic_table
from opelda.report._typical_documents import top_documents
from opelda.report.rows import DocumentRow, TopicRow

N_WORDS = 15  # to name a topic by
QUOTES = "\"'`*. \u201c\u201d\u2018\u2019"


@dataclass(frozen=True)
class TopicToLabel:
    """A topic to be named.

    >>> print(TopicToLabel(3, ("court", "judge"), ("On juries",), ("police",)).prompt)
    Name the topic that these words and documents have in common, in two to four words.
    Answer with the name alone, and with none of the names that are taken.
    Words: court, judge
    Documents:
    - On juries
    Taken: police
    """

    topic: int
    words: tuple[str, ...]  # those that stand for it, the best first
    documents: tuple[str, ...]  # names or beginnings of typical ones, where a corpus was given
    taken: tuple[str, ...]  # labels of other topics, which this one should not have

    @property
    def prompt(self) -> str:
        """A request for a label, in English, for any language model."""
        lines = [
            "Name the topic that these words and documents have in common, in two to four words.",
            "Answer with the name alone, and with none of the names that are taken.",
            f"Words: {', '.join(self.words)}",
        ]
        if self.documents:
            lines += ["Documents:", *(f"- {document}" for document in self.documents)]
        if self.taken:
            lines.append(f"Taken: {'; '.join(self.taken)}")
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

    Of a topic's 20 most probable words those with the highest FREX scores (see `rank_words`); a
    word that only goes on from one already taken, or is the beginning of one, is passed over.
    Topics that would be called the same have more words, or their number. What people have named
    topics is in `topic_labels_` of a model, and changed by ``model.set_topic_labels(labels)``.

    Parameters
    ----------
    topics, feature_names, only
        As for `topic_table`.
    n_words : int
        Words per label.
    with_ : callable, optional
        Names a topic in the place of its words: called with an object that has its number `topic`,
        `words`, `documents`, the labels `taken` and a `prompt` for a language model, it returns a
        text. The heaviest topics are named first; a name that another topic has is asked for anew,
        twice.
    corpus : Corpus, counts or documents, optional
        As for `transform`: where its typical documents are looked for, for ``with_``.

    Examples
    --------
    >>> from opelda.report import label_topics
    >>> topics = [[0.4, 0.3, 0.2, 0.1, 0.0], [0.4, 0.0, 0.0, 0.1, 0.5]]
    >>> words = ["people", "court", "courts", "law", "game"]
    >>> label_topics(topics, n_words=2, feature_names=words)
    ['court, people', 'game, people']
    >>> label_topics(topics, feature_names=words, with_=lambda topic: topic.words[0].upper())
    ['COURT', 'GAME']
    """
    if with_ is None:
        if corpus is not None:
            raise InputError("has no effect without with_; leave it out.", "corpus")
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
    """Return labels that a callable gives topics, the heaviest first, by their numbers."""
    typical: dict[int, list[str]] = {}
    for row in documents:
        typical.setdefault(row.topic, []).append(row.text or called(row.name, row.document, None))
    labels: dict[int, str] = {}
    for topic in sorted(rows, key=lambda row: -(row.weight or 0.0)):
        shown = tuple(typical.get(topic.topic, ()))
        asked = TopicToLabel(topic.topic, topic.words, shown, tuple(labels.values()))
        labels[topic.topic] = _asked(with_, asked)
    return dict(zip(labels, distinct(list(labels.values())), strict=True))


def _asked(with_: Callable[[TopicToLabel], str], topic: TopicToLabel) -> str:
    """Ask for a label until it is one that no other topic has."""
    label = ""
    for _ in range(3):
        answer = with_(topic)
        if not isinstance(answer, str) or not answer.strip():
            raise InputError(
                f"must return a name for each topic, but for topic {topic.topic} returned "
                f"{answer!r:.60}.",
                "with_",
            )
        # models like to quote, to end with a full stop, and to explain
        label = " ".join(answer.strip().splitlines()[0].split()).strip(QUOTES)[:80]
        if label and label not in topic.taken:
            break
    return label or ", ".join(topic.words[:3])
