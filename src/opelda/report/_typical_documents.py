"""Typical documents: those that a topic is most of, and that are long enough to tell."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.corpus._duplicates import LEAST_WORDS, NEARLY_THE_SAME
from opelda.report._inferred import Inferred, infer_blocks, labels_of
from opelda.report._rows import Table

SHORT = 30  # tokens that make a document half as typical as a long one of the same mixture
TEXT_SHOWN, NAME_SHOWN = 200, 80  # letters
POOL = 3  # candidates for each document wanted, of which some are near copies of others


@dataclass(frozen=True)
class DocumentRow:
    """A document that is typical of a topic.

    Attributes
    ----------
    topic, label : int, str
        The topic and what it is called.
    rank : int
        1 is the most typical.
    weight : float
        The topic's share of the document.
    tokens : float
        The document's words that the model knows, each as often as it has them.
    document : int
        Its number in the collection, from 0 on.
    name : str or None
        What the source calls it, where known.
    text : str or None
        How it begins, where texts were given.

    Examples
    --------
    >>> from opelda.report import DocumentRow
    >>> DocumentRow(3, "tea, cup", 1, 0.9, 120.0, 17, "On tea", None).name
    'On tea'
    """

    topic: int
    label: str
    rank: int
    weight: float
    tokens: float
    document: int
    name: str | None
    text: str | None


def top_documents(
    model: Any, corpus: Any, n: int = 3, *, topics: Iterable[int] | None = None
) -> Table[DocumentRow]:
    """Return each topic's most typical documents, the best first.

    Documents are ranked by the topic's weight times tokens / (tokens + 30): of two with the same
    weight the longer one comes first, for a few words are soon all of one topic. Of equals the
    earlier one. A near copy of a better one, where either has 80% of the other's distinct words,
    comes last.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.
    n : int
        Documents per topic; fewer where fewer have words of the model.
    topics : iterable of int, optional
        The numbers of the topics wanted, in the order wanted; None is all.

    Returns
    -------
    Table of DocumentRow
        A sequence of rows; `to_polars()` and `to_pandas()` make data frames of it.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import top_documents
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats and bonds"]
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> sorted(row.document for row in top_documents(model, texts, n=1))
    [0, 9]
    """
    found = Typical(whole("n", n))
    for block in infer_blocks(model, corpus):
        found.add(block)
    return found.table(labels_of(model), topics)


class Typical:
    """The most typical documents of each topic, among those added so far."""

    def __init__(self, n: int) -> None:
        self._n, self._most = n, POOL * n
        # of each topic's documents, best first: their scores; what else is known is by document
        self._best: list[list[tuple[float, float, int]]] = []
        self._known: dict[int, tuple[float, str | None, str | None, NDArray[Any]]] = {}

    def add(self, block: Inferred) -> None:
        """Take up documents, which come after those added before."""
        theta = block.theta
        if not self._best:
            self._best = [[] for _ in range(theta.shape[1])]
        scores = typicality(theta, block.tokens[:, np.newaxis])
        n = min(self._most, len(scores))
        if n == 0:
            return
        # no topic takes more than n of them, nor worse ones than it has
        least = np.partition(scores, len(scores) - n, axis=0)[len(scores) - n]
        had = [best[-1][0] if len(best) == self._most else 0.0 for best in self._best]
        better = (scores >= least) & (scores > np.array(had))
        for row, topic in zip(*(part.tolist() for part in np.nonzero(better)), strict=True):
            entry = (float(scores[row, topic]), float(theta[row, topic]), block.first + row)
            self._best[topic].append(entry)
        for best in self._best:
            best.sort(key=lambda entry: -entry[0])  # stable: of equals the earlier one
            del best[self._most :]
        self._describe(block)

    def finish(self) -> None:
        """Keep the documents wanted of each topic, those that differ before near copies."""
        for best in self._best:
            differ: list[tuple[float, float, int]] = []
            copies: list[tuple[float, float, int]] = []
            for entry in best:
                words = self._known[entry[2]][3]
                copied = any(_nearly_the_same(words, self._known[i][3]) for _, _, i in differ)
                (copies if copied else differ).append(entry)
            best[:] = (differ + copies)[: self._n]

    def _describe(self, block: Inferred) -> None:
        kept = {document for best in self._best for _, _, document in best}
        known = {document: self._known[document] for document in kept & self._known.keys()}
        for document in kept - known.keys():
            row = document - block.first
            name = None if block.names is None else block.names[row] or None
            text = None if block.texts is None else beginning(block.texts[row])
            # copies of words, so that they do not hold all of the block
            words = np.zeros(0) if block.X is None else block.X[[row]].indices.copy()
            known[document] = (float(block.tokens[row]), name, text, words)
        self._known = known

    def documents(self) -> list[list[int]]:
        """Return their numbers, topic by topic: of all candidates before `finish`."""
        return [[document for _, _, document in best] for best in self._best]

    def table(self, labels: Sequence[str], topics: Iterable[int] | None = None) -> Table[Any]:
        """Return the documents wanted as rows."""
        self.finish()
        most = len(labels) - 1
        wanted = range(len(labels)) if topics is None else topics
        numbers = [whole("topics", topic, 0, most) for topic in wanted]
        rows = []
        for topic in numbers if self._best else ():
            for rank, (_, weight, document) in enumerate(self._best[topic], 1):
                tokens, name, text, _ = self._known[document]
                rows.append(
                    DocumentRow(topic, labels[topic], rank, weight, tokens, document, name, text)
                )
        return Table(DocumentRow, rows)


def _nearly_the_same(some: NDArray[Any], others: NDArray[Any]) -> bool:
    """Whether the shorter of two documents has most of its distinct words in common."""
    shorter = min(len(some), len(others))
    return shorter >= LEAST_WORDS and (
        len(np.intersect1d(some, others, assume_unique=True)) >= NEARLY_THE_SAME * shorter
    )


def typicality(weights: Any, tokens: Any) -> NDArray[np.float64]:
    """Return how typical documents are: the weight of the topic, less for a short one."""
    scores: NDArray[np.float64] = weights * (tokens / (tokens + SHORT))
    return scores


def called(name: str | None, number: int, text: Any) -> str:
    """Return a document's name, with the beginning of its text where a name says nothing.

    >>> called("On cats", 3, "Cats sleep."), called("8811", 3, "Cats sleep."), called(None, 3, None)
    ('On cats', '8811: Cats sleep.', 'document 3')
    """
    if name and any(map(str.isalpha, name)):
        return name
    start, text = name or f"document {number}", beginning(text, NAME_SHOWN)
    return f"{start}: {text}" if text else start


def beginning(text: Any, n: int = TEXT_SHOWN) -> str | None:
    """Return the first letters of a text, in one line."""
    if text is None:
        return None
    line = " ".join(str(text)[: 4 * n].split())
    return line if len(line) <= n else line[: n - 1].rstrip() + "…"
