"""Typical documents: those that a topic is most of, and that are long enough to tell."""

import heapq
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.corpus._duplicates import LEAST_WORDS, NEARLY_THE_SAME
from opelda.metrics._top_words import labels_of
from opelda.metrics._topics import chosen_topics
from opelda.report._document_blocks import DocumentBlock, document_blocks, mixtures
from opelda.report.rows import DocumentRow, Table

SHORT = 30  # tokens that make a document half as typical as a long one of the same mixture

# a score, the negative number of a document, a weight; what is known of it, and its words
Entry = tuple[float, int, float, tuple[float, str | None, str | None], NDArray[Any]]


def top_documents(
    model: Any, corpus: Any, n: int = 3, *, topics: Iterable[int] | None = None
) -> Table[DocumentRow]:
    """Return each topic's most typical documents, the best first.

    Documents are ranked by the topic's weight times tokens / (tokens + 30): of two with the same
    weight the longer one comes first. Of equals the earlier one. A near copy of a better one, where
    either has 80% of the other's distinct words, comes last.

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
    Table of `opelda.report.rows.DocumentRow`

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import top_documents
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats and bonds"]
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> sorted(row.document for row in top_documents(model, texts, n=1))
    [0, 9]
    """
    found = TypicalDocuments(whole("n", n))
    for block in document_blocks(model, corpus):
        found.add(block, mixtures(model, block.X))
    return found.table(labels_of(model), topics)


class BestDocuments:
    """The n best documents for each of some queries, among those added so far."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._heaps: list[list[Entry]] = []

    def add(
        self, scores: NDArray[np.float64], block: DocumentBlock, first: int = 0, weights: Any = None
    ) -> None:
        """Take up more documents; scores (queries, documents) of 0 are no fit."""
        last, n = first + len(scores), min(self._n, scores.shape[1])
        self._heaps += [[] for _ in range(last - len(self._heaps))]
        if n == 0:
            return
        heaps, tokens, weights = (
            self._heaps[first:last],
            block.tokens,
            scores if weights is None else weights,
        )
        # no query takes more than n of them, nor worse ones than it has
        least = np.partition(scores, -n, axis=1)[:, [-n]]
        had = [heap[0][0] if len(heap) == self._n else 0.0 for heap in heaps]
        better = (scores >= least) & (scores > np.array(had)[:, np.newaxis])
        known: dict[int, tuple[Any, Any]] = {}
        for query, row in zip(*(part.tolist() for part in np.nonzero(better)), strict=True):
            if row not in known:
                # a copy of the words, so that they do not hold all of the block
                words = block.X.indices[slice(*block.X.indptr[row : row + 2])].copy()
                known[row] = (float(tokens[row]), *block.described(row)), words
            score, weight = float(scores[query, row]), float(weights[query, row])
            entry = (score, -(block.first + row), weight, *known[row])
            push = heapq.heappush if len(heaps[query]) < self._n else heapq.heappushpop
            push(heaps[query], entry)

    def ranked(self) -> list[list[Entry]]:
        """Return the documents of each query, the best first; of equals the earlier one."""
        return [sorted(heap, reverse=True) for heap in self._heaps]


class TypicalDocuments:
    """The most typical documents of each topic, among those added so far."""

    def __init__(self, n: int) -> None:
        # three candidates for each document wanted: some may be near copies of others
        self._n, self._best = n, BestDocuments(3 * n)
        self._finished: list[list[Entry]] | None = None

    def add(self, block: DocumentBlock, theta: NDArray[Any]) -> None:
        """Take up documents with their mixtures."""
        self._best.add(typicality(theta, block.tokens[:, np.newaxis]).T, block, weights=theta.T)

    def finish(self) -> list[list[Entry]]:
        """Return the documents wanted of each topic, those that differ before near copies."""
        self._finished = []
        for best in self._best.ranked():
            differ: list[Entry] = []
            copies: list[Entry] = []
            for entry in best:
                copied = any(_nearly_the_same(entry[-1], other[-1]) for other in differ)
                (copies if copied else differ).append(entry)
            self._finished.append((differ + copies)[: self._n])
        return self._finished

    def documents(self) -> list[list[int]]:
        """Return their numbers, topic by topic: of all candidates before `finish`."""
        found = self._best.ranked() if self._finished is None else self._finished
        return [[-number for _, number, *_ in best] for best in found]

    def table(
        self, labels: Sequence[str], topics: Iterable[int] | None = None
    ) -> Table[DocumentRow]:
        """Return the documents wanted as rows."""
        found = self.finish()
        rows = (
            DocumentRow(topic, labels[topic], rank, weight, known[0], -number, *known[1:])
            for topic in chosen_topics(topics, len(labels))
            for rank, (_, number, weight, known, _) in enumerate(found[topic] if found else (), 1)
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
