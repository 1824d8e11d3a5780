"""The documents of an experiment: those to learn from, and those to predict."""

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from opelda._validation import counts as as_csr
from opelda.errors import InputError
from opelda.experiments._settings import Settings
from opelda.metrics import split_tokens
from opelda.metrics._split import tokens_per_document

Split = tuple[sparse.csr_array, sparse.csr_array]


@dataclass(frozen=True)
class Data:
    """Documents to learn from and documents to test on.

    Attributes
    ----------
    label : str
        What figures call the collection.
    train : CSR array (D, V)
        Counts to learn from.
    splits : tuple of pairs of CSR arrays
        The same test documents in every pair, split into words observed and words to predict.

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> made = generate(300, n_words=60, n_topics=3)
    >>> data = prepare(made.X, Settings(n_test=50, n_splits=2), label="generated")
    >>> data.train.shape, data.test.shape, len(data.splits)
    ((250, 60), (50, 60), 2)
    """

    label: str
    train: sparse.csr_array
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

    Documents without any word are left out: there is nothing to learn from them.

    Parameters
    ----------
    X : array or sparse matrix (D, V)
        Counts.
    settings : Settings
        `n_test`, `n_splits`, `held_out` and `seed` of it.
    label : str
    splits : sequence of pairs, optional
        Ready-made (observed, to predict) counts over the same words, of the same documents in all
        pairs; then all of X is learned from.

    Returns
    -------
    Data

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> data = prepare(generate(500, n_words=60).X, Settings(n_test=100), label="generated")
    >>> data.train.shape[0], data.test.shape[0]
    (400, 100)
    """
    matrix = _counts(X)
    n_tokens = tokens_per_document(matrix)
    rest = n_tokens > 0
    if not rest.any():
        raise InputError("There are no documents with words in X; give some to learn from.")
    if splits is not None:
        given = _given_splits(splits, matrix.shape[1])
        return Data(label, matrix if rest.all() else matrix[rest], given)
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


def _given_splits(splits: Any, n_words: int) -> tuple[Split, ...]:
    items = list(splits) if isinstance(splits, Iterable) else []
    if not items or not all(isinstance(item, tuple | list) and len(item) == 2 for item in items):
        raise InputError(
            "splits must be a list of pairs (observed, to predict) of counts, at least one pair."
        )
    pairs = tuple((_counts(observed), _counts(held_out)) for observed, held_out in items)
    parts = [part for pair in pairs for part in pair]
    for part in parts:
        if part.shape[1] != n_words:
            raise InputError(
                f"The test documents have {part.shape[1]:,} words, those to learn from "
                f"{n_words:,}; count both over one vocabulary."
            )
        if part.shape[0] != parts[0].shape[0] or not part.shape[0]:
            raise InputError(
                f"A part of the splits has {part.shape[0]:,} documents, the first part "
                f"{parts[0].shape[0]:,}; split the same documents in every pair, at least one."
            )
    return pairs


def _counts(X: Any) -> sparse.csr_array:
    return as_csr(X).astype(np.float32, copy=False)


def _mark(matrix: sparse.csr_array) -> tuple[Any, ...]:
    ends = matrix.indptr.astype(np.int64, copy=False)  # SciPy chooses types by the matrix's size
    words = matrix.indices.astype(np.int32, copy=False)
    sums = (zlib.crc32(np.ascontiguousarray(part).data) for part in (ends, words, matrix.data))
    return (*matrix.shape, matrix.nnz, *sums)
