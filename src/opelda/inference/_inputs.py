"""Checks what the user gave and brings it into the form kernels take."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._validation import seed, threads
from opelda.engines import Batch
from opelda.errors import InputError
from opelda.inference._topics import Topics

# Between these a count times a weight stays within single precision, whatever the topics.
SMALLEST_COUNT, LARGEST_COUNT = 1e-20, 1e13


def as_batch(X: Any, topics: Topics, alpha: NDArray[np.float64]) -> Batch:
    """Check the documents and gather them with the topics into a `Batch`.

    Words without probability in any topic are left out: no mixture can explain them.
    """
    matrix = as_csr(X)
    if matrix.shape[1] != topics.n_words:
        raise InputError(
            f"X has {matrix.shape[1]} columns but the topics have {topics.n_words} words; "
            "count the documents with the topics' own vocabulary."
        )
    indptr, words = matrix.indptr, matrix.indices
    counts = matrix.data.astype(np.float32, copy=False)
    if not topics.explain_every_word or (len(counts) and counts.min() <= SMALLEST_COUNT):
        keep = (topics.mean[words] > 0) & (counts > SMALLEST_COUNT)
        before = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        indptr, words, counts = before[indptr], words[keep], counts[keep]
    return Batch(
        rows=topics.rows,
        mean=topics.mean,
        coarse=topics.coarse,
        coarse_scale=topics.coarse_scale,
        n_topics=topics.n_topics,
        indptr=np.ascontiguousarray(indptr, np.int64),
        words=np.ascontiguousarray(words, np.int32),
        counts=np.ascontiguousarray(counts, np.float32),
        alpha=alpha.astype(np.float32),
        ids=topics.ids,
    )


def as_csr(X: Any) -> sparse.csr_array:
    """Documents as CSR with sorted, distinct words; the caller's arrays are never changed."""
    if not isinstance(X, sparse.sparray | sparse.spmatrix):
        X = _as_dense(X)
    if X.ndim != 2:
        raise InputError(f"X must have shape (documents, words), got {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X must hold counts, got values of type {X.dtype}.")
    small = X.dtype.itemsize < 4  # repeated entries are added, which bytes have no room for
    if small and getattr(X, "format", "") != "csr":
        X = X.astype(np.float32)
    matrix = sparse.csr_array(X)
    _check_places(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.float32) if small else matrix.copy()
        matrix.sum_duplicates()
    _check_counts(matrix)
    return matrix


def _as_dense(X: Any) -> NDArray[Any]:
    try:
        if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
            raise ValueError("entries are masked; fill them, for example with X.filled(0)")
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"X must be a matrix of counts: {error}.") from None
    if array.ndim != 2:
        raise InputError(
            f"X must have shape (documents, words), got {array.shape}; "
            "for one document give X.reshape(1, -1)."
        )
    if array.dtype == np.float16:  # SciPy knows no halves
        return array.astype(np.float32)
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # nor another machine's bytes


def _check_places(matrix: sparse.csr_array) -> None:
    """SciPy does not look at the indices it is given; native code must be able to trust them."""
    words = matrix.indices
    if (np.diff(matrix.indptr) < 0).any() or (
        len(words) and not (words.min() >= 0 and words.max() < matrix.shape[1])
    ):
        raise InputError(
            "X is a sparse matrix whose indices point outside it; build it with SciPy's own "
            "constructors and check it with X.check_format(full_check=True)."
        )


def _check_counts(matrix: sparse.csr_array) -> None:
    data = matrix.data
    if data.dtype.kind == "b" or not len(data):
        return
    # NaN fails both comparisons, so one pass over the extremes finds every bad value
    if data.min() >= 0 and data.max() <= LARGEST_COUNT:
        return
    at = int(np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0])
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    what = "Negative values in data: " if data[at] < 0 else ""
    raise InputError(
        f"{what}X[{row}, {matrix.indices[at]}] is {data[at]}; "
        f"counts must be from 0 to {LARGEST_COUNT:g}."
    )


def as_prior(doc_topic_prior: ArrayLike | None, n_topics: int) -> NDArray[np.float64]:
    """Return alpha as a vector over topics; None is 1/K each."""
    if doc_topic_prior is None:
        return np.full(n_topics, 1.0 / n_topics)
    try:
        alpha = np.asarray(doc_topic_prior, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be a number or a vector: {error}.", "doc_topic_prior") from None
    if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != n_topics):
        raise InputError(
            f"must be a number or one number per topic ({n_topics}), got shape {alpha.shape}.",
            "doc_topic_prior",
        )
    if not ((alpha >= 1e-30) & (alpha <= 1e6)).all():
        raise InputError(
            f"must be positive, from 1e-30 to 1e6, got {doc_topic_prior!r}.", "doc_topic_prior"
        )
    return np.full(n_topics, alpha) if alpha.ndim == 0 else alpha.copy()


def as_seed(random_state: Any) -> int:
    """Return a seed below 2**32 from None, a number, a RandomState or a Generator."""
    return seed(random_state)


def as_threads(n_jobs: int | None) -> int:
    """Return a number of threads."""
    return threads(n_jobs)
