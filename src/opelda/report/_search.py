"""Documents found by texts like them, by words, and by topic."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import whole
from opelda._word_ranking import SMALLEST
from opelda.corpus._matrix import row_sums
from opelda.errors import InputError
from opelda.metrics._ranking import topic_weights
from opelda.metrics._topics import MeasuredTopics
from opelda.report._inferred import Counted, check_model, count_blocks, infer_block
from opelda.report._rows import Table
from opelda.report._typical_documents import beginning, typicality

# How much alike mixtures count beside alike words; chosen on BBC News and 20 Newsgroups, reported
# on Reuters and arXiv. Labels in common with the ten nearest: 84.6% and 21.3%; by words alone 81.8%
# and 18.1%, by mixtures alone 79.7% and 17.4% (benchmarks/nearest.py).
OF_MIXTURES = 1 / 3
QUERIES = 1024  # scored at a time


@dataclass(frozen=True)
class FoundRow:
    """A document that was found.

    Attributes
    ----------
    query : int
        The number of the text that it was found for, from 0 on.
    rank : int
        1 is the best.
    score : float
        How well it fits, from 0 to 1.
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
    >>> from opelda.report import FoundRow
    >>> FoundRow(0, 1, 0.9, 120.0, 17, "On tea", None).name
    'On tea'
    """

    query: int
    rank: int
    score: float
    tokens: float
    document: int
    name: str | None
    text: str | None


def nearest(model: Any, corpus: Any, texts: Any, n: int = 5) -> Table[FoundRow]:
    """Return the documents that are most like some texts, the best first.

    Two thirds of the score are alike words, the cosine between log(1 + count) x -log p(w), and a
    third alike mixtures, sum_k sqrt(theta_k theta'_k). The documents are gone through once, a part
    at a time; a text that is among them finds itself.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.
    texts : str, or documents as for `transform`
    n : int
        Documents for each text; fewer where fewer have a word or a topic in common with it.

    Returns
    -------
    Table of FoundRow
        Text by text.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import nearest
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats sleep"] * 2
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> nearest(model, texts, "sleep, cats!", n=1)[0].document
    18
    """
    return found_among(count_blocks(model, corpus), like_texts(model, texts), n)


def search(
    model: Any,
    corpus: Any,
    words: str | Iterable[str] | None = None,
    *,
    topic: int | None = None,
    n: int = 10,
) -> Table[FoundRow]:
    """Return the documents that have some words, a topic, or both, the best first.

    By words the score is as of `nearest`, without mixtures: of queries of a few words these say
    little. Where the model lacks one of the words, the words are looked for in the texts, all of
    the same weight. By topic the score is as of `top_documents`; by both, the product.

    Parameters
    ----------
    model : fitted model
    corpus : Corpus, counts or documents
        As for `transform`.
    words : str or iterable of str, optional
        Made into words as the model's texts are; a document needs to have one of them.
    topic : int, optional
        The number of a topic.
    n : int
        At most so many documents.

    Returns
    -------
    Table of FoundRow

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import search
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats sleep"] * 2
    >>> model = TopicModel(2, random_state=0).fit(texts)
    >>> [row.document for row in search(model, texts, "sleep")]
    [18, 19]
    """
    return found_among(count_blocks(model, corpus), with_words(model, words, topic), n)


# of a block: scores (queries, documents) of some queries, from a number on
Score = Callable[[Counted], Iterator[tuple[int, NDArray[np.float64]]]]


def found_among(blocks: Iterable[Counted], score: Score, n: int) -> Table[FoundRow]:
    """Return the n best documents for each query."""
    best = Best(whole("n", n))
    for block in blocks:
        for first, scores in score(block):
            best.add(first, scores, block)
    return best.table()


def like_texts(model: Any, texts: Any) -> Score:
    """Return the score of `nearest`."""
    check_model(model)
    asked = _counted(model, [texts] if isinstance(texts, str) else texts)
    weigh = _Weighing(model)
    words, mixtures = weigh(asked), np.sqrt(infer_block(model, asked, 0).theta)

    def score(block: Counted) -> Iterator[tuple[int, NDArray[np.float64]]]:
        X = block.X
        own_words, own_mixtures = weigh(X).T, np.sqrt(infer_block(model, X, 0).theta).T
        own_mixtures[:, row_sums(X) == 0] = 0.0
        for first in range(0, words.shape[0], QUERIES):
            some = slice(first, first + QUERIES)
            alike = (words[some] @ own_words).toarray()
            yield first, (1 - OF_MIXTURES) * alike + OF_MIXTURES * (mixtures[some] @ own_mixtures)

    return score


def with_words(model: Any, words: str | Iterable[str] | None, topic: int | None) -> Score:
    """Return the score of `search`."""
    check_model(model)
    if words is None and topic is None:
        raise InputError("There is nothing to search for; give words, a topic, or both.")
    if topic is not None:
        topic = whole("topic", topic, 0, len(MeasuredTopics.of(model).weights) - 1)
    weigh = _Weighing(model)
    text = words if isinstance(words, str) or words is None else " ".join(words)
    in_texts = None if text is None else _with_unknown(model, text)
    query = cache(lambda: weigh(_counted(model, [text])))

    def score(block: Counted) -> Iterator[tuple[int, NDArray[np.float64]]]:
        X = block.X
        if text is None:
            scores = np.ones((1, X.shape[0]))
        elif in_texts is None or block.texts is None:
            scores = (query() @ weigh(X).T).toarray()
        else:
            scores = in_texts(block.texts)
        if topic is not None:
            scores *= typicality(infer_block(model, X, 0).theta[:, topic], row_sums(X))
        yield 0, scores

    return score


def _with_unknown(model: Any, text: str) -> Callable[[Any], NDArray[np.float64]] | None:
    """Return the cosine of texts with a query that has words unknown to the model, else None."""
    known = getattr(model, "vocabulary_", None)
    if known is None:
        return None
    tokenizer = replace(known.tokenizer.decided, ngrams=1)
    if not tokenizer.count([text]).words:  # there are none but stop words
        tokenizer = replace(tokenizer, stop_words=None, extra_stop_words=())
    asked = set(tokenizer.count([text]).words)
    if all(word in known for word in asked):
        return None

    def cosine(texts: Any) -> NDArray[np.float64]:
        found = tokenizer.count(texts)
        counts = found.counts.astype(np.float64)
        counts.data = np.log1p(counts.data)
        lengths = np.sqrt(row_sums(counts.multiply(counts)) * len(asked))
        has = np.array([word in asked for word in found.words], np.float64)
        return np.atleast_2d(counts @ has / np.maximum(lengths, 1e-300))

    return cosine


class Best:
    """The best documents for each of some queries, among those added so far."""

    def __init__(self, n: int) -> None:
        # heaps by score, of equals the earlier one; then what is known of the document
        self._found: list[list[tuple[float, int, Any]]] = []
        self._n = n

    def add(self, first: int, scores: NDArray[np.float64], block: Counted) -> None:
        """Take up documents with scores for the queries from a number on; 0 is no fit."""
        tokens, n_queries = row_sums(block.X), first + len(scores)
        self._found += [[] for _ in range(n_queries - len(self._found))]
        for found, row in zip(self._found[first:n_queries], scores, strict=True):
            least = np.partition(row, -self._n)[-self._n] if len(row) > self._n else 0.0
            for i in np.flatnonzero((row >= least) & (row > 0)).tolist():
                place = (float(row[i]), -(block.first + i))
                if len(found) == self._n and place < found[0][:2]:
                    continue
                name = None if block.names is None else block.names[i] or None
                text = None if block.texts is None else beginning(block.texts[i])
                known = (float(tokens[i]), name, text)
                (heapq.heappush if len(found) < self._n else heapq.heapreplace)(
                    found, (*place, known)
                )

    def table(self) -> Table[FoundRow]:
        """Return them as rows."""
        rows = [
            FoundRow(query, rank, min(score, 1.0), known[0], -negative, *known[1:])
            for query, found in enumerate(self._found)
            for rank, (score, negative, known) in enumerate(sorted(found, reverse=True), 1)
        ]
        return Table(FoundRow, rows)


class _Weighing:
    """Counts as vectors of length 1, unusual words heavier: -log p(w) by the model's topics."""

    def __init__(self, model: Any) -> None:
        topics, shares = MeasuredTopics.of(model).weights, topic_weights(model)
        shares = np.full(len(topics), 1.0 / len(topics)) if shares is None else shares
        self._words = -np.log(np.clip(shares @ topics, SMALLEST, 1.0))

    def __call__(self, X: Any) -> Any:
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.data = np.log1p(X.data) * self._words[X.indices]
        lengths = np.sqrt(row_sums(X.multiply(X)))
        return sparse.csr_array(sparse.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)


def _counted(model: Any, texts: Any) -> sparse.csr_array:
    """Return texts or counts over the model's words, of which each must have some."""
    blocks = [block.X for block in count_blocks(model, texts)]
    found = sparse.csr_array(sparse.vstack(blocks) if blocks else (0, 0))
    empty = np.flatnonzero(row_sums(found) == 0)
    if len(empty) or not found.shape[0]:
        which = f"text {empty[0]} of these" if found.shape[0] > 1 else "what is searched for"
        raise InputError(f"There is no word in {which} that the model knows; give others.")
    return found
