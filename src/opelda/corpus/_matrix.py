"""A matrix of counts that somebody else made, in the form the rest of the package takes."""

from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus._checks import LARGEST_COUNT
from opelda.corpus._counting import place
from opelda.errors import InputError


def is_matrix(item: Any) -> bool:
    """Whether this is an array, a sparse matrix or a data frame, and no document."""
    if isinstance(item, np.ndarray) and item.ndim == 1:
        return item.dtype.kind not in "OUT"  # words
    return isinstance(item, sparse.sparray | sparse.spmatrix) or (
        isinstance(getattr(item, "shape", None), tuple) and hasattr(item, "__array__")
    )


def as_counts(item: Any, n_words: int | None, where: str) -> tuple[sparse.csr_array, float]:
    """Return counts as canonical CSR (float32, int32) with `n_words` columns; None: all it has.

    Columns from there on are left out; their mass is the second answer. The caller's arrays are
    never changed.
    """
    matrix = _as_csr(item, where)
    _check(matrix, where)
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()  # the copy's: explicit ones, and what single precision rounds to zero
    if n_words is None:
        return _narrow(matrix), 0.0
    columns = np.arange(matrix.shape[1], dtype=np.int32)
    columns[n_words:] = -1
    return place(matrix, columns, n_words)


def _narrow(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the matrix with 32-bit column numbers, at no cost for columns without entries."""
    indptr = matrix.indptr.astype(np.int32) if matrix.nnz < 2**31 else matrix.indptr
    words = matrix.indices.astype(np.int32, copy=False)
    return sparse.csr_array((matrix.data, words, indptr), shape=matrix.shape)


def _as_csr(item: Any, where: str) -> sparse.csr_array:
    if not isinstance(item, sparse.sparray | sparse.spmatrix):
        if np.ma.isMaskedArray(item) and np.ma.is_masked(item):
            raise InputError(f"{where} has masked entries; fill them, as with X.filled(0).")
        item = np.asarray(item)
    if item.ndim != 2:
        raise InputError(
            f"{where} must have shape (documents, words), got {item.shape}; "
            "for one document give X.reshape(1, -1)."
        )
    if item.shape[1] >= 2**31:
        raise InputError(f"{where} has {item.shape[1]} columns; at most 2**31 - 1 can be numbered.")
    if item.dtype.kind not in "biuf":
        raise InputError(f"{where} must hold counts, got values of type {item.dtype}.")
    if item.dtype != np.float32:  # small whole numbers would overflow where entries repeat
        item = item.astype(np.float64)
    matrix = sparse.csr_array(item)
    words = matrix.indices
    if (np.diff(matrix.indptr) < 0).any() or (
        len(words) and not (words.min() >= 0 and words.max() < matrix.shape[1])
    ):
        raise InputError(
            f"{where} is a sparse matrix whose indices point outside it; "
            "check it with X.check_format(full_check=True)."
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _check(matrix: sparse.csr_array, where: str) -> None:
    data = matrix.data
    good = (data >= 0) & (data <= LARGEST_COUNT)  # NaN is neither
    if not good.all():
        at = int(np.argmin(good))
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        raise InputError(
            f"{where} holds {data[at]:g} in row {row}, column {matrix.indices[at]}; "
            f"counts must be from 0 to {LARGEST_COUNT:g}."
        )
