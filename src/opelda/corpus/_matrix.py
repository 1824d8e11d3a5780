"""A matrix of counts that somebody else made, in the form the rest of the package takes."""

from typing import Any

import numpy as np
from scipy import sparse

from opelda._validation import counts
from opelda.corpus._counting import place
from opelda.errors import InputError


def as_counts(item: Any, n_words: int | None, where: str) -> tuple[sparse.csr_array, float]:
    """Return counts as canonical CSR (float32, int32) with `n_words` columns; None: all it has.

    Columns from there on are left out; their mass is the second answer. The caller's arrays are
    never changed.
    """
    matrix = counts(item, where)
    if matrix.shape[1] >= 2**31:
        raise InputError(
            f"has {matrix.shape[1]} columns; at most 2**31 - 1 can be numbered.", where
        )
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
