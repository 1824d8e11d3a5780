"""The documents of an experiment: those to learn from, and those to predict."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from opelda.errors import InputError
from opelda.metrics import split_tokens
from reproduction.settings import Settings

Split = tuple[sparse.csr_array, sparse.csr_array]


@dataclass(frozen=True)
class Data:
    """Documents to learn from and documents to test on.

    >>> from opelda.corpus import generate
    >>> made = generate(300, n_words=60, n_topics=3)
    >>> data = prepare(made.X, Settings(n_test=50, n_splits=2), label="generated")
    >>> data.train.shape, data.test.shape, len(data.splits)
    ((250, 60), (50, 60), 2)
    """

    label: str  # the collection's name in figures
    train: sparse.csr_array  # counts
    # the same test documents in every pair, split into words observed and words to predict
    splits: tuple[Split, ...]

    @cached_property
    def test(self) -> sparse.csr_array:
        """The test documents as a whole."""
        observed, held_out = self.splits[0]
        return sparse.csr_array(observed + held_out)

    @cached_property
    def fingerprint(self) -> str:
        """A short text that changes with the documents."""
        marks = [
            _mark(matrix) for matrix in (self.train, *(m for pair in self.splits for m in pair))
        ]
        return f"{zlib.crc32(repr(marks).encode()):08x}"


def prepare(
    X: Any,
    settings: Settings,
    *,
    label: str,
    splits: Sequence[tuple[Any, Any]] | None = None,
) -> Data:
    """Set test documents aside at random and split them, unless splits are given.

    Documents without any word are left out. Ready-made splits
    are pairs (observed, to predict) of counts over the same words, of the same documents in all
    pairs; then all of X is learned from.
    """
    matrix = _counts(X)
    n_tokens = matrix.ceil().sum(axis=1)  # a fraction is a token to split, too
    rest = n_tokens > 0
    if not rest.any():
        raise InputError("There are no documents with words in X; give some to learn from.")
    if splits is not None:
        given = tuple((_counts(observed), _counts(held_out)) for observed, held_out in splits)
        _check_splits(given, matrix.shape[1])
        return Data(label, matrix[rest], given)
    fit = np.flatnonzero(n_tokens >= 2)  # others have nothing to split
    if len(fit) <= settings.n_test:
        raise InputError(
            f"There are {len(fit):,} documents of at least two words and {settings.n_test:,} are "
            "to be set aside for testing; give more documents, or set fewer aside: {n_test}.",
            n_test=...,
        )
    chosen = np.random.default_rng([settings.seed, 1]).choice(fit, settings.n_test, replace=False)
    chosen.sort()
    rest[chosen] = False
    test = matrix[chosen]
    rng = np.random.default_rng([settings.seed, 2])
    pairs = tuple(
        split_tokens(test, held_out=settings.held_out, random_state=rng)
        for _ in range(settings.n_splits)
    )
    return Data(label, matrix[rest], pairs)


def _check_splits(splits: tuple[Split, ...], n_words: int) -> None:
    shapes = {part.shape for pair in splits for part in pair}
    if len(shapes) != 1 or 0 in min(shapes):
        raise InputError(
            f"The parts of the splits have the shapes {sorted(shapes)}; split the same documents, "
            "at least one, in every pair."
        )
    if (found := shapes.pop()[1]) != n_words:
        raise InputError(
            f"The test documents have {found:,} words, those to learn from {n_words:,}; count both "
            "over one vocabulary."
        )


def _counts(X: Any) -> sparse.csr_array:
    """Return counts in one form, so that equal documents have equal fingerprints."""
    matrix = sparse.csr_array(X, dtype=np.float32, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.nnz and not (matrix.data.min() > 0 and np.isfinite(matrix.data).all()):
        raise InputError("must hold counts, none negative or infinite.", "X")
    return matrix


def _mark(matrix: sparse.csr_array) -> tuple[Any, ...]:
    ends = matrix.indptr.astype(np.int64, copy=False)  # SciPy chooses types by the matrix's size
    words = matrix.indices.astype(np.int32, copy=False)
    sums = (zlib.crc32(np.ascontiguousarray(part).data) for part in (ends, words, matrix.data))
    return (*matrix.shape, matrix.nnz, *sums)
