"""Matrices as items of a stream: every type, any width, never modified."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from opelda import OnlineOPE
from opelda.corpus import Vocabulary, mini_batches
from opelda.errors import InputError
from tests.cases import cases

counts = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(1, 6)),
    elements=st.sampled_from([0, 0, 1, 2, 0.5, 40]),
)


class Frame:
    """The array interface of a data frame."""

    def __init__(self, values):
        self.values = values
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype or self.values.dtype)

    def copy(self):
        return Frame(self.values.copy())


KINDS = {
    "dense": lambda X: X,
    "fortran": np.asfortranarray,
    "float16": lambda X: X.astype(np.float16),
    "big-endian": lambda X: X.astype(">f8"),
    "csr": sparse.csr_array,
    "csc": sparse.csc_array,
    "coo": sparse.coo_array,
    "spmatrix": sparse.csr_matrix,
    "lil": sparse.lil_array,
    "dok": sparse.dok_array,
    "long indices": lambda X: _long(sparse.csr_array(X)),
    "duplicates": lambda X: _twice(sparse.csr_array(X / 2)),
    "explicit zeros": lambda X: _full(X),
    "frame": lambda X: Frame(X),
}


def _long(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _twice(X):
    """Return every entry as two halves, out of order."""
    X = X.tocoo()
    rows, columns = (np.concatenate([part, part])[::-1] for part in X.coords)
    data = np.concatenate([X.data, X.data])[::-1]
    order = np.argsort(rows, kind="stable")
    indptr = np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    return sparse.csr_array((data[order], columns[order], indptr), shape=X.shape)


def _full(X):
    indices = np.tile(np.arange(X.shape[1]), X.shape[0])
    indptr = np.arange(X.shape[0] + 1) * X.shape[1]
    return sparse.csr_array((X.ravel().copy(), indices, indptr), shape=X.shape)


def only(items, **options):
    (batch,) = mini_batches(items, batch_size=3, **options)
    return batch


@pytest.mark.parametrize("kind", KINDS)
@given(X=counts, n_words=st.one_of(st.none(), st.integers(1, 9)))
def test_every_matrix_type_at_every_width(kind, X, n_words):
    item = KINDS[kind](X)
    before = item.copy()
    batch = only([item], n_words=n_words)
    width = X.shape[1] if n_words is None else n_words
    expected = np.zeros((len(X), width), np.float32)
    shared = min(width, X.shape[1])
    expected[:, :shared] = X[:, :shared]
    assert np.array_equal(batch.X.toarray(), expected)
    assert batch.n_unknown_tokens == X[:, shared:].sum()
    assert batch.change is None
    assert isinstance(batch.X, sparse.csr_array)
    assert batch.X.dtype == np.float32
    assert batch.X.indices.dtype == batch.X.indptr.dtype == np.int32
    assert batch.X.has_canonical_format
    assert (batch.X.data > 0).all()
    if sparse.issparse(item) and item.format == "csr":
        assert np.array_equal(item.data, before.data)
        assert np.array_equal(item.indices, before.indices)
        batch.X.data[:] = -1
        assert np.array_equal(item.data, before.data)


@cases("dtype", [bool, np.uint8, np.int8, np.int64, np.uint64, np.float32])
def test_every_numeric_dtype(dtype):
    X = np.array([[1, 0, 1], [0, 1, 0]]).astype(dtype)
    assert np.array_equal(only([X]).X.toarray(), X.astype(np.float32))


def test_duplicate_small_integers_do_not_overflow():
    X = sparse.coo_array((np.full(4, 100, np.int8), ([0] * 4, [0] * 4)), shape=(1, 1))
    assert only([X]).X.toarray().tolist() == [[400]]


def test_first_matrix_sets_the_width():
    items = [np.ones((1, 3)), np.ones((1, 5)), np.ones((1, 2))]
    batches = list(mini_batches(items, batch_size=9))
    assert [batch.X.shape for batch in batches] == [(1, 3)] * 3
    assert [batch.n_unknown_tokens for batch in batches] == [0, 2, 0]


@cases("n_words", [None, 0, 5])
def test_vocabulary_sets_the_width(n_words):
    vocabulary = Vocabulary(["aa"], growing=True)
    items = [np.ones((1, 3)), "bb", np.ones((1, 3))]
    batches = list(mini_batches(items, batch_size=9, vocabulary=vocabulary, n_words=n_words))
    assert [batch.X.shape for batch in batches] == [(1, 1), (1, 2), (1, 2)]
    assert [batch.n_unknown_tokens for batch in batches] == [2, 0, 1]
    assert vocabulary.document_frequency.tolist() == [0, 1]


def test_matrices_without_rows_are_skipped():
    items = [np.ones((0, 3)), np.ones((2, 3)), sparse.csr_array((0, 3))]
    assert only(items).position["n"] == 2


def test_counts_below_single_precision_are_zero():
    assert only([np.array([[1e-60, 1.0]])]).X.nnz == 1


@cases(
    ("item", "message"),
    [
        (np.array([[1, -2]]), r"Item 1\[0, 1\] is -2"),
        (np.array([[1, np.nan]]), r"Item 1\[0, 1\] is nan"),
        (np.array([[1, 0], [np.inf, 0]]), r"Item 1\[1, 0\] is inf"),
        (np.array([[1e14, 0]]), r"Item 1\[0, 0\] is 100000000000000"),
        (sparse.csr_array([[0, -1.0]]), r"Item 1\[0, 1\] is -1"),
        (np.array([[1j, 2]]), "Item 1 must hold counts, got values of type complex"),
        (np.array([["a", "b"]]), "Item 1 must hold counts"),
        (np.array([[object()]]), "Item 1 must hold counts"),
        (np.arange(3), r"Item 1 must have shape \(documents, words\)"),
        (np.ones((1, 1, 1)), r"Item 1 must have shape \(documents, words\)"),
        (
            np.ma.masked_equal([[1, 2]], 2),
            "Item 1 must be a matrix of counts without masked entries",
        ),
        (Frame(np.array([["x"]])), "Item 1 must hold counts"),
    ],
)
@cases("n_words", [None, 1])
def test_invalid_matrices_are_named(item, message, n_words):
    with pytest.raises(InputError, match=message):
        list(mini_batches([np.ones((1, 2)), item], batch_size=1, n_words=n_words))


@cases("index", [-1, 5])
def test_invalid_indices_are_rejected(index):
    X = sparse.csr_array(np.ones((1, 2)))
    X.indices = np.array([0, index], np.int32)
    with pytest.raises(InputError, match="column indices are out of range"):
        list(mini_batches([X], batch_size=1))


def test_data_frame_of_counts():
    frame = pl.DataFrame({"tea": [1, 0], "cup": [0, 2]})
    assert only([frame]).X.toarray().tolist() == [[1, 0], [0, 2]]
    with pytest.raises(InputError, match="Item 0 must hold counts"):
        only([pl.DataFrame({"tea": ["one"]})])


def test_learners_reject_masked_entries_and_sum_duplicates():
    dense = np.random.default_rng(0).poisson(2.0, (20, 6))
    model = OnlineOPE(2, random_state=0).fit(dense)
    masked = np.ma.masked_greater(dense, 3)
    for use in (model.fit, model.partial_fit, model.transform, model.score):
        with pytest.raises(InputError, match="without masked entries"):
            use(masked)
    # 16 times 2**28 exceeds 32 bits, in row sums and in cells
    rows, words = np.repeat(np.arange(20), 16), np.tile(np.arange(6), 54)[:320] % 2
    X = sparse.coo_array((np.full(320, 2**28, np.int32), (rows, np.sort(words))), shape=(20, 6))
    exact = np.zeros((20, 6))
    np.add.at(exact, (X.coords[0], X.coords[1]), X.data.astype(np.float64))
    again = OnlineOPE(2, random_state=0).fit(exact)
    assert (OnlineOPE(2, random_state=0).fit(X).components_ == again.components_).all()
    assert (again.transform(X) == again.transform(exact)).all()
