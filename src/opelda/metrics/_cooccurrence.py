"""Cooccurrences: how many documents hold each two of a topic's top words, over any collection."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import counts
from opelda.corpus import Corpus, Vocabulary, mini_batches
from opelda.corpus._kinds import is_batch, is_matrix
from opelda.errors import InputError
from opelda.metrics._top_words import top_words
from opelda.metrics._topics import GivenTopics, MeasuredTopics

# pairs of words whose documents are counted at a time
PAIRS_AT_ONCE = 2**22
NO_DOCUMENTS = "has no documents to look for the words in."


class Cooccurrences:
    """Counts of documents, all that any measure of coherence needs of a collection.

    Attributes
    ----------
    ids : int array (K, n)
        The top words.
    counts : int64 array (K, n, n)
        Documents that hold each two of a topic's words; on the diagonal those that hold one.
    n_docs : int
    n_columns : int
        Columns of the widest matrix so far.

    Examples
    --------
    >>> found = Cooccurrences(np.array([[0, 2]]))
    >>> found.add(sparse.csr_array([[1, 0, 3], [0, 1, 1], [0, 0, 0]]))
    >>> found.n_docs, found.counts.tolist()
    (3, [[[1, 1], [1, 2]]])
    """

    def __init__(self, ids: NDArray[np.intp]) -> None:
        self.ids = ids
        self.counts = np.zeros((*ids.shape, ids.shape[1]), np.int64)
        self.n_docs = self.n_columns = 0
        self._words, places = np.unique(ids, return_inverse=True)
        places = places.reshape(ids.shape)
        shape = self.counts.shape
        first = np.broadcast_to(places[:, :, None], shape).ravel()
        second = np.broadcast_to(places[:, None, :], shape).ravel()
        self._order = np.argsort(first, kind="stable")  # pairs by their first word
        self._first, self._second = first[self._order], second[self._order]

    def add(self, matrix: sparse.csr_array) -> None:
        """Count the documents of one more matrix; words beyond its columns are in none of them."""
        self.n_docs += matrix.shape[0]
        self.n_columns = max(self.n_columns, matrix.shape[1])
        held = self._held(matrix)
        by_word = held.T.tocsr()
        n_words, n_at_once = len(self._words), max(1, PAIRS_AT_ONCE // len(self._words))
        flat = self.counts.reshape(-1)
        for word in range(0, n_words, n_at_once):
            together = (by_word[word : word + n_at_once] @ held).toarray()
            pairs = slice(*np.searchsorted(self._first, (word, word + n_at_once)))
            found = together[self._first[pairs] - word, self._second[pairs]]
            flat[self._order[pairs]] += found

    def _held(self, matrix: sparse.csr_array) -> sparse.csr_array:
        """Return which documents hold which top words (D, words): ones."""
        place = np.full(matrix.shape[1], -1, np.int32)
        known = self._words[self._words < matrix.shape[1]]
        place[known] = np.arange(len(known))
        places = place[matrix.indices]
        there = (places >= 0) & (matrix.data > 0)
        before = np.concatenate(([0], np.cumsum(there, dtype=np.int64)))
        places = places[there]
        shape = (matrix.shape[0], len(self._words))
        return sparse.csr_array(
            (np.ones(len(places), np.int32), places, before[matrix.indptr]), shape
        )


def count_cooccurrences(topics: GivenTopics, X: Any, n_words: int) -> Cooccurrences:
    """Count over a matrix, a corpus, texts, or an iterable of mini-batches."""
    measured = MeasuredTopics.of(topics, X=X)
    found = Cooccurrences(top_words(measured, n_words, least=2))
    first, X = _first_of(X)
    if is_batch(first):
        _add_batches(found, X, measured)
    else:
        found.add(measured.counts(X))
    if not found.n_docs:
        raise InputError(NO_DOCUMENTS, "X")
    if measured.are_ids and found.ids.max() >= found.n_columns:
        raise InputError(
            f"hold word {found.ids.max()} but X has no more than {found.n_columns} columns.",
            "topics",
        )
    return found


def _first_of(X: Any) -> tuple[Any, Any]:
    """Return the first item of what may be an iterable of mini-batches, and all of them."""
    if not isinstance(X, Iterable) or isinstance(X, str | Corpus) or is_matrix(X):
        return None, X
    if hasattr(X, "counted"):  # a Stream, which is not to be read twice
        return X, X
    if not isinstance(X, Iterator):
        return next(iter(X), None), X
    for first in X:
        return first, chain([first], X)
    raise InputError(NO_DOCUMENTS, "X")


def _add_batches(found: Cooccurrences, batches: Any, topics: MeasuredTopics) -> None:
    if topics.vocabulary is not None and hasattr(batches, "counted"):
        known = Vocabulary(topics.vocabulary.words, tokenizer=topics.vocabulary.tokenizer)
        batches = mini_batches(batches, batch_size=batches.batch_size, vocabulary=known)
    for number, batch in enumerate(batches):
        change = getattr(batch, "change", None)
        if change is not None and len(change.reused):
            raise InputError(
                f"Mini-batch {number} gave columns to other words, which the topics' are not; "
                "count with a vocabulary that does not evict."
            )
        try:
            matrix = _matrix(batch, topics)
        except InputError as error:
            raise InputError(f"Mini-batch {number}: {error}") from None
        if not topics.are_ids and matrix.shape[1] > topics.n_words:
            raise InputError(
                f"The topics have {topics.n_words} words but mini-batch {number} has "
                f"{matrix.shape[1]} columns; count the documents with the topics' own vocabulary."
            )
        found.add(matrix)


def _matrix(batch: Any, topics: MeasuredTopics) -> sparse.csr_array:
    """Return a mini-batch's counts, which may have fewer columns than there are words."""
    if isinstance(batch, Corpus) and topics.vocabulary is not None:
        return topics.counts(batch)
    return counts(batch.X if not is_matrix(batch) and hasattr(batch, "X") else batch)
