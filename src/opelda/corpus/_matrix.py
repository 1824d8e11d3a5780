"""Sparse counts: CSR of float32 with int32 columns, sorted and without zeros."""

from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda._count_matrix import counts
from opelda.errors import InputError


@dataclass(frozen=True)
class Counted:
    """Counts of some documents over the words that they themselves hold."""

    words: list[str]  # distinct, in the order of their first appearance
    counts: sparse.csr_array  # (documents, words), sorted and without zeros; every word occurs

    @classmethod
    def of(cls, counts: sparse.csr_array, words: Any) -> "Counted":
        """Return counts over columns that have words, without the columns that do not occur."""
        keep = np.zeros(counts.shape[1], bool)
        keep[counts.indices] = True
        held = np.flatnonzero(keep).tolist()
        return cls([words[i] for i in held], keep_columns(counts, keep))

    def __len__(self) -> int:
        return int(self.counts.shape[0])


def by_appearance(
    codes: NDArray[np.int32], n_codes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return codes in the order of first appearance, and each code's place there or -1."""
    held, first = np.unique(codes, return_index=True)
    held = held[np.argsort(first)]
    places = np.full(n_codes, -1, np.int32)
    places[held] = np.arange(len(held), dtype=np.int32)
    return held, places


def remap_columns(
    counts: sparse.csr_array, columns: NDArray[np.int32], n_columns: int
) -> tuple[sparse.csr_array, float]:
    """Move every column to ``columns[column]``, and those with -1 out; return also their mass."""
    ends, words, data, left_out = _text.place(
        counts.indptr.astype(np.int64, copy=False),
        counts.indices.astype(np.int32, copy=False),
        counts.data.astype(np.float32, copy=False),
        columns,
    )
    return csr(data, words, ends, (counts.shape[0], n_columns)), left_out


def keep_columns(counts: sparse.csr_array, keep: NDArray[np.bool_]) -> sparse.csr_array:
    """Return some of the columns, renumbered."""
    columns = np.where(keep, np.cumsum(keep) - 1, -1).astype(np.int32)
    return remap_columns(counts, columns, int(keep.sum()))[0]


def stacked(parts: list[sparse.csr_array], n_columns: int) -> sparse.csr_array:
    """Return the rows of all matrices, with `n_columns` columns."""
    if not parts:
        return sparse.csr_array(np.zeros((0, n_columns), np.float32))
    starts = np.cumsum([0, *(part.nnz for part in parts)])
    ends = [part.indptr[1:] + start for part, start in zip(parts, starts, strict=False)]
    return csr(
        np.concatenate([part.data for part in parts]).astype(np.float32, copy=False),
        np.concatenate([part.indices for part in parts]).astype(np.int32, copy=False),
        np.concatenate([starts[:1], *ends]),
        (sum(part.shape[0] for part in parts), n_columns),
    )


def row_sums(counts: sparse.csr_array) -> NDArray[np.float64]:
    """Return the tokens of each document."""
    return np.asarray(counts.sum(axis=1, dtype=np.float64), np.float64).ravel()


def as_counts(item: Any, n_words: int | None, where: str) -> tuple[sparse.csr_array, float]:
    """Return a copy of a caller's counts with `n_words` columns, and the mass beyond."""
    matrix = counts(item, where)
    if matrix.shape[1] >= 2**31:
        raise InputError(
            f"has {matrix.shape[1]} columns; at most 2**31 - 1 columns are supported.", where
        )
    matrix = matrix.astype(np.float32)
    matrix.eliminate_zeros()  # the copy's: explicit ones, and what single precision rounds to zero
    if n_words is not None:
        return with_columns(matrix, n_words)
    words = matrix.indices.astype(np.int32, copy=False)
    return csr(matrix.data, words, matrix.indptr, matrix.shape), 0.0


def with_columns(X: sparse.csr_array, n_columns: int) -> tuple[sparse.csr_array, float]:
    """Return counts with `n_columns` columns, and the mass of further columns."""
    columns = np.arange(X.shape[1], dtype=np.int32)
    columns[n_columns:] = -1
    return remap_columns(X, columns, n_columns)


def csr(
    data: NDArray[np.float32],
    words: NDArray[np.int32],
    ends: NDArray[np.integer[Any]],
    shape: tuple[int, int],
) -> sparse.csr_array:
    """Return CSR of sorted, distinct words; few rows without SciPy's checks (3 us for 40)."""
    if len(words) < 2**31:  # else SciPy would widen the columns' numbers, too
        ends = ends.astype(np.int32, copy=False)
    X: Any = copy(_empty(shape)) if shape[0] <= 64 else _empty.__wrapped__(shape)
    X.data, X.indices, X.indptr = data, words, ends
    built: sparse.csr_array = X
    return built


@lru_cache(maxsize=64)
def _empty(shape: tuple[int, int]) -> Any:
    empty = sparse.csr_array(shape, dtype=np.float32)
    empty.has_canonical_format = True
    return empty
