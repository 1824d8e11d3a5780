"""Pairs of words of a document as further words."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import whole
from opelda.corpus._corpus import Corpus
from opelda.errors import InputError


class Biterms:
    """Bags of biterms (Mai et al. 2016): counts of words and of unordered pairs of words.

    The count of a pair is the product of its words' counts. `topics` converts learned topics to
    topics over words. Results: docs/short-texts.md.

    Parameters
    ----------
    X : array or sparse matrix (D, V), or Corpus
        Documents, which define the pairs.
    min_df : int
        Documents that must have a pair.

    Attributes
    ----------
    pairs : int array (P, 2)
        The words of each pair.

    Examples
    --------
    >>> from opelda.corpus import Biterms
    >>> X = [[1, 2, 0], [1, 1, 0], [0, 1, 1]]
    >>> biterms = Biterms(X)
    >>> biterms.count(X).toarray(), biterms.pairs
    (array([[1., 2., 0., 2.],
           [1., 1., 0., 1.],
           [0., 1., 1., 0.]], dtype=float32), array([[0, 1]]))
    >>> biterms.topics([[0.25, 0.25, 0.0, 0.5]])
    array([[0.5, 0.5, 0. ]])
    """

    def __init__(self, X: Any, *, min_df: int = 2) -> None:
        matrix = _matrix(X)
        self.n_words = int(matrix.shape[1])
        _, keys, _ = self._found(matrix)
        known, times = np.unique(keys, return_counts=True)
        known = known[times >= whole("min_df", min_df)]
        self.pairs: NDArray[np.int64] = np.stack(np.divmod(known, self.n_words), axis=1)

    def _found(self, X: sparse.csr_array) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the row, key and count of each pair of a document."""
        found: list[Any] = [(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))]
        lengths = np.diff(X.indptr)
        for length in np.unique(lengths[lengths > 1]).tolist():
            rows = np.flatnonzero(lengths == length)
            at = X.indptr[rows][:, np.newaxis] + np.arange(length)
            words, data = X.indices[at].astype(np.int64), X.data[at]
            a, b = np.triu_indices(length, 1)
            keys = words[:, a] * self.n_words + words[:, b]
            found.append((np.repeat(rows, len(a)), keys.ravel(), (data[:, a] * data[:, b]).ravel()))
        row, key, count = (np.concatenate(part) for part in zip(*found, strict=True))
        return row, key, count

    def count(self, X: Any) -> sparse.csr_array:
        """Return the counts (D, V + P) of documents over the same words."""
        matrix = _matrix(X)
        if matrix.shape[1] != self.n_words:
            raise InputError(
                f"has {matrix.shape[1]} columns, but the pairs are of {self.n_words} words.", "X"
            )
        row, key, count = self._found(matrix)
        known = self.pairs @ np.array([self.n_words, 1])
        at = np.searchsorted(known, key)
        is_known = at < len(known)
        is_known[is_known] = known[at[is_known]] == key[is_known]
        cells = count[is_known], (row[is_known], at[is_known])
        of_pairs = sparse.csr_array(cells, shape=(matrix.shape[0], len(known)))
        return sparse.csr_array(sparse.hstack([matrix, of_pairs], "csr"), dtype=np.float32)

    def topics(self, components: ArrayLike) -> NDArray[np.float64]:
        """Return topics over words (K, V): a pair's probability is half of each word."""
        given = np.asarray(components, np.float64)
        n_columns = self.n_words + len(self.pairs)
        if given.ndim != 2 or given.shape[1] != n_columns:
            raise InputError(
                f"must have {n_columns} columns, for words and pairs, got shape {given.shape}.",
                "components",
            )
        of_pairs = given[:, self.n_words :] / 2.0
        found: NDArray[np.float64] = given[:, : self.n_words].copy()
        for topic, own in zip(found, of_pairs, strict=True):
            for word in self.pairs.T:
                topic += np.bincount(word, own, self.n_words)
        found /= np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        return found


def _matrix(X: Any) -> sparse.csr_array:
    matrix = counts(X.X if isinstance(X, Corpus) else X).astype(np.float32)  # a copy
    matrix.eliminate_zeros()
    return matrix
