"""Checks of count matrices, which native code relies on."""

from typing import Any

import numpy as np
from scipy import sparse

from opelda._validation import LARGEST_COUNT, on_device
from opelda.errors import InputError


def counts(X: Any, name: str = "X") -> sparse.csr_array:
    """Return documents as CSR with sorted, distinct words; never change the caller's arrays."""
    if type(X) is not sparse.csr_array:
        X = _sparse(additive(X, name), name)
    if X.ndim != 2:
        raise InputError(f"must have shape (documents, words), got {X.shape}.", name)
    if X.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {X.dtype}.", name)
    try:
        matrix = sparse.csr_array(X)  # checks lengths, and drops flags that may be stale
        words, indptr = matrix.indices, matrix.indptr
        # SciPy does not check indices. Taken for unsigned numbers, negative ones are large.
        largest = words.view(f"u{words.itemsize}").max() if len(words) else -1
        if largest >= matrix.shape[1] or (indptr[1:] < indptr[:-1]).any():
            raise ValueError("column indices are out of range or index pointers decrease")
    except ValueError as error:
        raise _unfitting(error, name) from None
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.float64) if matrix.dtype.kind in "biu" else matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data
    # NaN fails both comparisons, so that the extremes show every invalid value
    if (
        data.dtype.kind != "b"
        and len(data)
        and not (data.min() >= 0 and data.max() <= LARGEST_COUNT)
    ):
        at = int(np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0])
        row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
        # scikit-learn's estimator checks look for these words
        what = "Negative values in data: " if data[at] < 0 else ""
        raise InputError(
            f"{what}{name}[{row}, {matrix.indices[at]}] is {data[at]}; "
            f"counts must be from 0 to {LARGEST_COUNT:g}."
        )
    return matrix


def additive(X: Any, name: str = "X") -> Any:
    """Return X in a type in which CSR adds repeated entries exactly; refuse masked entries.

    Whole numbers would wrap around; in doubles all sums up to the largest count are exact.
    """
    if type(X) is sparse.csr_array:
        return X
    if on_device(X):
        X = X.get()
    rows = X if isinstance(X, list | tuple) else (X,)
    if any(np.ma.isMaskedArray(row) and np.ma.is_masked(row) for row in rows):
        raise InputError(
            "must be a matrix of counts without masked entries; fill them, for example with "
            "X.filled(0).",
            name,
        )
    is_sparse = isinstance(X, sparse.sparray | sparse.spmatrix)
    if not is_sparse or X.format == "csr":
        return X
    if X.format in ("csc", "bsr"):  # SciPy would convert them unchecked
        try:
            X.check_format(full_check=True)  # ignores ends if the last is 0, and remainders
            if (np.diff(X.indptr) < 0).any():
                raise ValueError("index pointers must be non-decreasing")
            if X.format == "bsr" and any(np.remainder(X.shape, X.blocksize)):
                raise ValueError(f"its shape is not a multiple of the block size {X.blocksize}")
        except ValueError as error:
            raise _unfitting(error, name) from None
    return X.astype(np.float64) if X.dtype.kind in "biu" else X


def _sparse(X: Any, name: str) -> Any:
    if isinstance(X, sparse.sparray | sparse.spmatrix):
        return X
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"must be a matrix of counts: {error}.", name) from None
    if array.ndim != 2:
        raise InputError(
            f"must have shape (documents, words), got {array.shape}; for one document pass "
            "X.reshape(1, -1).",
            name,
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {array.dtype}.", name)
    # SciPy accepts neither half precision nor another machine's byte order
    known = np.float32 if array.dtype == np.float16 else array.dtype.newbyteorder("=")
    return sparse.csr_array(array.astype(known, copy=False))


def _unfitting(error: ValueError, name: str) -> InputError:
    return InputError(
        f"is an invalid sparse matrix ({error}); build it with SciPy's own constructors and check "
        "it with X.check_format(full_check=True).",
        name,
    )
