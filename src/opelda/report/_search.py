"""Documents found by texts like them, by words, and by topic."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import whole
from opelda._word_ranking import SMALLEST
from opelda.corpus._matrix import row_sums
from opelda.errors import InputError
from opelda.metrics._ranking import shares_or_even
from opelda.metrics._topics import MeasuredTopics
from opelda.report._document_blocks import DocumentBlock, check_model, document_blocks, mixtures
from opelda.report._typical_documents import BestDocuments, typicality
from opelda.report.rows import FoundRow, Table

# How much alike mixtures count beside alike words; chosen on BBC News and 20 Newsgroups, reported
# on Reuters and arXiv. Labels in common with the ten nearest: 84.6% and 21.3%; by words alone 81.8%
# and 18.1%, by mixtures alone 79.7% and 17.4% (benchmarks/nearest.py).
OF_MIXTURES = 1 / 3
QUERIES = 1024  # scored at a time


# of a block: scores (queries, documents) of some queries, from a number on
Score = Callable[[DocumentBlock], Iterator[tuple[int, NDArray[np.float64]]]]


def nearest(model: Any, corpus: Any, texts: Any, n: int = 5) -> Table[FoundRow]:
    """Return the documents that are most like some texts, the best first.

    Two thirds of the score are alike words, the cosine between log(1 + count) x -log p(w), and a
    third alike mixtures, sum_k sqrt(theta_k theta'_k). A text that is among them finds itself.

    Parameters
    ----------
    model, corpus
        As for `top_documents`.
    texts : str, or documents as for `transform`
    n : int
        Documents for each text; fewer where fewer have a word or a topic in common with it.

    Returns
    -------
    Table of `opelda.report.rows.FoundRow`

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import nearest
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
    """Return the documents that have some words, a topic, or both, the best first.

    By words the score is as of `nearest`, without mixtures. Where the model lacks one of the words,
    the words are looked for in the texts, all of the same weight. By topic the score is as of
    `top_documents`; by both, the product.

    Parameters
    ----------
    model, corpus
        As for `top_documents`.
    words : str or iterable of str, optional
        Made into words as the model's texts are; a document needs to have one of them.
    topic : int, optional
        The number of a topic.
    n : int
        At most so many documents.

    Returns
    -------
    Table of `opelda.report.rows.FoundRow`

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.report import search
    >>> texts = ["cats chase dogs"] * 9 + ["bonds rise and fall"] * 9 + ["cats sleep"] * 2
    >>> [row.document for row in search(TopicModel(2, random_state=0).fit(texts), texts, "sleep")]
    [18, 19]
    """
    return found_among(document_blocks(model, corpus), with_words(model, words, topic), n)


def found_among(blocks: Iterable[DocumentBlock], score: Score, n: int) -> Table[FoundRow]:
    """Return the n best documents for each query."""
    best = BestDocuments(whole("n", n))
    for block in blocks:
        for first, scores in score(block):
            best.add(scores, block, first)
    rows = (
        FoundRow(query, rank, min(score, 1.0), known[0], -number, *known[1:])
        for query, found in enumerate(best.ranked())
        for rank, (score, number, _, known, _) in enumerate(found, 1)
    )
    return Table(FoundRow, rows)


def like_texts(model: Any, texts: Any) -> Score:
    """Return the score of `nearest`."""
    asked = _counted(model, [texts] if isinstance(texts, str) else texts)
    weigh = _weighing(model)
    words, shares = weigh(asked), np.sqrt(mixtures(model, asked))

    def score(block: DocumentBlock) -> Iterator[tuple[int, NDArray[np.float64]]]:
        X = block.X
        own_words, own_shares = weigh(X).T, np.sqrt(mixtures(model, X)).T
        own_shares[:, row_sums(X) == 0] = 0.0
        for first in range(0, words.shape[0], QUERIES):
            some = slice(first, first + QUERIES)
            alike = (words[some] @ own_words).toarray()
            yield first, (1 - OF_MIXTURES) * alike + OF_MIXTURES * (shares[some] @ own_shares)

    return score


def with_words(model: Any, words: str | Iterable[str] | None, topic: int | None) -> Score:
    """Return the score of `search`."""
    check_model(model)
    if words is None and topic is None:
        raise InputError("There is nothing to search for; give words, a topic, or both.")
    if topic is not None:
        topic = whole("topic", topic, 0, len(MeasuredTopics.of(model).weights) - 1)
    weigh = _weighing(model)
    text = words if isinstance(words, str) or words is None else " ".join(words)
    in_texts = None if text is None else _with_unknown(model, text)
    query = cache(lambda: weigh(_counted(model, [text])))

    def score(block: DocumentBlock) -> Iterator[tuple[int, NDArray[np.float64]]]:
        X = block.X
        if text is None:
            scores = np.ones((1, X.shape[0]))
        elif in_texts is None or block.texts is None:
            scores = (query() @ weigh(X).T).toarray()
        else:
            scores = in_texts(block.texts)
        if topic is not None:
            scores *= typicality(mixtures(model, X)[:, topic], row_sums(X))
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


def _weighing(model: Any) -> Callable[[Any], Any]:
    """Return what makes vectors of length 1 of counts, words weighed by -log p(w)."""
    topics = MeasuredTopics.of(model).weights
    weights = -np.log(np.clip(shares_or_even(model, len(topics)) @ topics, SMALLEST, 1.0))

    def weigh(X: Any) -> Any:
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.data = np.log1p(X.data) * weights[X.indices]
        lengths = np.sqrt(row_sums(X.multiply(X)))
        return sparse.csr_array(sparse.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X)

    return weigh


def _counted(model: Any, texts: Any) -> sparse.csr_array:
    """Return texts or counts over the model's words, of which each must have some."""
    blocks = [block.X for block in document_blocks(model, texts)]
    found = sparse.csr_array(sparse.vstack(blocks) if blocks else (0, 0))
    empty = np.flatnonzero(row_sums(found) == 0)
    if len(empty) or not found.shape[0]:
        which = f"text {empty[0]} of these" if found.shape[0] > 1 else "what is searched for"
        raise InputError(f"There is no word in {which} that the model knows; give others.")
    return found
