"""How many documents hold each two of a topic's top words, counted over any collection."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.corpus._kinds import are_batches, is_matrix
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.inference._inputs import as_csr
from opelda.metrics._top_words import as_weights, top_words

# pairs of words whose documents are counted at a time
PAIRS_AT_ONCE = 2**22


class Together:
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
    >>> together = Together(np.array([[0, 2]]))
    >>> together.add(sparse.csr_array([[1, 0, 3], [0, 1, 1], [0, 0, 0]]))
    >>> together.n_docs, together.counts.tolist()
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
        counts = self.counts.reshape(-1)
        for word in range(0, n_words, n_at_once):
            together = (by_word[word : word + n_at_once] @ held).toarray()
            pairs = slice(*np.searchsorted(self._first, (word, word + n_at_once)))
            found = together[self._first[pairs] - word, self._second[pairs]]
            counts[self._order[pairs]] += found

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


def count_together(topics: Topics | ArrayLike, X: Any, top_n: int) -> Together:
    """Count over a matrix, an object with one as `X`, or an iterable of either."""
    if not is_matrix(X) and hasattr(X, "X"):
        X = X.X
    if are_batches(X):
        together = Together(top_words(topics, top_n, least=2))
        _add_batches(together, X, topics)
    else:
        matrix = as_csr(X)
        together = Together(top_words(topics, top_n, least=2, n_words=matrix.shape[1]))
        together.add(matrix)
    if not together.n_docs:
        raise InputError("X has no documents to look for the words in.")
    return together


def _add_batches(together: Together, batches: Iterable[Any], topics: Any) -> None:
    weights = as_weights(topics)
    n_words = None if weights.dtype.kind in "iu" else weights.shape[1]
    for number, batch in enumerate(batches):
        change = getattr(batch, "change", None)
        if change is not None and len(change.reused):
            raise InputError(
                f"Mini-batch {number} gave columns to other words, which the topics' are not; "
                "count with a vocabulary that does not evict."
            )
        try:
            matrix = as_csr(batch.X if not is_matrix(batch) and hasattr(batch, "X") else batch)
        except InputError as error:
            raise InputError(f"Mini-batch {number}: {error}") from None
        if n_words is not None and matrix.shape[1] > n_words:
            raise InputError(
                f"The topics have {n_words} words but mini-batch {number} has {matrix.shape[1]} "
                "columns; count the documents with the topics' own vocabulary."
            )
        together.add(matrix)
    if together.n_docs and n_words is None and together.ids.max() >= together.n_columns:
        raise InputError(
            f"The topics have word {together.ids.max()} but no mini-batch has more than "
            f"{together.n_columns} columns."
        )
