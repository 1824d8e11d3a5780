"""Remapped columns against NumPy, for few and many columns."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import _text
from opelda.corpus._matrix import remap_columns


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(0, 12),
    n_words=st.integers(1, 40),
    spread=st.sampled_from([1, 3, 200]),
    kept=st.floats(0, 1),
)
def test_remapped_columns_match_numpy(seed, n_rows, n_words, spread, kept):
    rng = np.random.default_rng(seed)
    dense = rng.poisson(0.7, (n_rows, n_words)) * rng.choice([1.0, 0.25, 3.5])
    counts = sparse.csr_array(dense.astype(np.float32))
    n_columns = n_words * spread
    columns = rng.permutation(n_columns)[:n_words].astype(np.int32)
    columns[rng.random(n_words) > kept] = -1
    moved, left_out = remap_columns(counts, columns, n_columns)
    expected = np.zeros((n_rows, n_columns), np.float32)
    expected[:, columns[columns >= 0]] = dense[:, columns >= 0]
    assert (moved.toarray() == expected).all()
    assert left_out == dense[:, columns < 0].sum()
    assert moved.indices.dtype == np.int32
    checked = sparse.csr_array((moved.data, moved.indices, moved.indptr), shape=moved.shape)
    assert checked.has_canonical_format
    documents, tokens = np.zeros(n_columns, np.int64), np.zeros(n_columns)
    there = columns >= 0
    kept_counts = sparse.csr_array(counts[:, there])
    answer = _text.merge(
        kept_counts.indices.astype(np.int32),
        kept_counts.data.astype(np.float32),
        columns[there],
        documents,
        tokens,
    )
    assert (answer == columns[there][kept_counts.indices]).all()
    assert (documents == (expected > 0).sum(axis=0)).all()
    assert (tokens == expected.sum(axis=0)).all()


def test_invalid_matrices_are_rejected():
    one = np.ones(1, np.float32)
    ends, words = np.array([0, 1]), np.array([0], np.int32)
    for bad_ends, bad_words, columns in (
        (ends, np.array([1], np.int32), np.array([0], np.int32)),
        (ends, np.array([-1], np.int32), np.array([0], np.int32)),
        (np.array([0, 2]), words, np.array([0], np.int32)),
        (np.array([1, 1]), words, np.array([0], np.int32)),
        (np.array([0, 2, 1]), words, np.array([0], np.int32)),
    ):
        with pytest.raises(ValueError, match="not those of a sparse matrix"):
            _text.place(bad_ends, bad_words, one, columns)
    with pytest.raises(ValueError, match="no column"):
        _text.merge(words, one, np.array([5], np.int32), np.zeros(2, np.int64), np.zeros(2))
    with pytest.raises(ValueError, match="no column"):
        _text.merge(
            np.array([3], np.int32),
            one,
            np.array([0], np.int32),
            np.zeros(2, np.int64),
            np.zeros(2),
        )
