"""Retrieval of documents: typical of a topic, like a text, with given words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import whole
from opelda._word_ranking import SMALLEST
from opelda.corpus._column_names import usual_column
from opelda.corpus._matrix import row_sums
from opelda.corpus._read import LEAST_WORDS
from opelda.errors import InputError
from opelda.metrics._mixture_measures import check_model, mixtures
from opelda.metrics._top_words import labels_of, shares_or_even
from opelda.metrics._topics import MeasuredTopics, chosen_topics
from opelda.report._document_blocks import (
    DocumentBlock,
    beginning,
    document_blocks,
)
from opelda.report.rows import DocumentRow, FoundRow, Table

SHORT = 30  # tokens of a document that is half as typical as a long one of the same mixture
# Weight of alike mixtures beside alike words; chosen on BBC News and 20 Newsgroups, reported
# on Reuters and arXiv. Labels in common with the ten nearest: 84.6% and 21.3%; by words alone 81.8%
# and 18.1%, by mixtures alone 79.7% and 17.4% (benchmarks/nearest.py).
OF_MIXTURES = 1 / 3
QUERIES = 1024  # scored at a time
# Share of the shorter document's distinct words: of the typical documents of 25 topics of Reuters,
# one pair in ten has more, mostly versions of one story and tables of one form.
SIMILAR = 0.5

Array = NDArray[np.float64]
# of a block: the first query's number and scores (queries, documents), part by part
Score = Callable[[DocumentBlock], Iterator[tuple[int, Array]]]


def top_documents(
    model: Any, corpus: Any, n: int = 3, *, topics: Iterable[int] | None = None
) -> Table[DocumentRow]:
    """Return the most typical documents of each topic, best first.

    The score is the topic's weight times tokens / (tokens + 30). Documents like better ones, with
    the same name or half of the distinct words of the shorter one, are ranked last.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.
    n : int
        Documents per topic.
    topics : iterable of int, optional
        The numbers of the topics, in the order wanted; None is all.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats and bonds"]
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> sorted(row.document for row in top_documents(model, texts, n=1))
    [0, 9]
    """
    found = TypicalDocuments(whole("n", n))
    for block in document_blocks(model, corpus):
        found.add(block, mixtures(model, block.X))
    return found.table(labels_of(model), topics)


def nearest(model: Any, corpus: Any, texts: Any, n: int = 5) -> Table[FoundRow]:
    """Return the documents most similar to given texts, best first.

    Two thirds of the score are the cosine of the words, weighted log(1 + count) x -log p(w), and a
    third the similarity of the mixtures, sum_k sqrt(theta_k theta'_k).

    Parameters
    ----------
    model, corpus
        As for `top_documents`.
    texts : str, or documents as for `transform`
    n : int
        Documents per text.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats sleep"] * 2
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> nearest(model, texts, "sleep, cats!", n=1)[0].document
    18
    """
    return found_among(document_blocks(model, corpus), like_texts(model, texts), n)


def search(
    model: Any,
    corpus: Any,
    words: str | Iterable[str] | None = None,
    *,
    topic: int | None = None,
    n: int = 10,
) -> Table[FoundRow]:
    """Return the documents with given words, a given topic or both, best first, copies last.

    The score by words is that of `nearest` without mixtures, or over the texts and unweighted if
    the model lacks a word. The score by topic is that of `top_documents`; by both, the product.

    Parameters
    ----------
    model, corpus
        As for `top_documents`.
    words : str or iterable of str, optional
        Words, split by the model's tokenizer; a result has at least one query word.
    topic, n : int
        The number of a topic, and the number of documents.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats sleep"] * 2
    >>> [row.document for row in search(TopicModel(2, random_state=0).fit(texts), texts, "sleep")]
    [18, 19]
    """
    return found_among(document_blocks(model, corpus), with_words(model, words, topic), n)


class Candidate(NamedTuple):
    # ordered by score, then by number
    score: float
    minus_number: int
    weight: float
    described: tuple[Any, ...]  # tokens, number, name, beginning, date, source
    words: NDArray[Any]


class BestDocuments:
    """The n best documents of each query, `ranked`."""

    def __init__(self, n: int) -> None:
        self._n = n
        self.ranked: list[list[Candidate]] = []

    def add(self, scores: Array, block: DocumentBlock, first: int = 0, weights: Any = None) -> None:
        """Add documents with scores (queries, documents); a score of 0 is no match."""
        last, n = first + len(scores), min(self._n, scores.shape[1])
        self.ranked += [[] for _ in range(last - len(self.ranked))]
        if n == 0:
            return
        ranked, tokens = self.ranked[first:last], block.tokens
        weights = scores if weights is None else weights
        # the n best of the block, if better than the worst of the query
        least = np.partition(scores, -n, axis=1)[:, [-n]]
        had = [best[-1].score if len(best) == self._n else 0.0 for best in ranked]
        better = (scores >= least) & (scores > np.array(had)[:, np.newaxis])
        known: dict[int, tuple[Any, Any]] = {}
        table = block.metadata
        kinds = () if table is None else ("time", "source")
        columns = [usual_column(kind, table.columns) for kind in kinds]
        for query, row in zip(*(part.tolist() for part in np.nonzero(better)), strict=True):
            number = block.first + row
            if row not in known:
                name = None if block.names is None else block.names[row] or None
                text = None if block.texts is None else beginning(block.texts[row])
                # a copy of the words, so that they do not hold all of the block
                words = block.X.indices[slice(*block.X.indptr[row : row + 2])].copy()
                beside = [None if column is None else table[column][row] for column in columns]
                known[row] = (float(tokens[row]), number, name, text, *beside), words
            score, weight = float(scores[query, row]), float(weights[query, row])
            ranked[query].append(Candidate(score, -number, weight, *known[row]))
        for query in np.flatnonzero(better.any(axis=1)).tolist():
            self.ranked[first + query] = sorted(ranked[query], reverse=True)[: self._n]


class TypicalDocuments:
    def __init__(self, n: int) -> None:
        # six candidates for each document wanted: some may be like others
        self._n, self._best = n, BestDocuments(6 * n)

    def add(self, block: DocumentBlock, theta: NDArray[Any]) -> None:
        self._best.add(typicality(theta, block.tokens[:, np.newaxis]).T, block, weights=theta.T)

    def candidates(self) -> list[int]:
        """Return the numbers of all documents that may be among the best."""
        return [-entry.minus_number for best in self._best.ranked for entry in best]

    def found(self) -> list[list[Candidate]]:
        """Return the best documents of each topic, with documents like better ones last."""
        return [_copies_last(best)[: self._n] for best in self._best.ranked]

    def table(
        self, labels: Sequence[str], topics: Iterable[int] | None = None
    ) -> Table[DocumentRow]:
        found = self.found()
        rows = (
            DocumentRow(topic, labels[topic], rank, entry.weight, *entry.described)
            for topic in chosen_topics(topics, len(labels))
            for rank, entry in enumerate(found[topic] if found else (), 1)
        )
        return Table(DocumentRow, rows)


def _copies_last(best: list[Candidate]) -> list[Candidate]:
    differ: list[Candidate] = []
    copies: list[Candidate] = []
    for entry in best:
        copied = any(_similar(entry, other) for other in differ)
        (copies if copied else differ).append(entry)
    return differ + copies


def _similar(some: Candidate, other: Candidate) -> bool:
    shorter = min(len(some.words), len(other.words))
    common = np.intersect1d(some.words, other.words, assume_unique=True)
    same_name = some.described[2] is not None and some.described[2] == other.described[2]
    return same_name or (shorter >= LEAST_WORDS and len(common) >= SIMILAR * shorter)


def typicality(weights: Any, tokens: Any) -> Array:
    """Return the scores of documents for a topic: its weight, less for short documents."""
    scores: Array = weights * (tokens / (tokens + SHORT))
    return scores


def found_among(blocks: Iterable[DocumentBlock], score: Score, n: int) -> Table[FoundRow]:
    best = BestDocuments(2 * whole("n", n))
    for block in blocks:
        for first, scores in score(block):
            best.add(scores, block, first)
    rows = (
        FoundRow(query, rank, min(entry.score, 1.0), *entry.described)
        for query, found in enumerate(best.ranked)
        for rank, entry in enumerate(_copies_last(found)[:n], 1)
    )
    return Table(FoundRow, rows)


def like_texts(model: Any, texts: Any) -> Score:
    asked = _counted(model, [texts] if isinstance(texts, str) else texts)
    weigh = _weighing(model)
    words, shares = weigh(asked), np.sqrt(mixtures(model, asked))

    def score(block: DocumentBlock) -> Iterator[tuple[int, Array]]:
        own_words, own_shares = weigh(block.X).T, np.sqrt(mixtures(model, block.X)).T
        own_shares[:, block.tokens == 0] = 0.0
        for first in range(0, words.shape[0], QUERIES):
            some = slice(first, first + QUERIES)
            alike = (words[some] @ own_words).toarray()
            yield first, (1 - OF_MIXTURES) * alike + OF_MIXTURES * (shares[some] @ own_shares)

    return score


def with_words(model: Any, words: str | Iterable[str] | None, topic: int | None) -> Score:
    check_model(model)
    if words is None and topic is None:
        raise InputError("The query is empty; pass words, a topic or both.")
    if topic is not None:
        topic = whole("topic", topic, 0, len(MeasuredTopics.of(model).weights) - 1)
    weigh = _weighing(model)
    text = words if isinstance(words, str) or words is None else " ".join(words)
    in_texts = None if text is None else _with_unknown(model, text)
    query = cache(lambda: weigh(_counted(model, [text])))

    def score(block: DocumentBlock) -> Iterator[tuple[int, Array]]:
        X = block.X
        if text is None:
            scores = np.ones((1, X.shape[0]))
        elif in_texts is None or block.texts is None:
            scores = (query() @ weigh(X).T).toarray()
        else:
            scores = in_texts(block.texts)
        if topic is not None:
            scores *= typicality(mixtures(model, X)[:, topic], block.tokens)
        yield 0, scores

    return score


def _with_unknown(model: Any, text: str) -> Callable[[Any], Array] | None:
    """Return the cosine of texts with a query that has words unknown to the model, else None."""
    known = getattr(model, "vocabulary_", None)
    if known is None:
        return None
    tokenizer = replace(known.tokenizer.decided, ngrams=1)
    if not tokenizer.count([text]).words:  # only stop words
        tokenizer = replace(tokenizer, stop_words=None, extra_stop_words=())
    asked = set(tokenizer.count([text]).words)
    if all(word in known for word in asked):
        return None

    def cosine(texts: Any) -> Array:
        found = tokenizer.count(texts)
        counts = found.counts.astype(np.float64)
        counts.data = np.log1p(counts.data)
        lengths = np.sqrt(row_sums(counts.multiply(counts)) * len(asked))
        has = np.array([word in asked for word in found.words], np.float64)
        return np.atleast_2d(counts @ has / np.maximum(lengths, 1e-300))

    return cosine


def _weighing(model: Any) -> Callable[[Any], Any]:
    """Return a function from counts to unit vectors of words weighted by -log p(w)."""
    topics = MeasuredTopics.of(model).weights
    weights = -np.log(np.clip(shares_or_even(model, len(topics)) @ topics, SMALLEST, 1.0))

    def weigh(X: Any) -> Any:
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.data = np.log1p(X.data) * weights[X.indices]
        lengths = np.sqrt(row_sums(X.multiply(X)))
        return sparse.csr_array(sparse.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)

    return weigh


def _counted(model: Any, texts: Any) -> sparse.csr_array:
    """Return counts of texts; raise InputError if a text has no known word."""
    blocks = [block.X for block in document_blocks(model, texts)]
    found = sparse.csr_array(sparse.vstack(blocks) if blocks else (0, 0))
    empty = np.flatnonzero(row_sums(found) == 0)
    if len(empty) or not found.shape[0]:
        which = f"text {empty[0]}" if found.shape[0] > 1 else "the query"
        raise InputError(f"No word of {which} is in the model's vocabulary; pass other words.")
    return found
