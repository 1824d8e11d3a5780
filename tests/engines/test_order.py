"""Document keys and orders depend only on contents."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import ReferenceEngine
from opelda.engines.seam import numbered, ordering, ranked

from .made import SEEDS, make_documents
from .tokens_made import copy_numbers

N_DOCS, N_WORDS = 120, 30


def collection(seed, fractions=False):
    """Return documents with many duplicates and some empty documents."""
    rng = np.random.default_rng(seed)
    X = make_documents(rng, N_DOCS, N_WORDS, fractions).tolil()
    X[:9] = 0
    return sparse.csr_array(X.tocsr()[rng.integers(0, N_DOCS, N_DOCS)])


def contents(X):
    return [row.tobytes() for row in X.toarray().astype(np.float32)]


@given(SEEDS, st.booleans())
def test_keys_tell_contents_and_copies_apart(engine, seed, fractions):
    X = collection(seed, fractions)
    documents, rows = engine.documents(X), contents(X)
    by_content = dict(zip(rows, documents.content_keys().tolist(), strict=True))
    assert [by_content[row] for row in rows] == documents.content_keys().tolist()
    assert len(set(by_content.values())) == len(by_content)
    assert len(set(documents.keys.tolist())) == N_DOCS
    assert np.array_equal(documents.keys, numbered(documents.content_keys(), copy_numbers(X)))


@given(SEEDS, st.booleans())
def test_content_keys_do_not_depend_on_engine_or_format(engine, seed, fractions):
    X = collection(seed, fractions)
    expected = ReferenceEngine().documents(X).content_keys()
    assert np.array_equal(engine.documents(X).content_keys(), expected)
    with_zeros = sparse.csr_array(X, copy=True).astype(np.float64)
    with_zeros.data[::3] = 0
    without = with_zeros.copy()
    without.eliminate_zeros()
    forms = [with_zeros, without, without.astype(np.float32)]
    if not fractions:
        forms += [without.astype(np.int64), without.astype(np.uint16)]
    for form in forms:
        found = engine.documents(form).content_keys()
        assert np.array_equal(found, engine.documents(without).content_keys())


def test_no_documents(engine):
    documents = engine.documents(sparse.csr_array((0, 5), dtype=np.float32))
    assert documents.keys.shape == documents.order(0, 0).shape == (0,)


@given(SEEDS, st.integers(0, 2**32 - 1), st.integers(0, 9))
def test_order_depends_on_contents_only(engine, seed, chance, which):
    X = collection(seed)
    moved = X[np.random.default_rng(seed).permutation(N_DOCS)]
    order, others = (engine.documents(rows).order(chance, which) for rows in (X, moved))
    assert sorted(order) == sorted(others) == list(range(N_DOCS))
    assert np.array_equal(X[order].toarray(), moved[others].toarray())


@given(SEEDS, st.lists(st.integers(0, N_DOCS), max_size=4))
def test_merged_sorted_parts_equal_the_sorted_collection(engine, seed, cuts):
    X = collection(seed)
    numbers, merged = copy_numbers(X), []
    for first, last in pairwise(sorted([0, *cuts, N_DOCS])):
        part = engine.documents(X[first:last])
        keys = numbered(part.content_keys(), numbers[first:last])
        merged += zip(ordering(keys, 3, 1).tolist(), contents(X[first:last]), strict=True)
    whole = contents(X[engine.documents(X).order(3, 1)])
    assert [row for _, row in sorted(merged)] == whole


@given(SEEDS)
def test_sum_of_lengths_is_exact_in_any_order_and_split(engine, seed):
    X, rng = collection(seed).astype(np.float64), np.random.default_rng(seed)
    X.data *= rng.lognormal(-9, 4, X.nnz)  # magnitudes whose floating-point sums would be rounded
    tokens = engine.tokens(engine.documents(X), 3)
    unit = Fraction(2) ** -tokens.shift
    assert tokens.total == sum(round(Fraction(float(n)) / unit) for n in tokens.rows.counts) * unit
    assert tokens.total == engine.tokens(engine.documents(X[::-1]), 3).total
    parts = [engine.tokens(engine.documents(x), 3, shift=tokens.shift) for x in (X[:5], X[5:])]
    assert tokens.total == sum(part.total for part in parts)


@given(st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 3)), st.integers(0, 30))
def test_ranks(keys, n):
    some = np.array(keys, np.uint64)
    assert ranked(some).tolist() == sorted(range(len(keys)), key=keys.__getitem__)
    assert some[ranked(some, n)].tolist() == sorted(keys)[:n]


@pytest.mark.parametrize("seed", range(1))
def test_orders_are_uniform(engine, seed):
    """Positions are independent between orders and independent of document numbers."""
    documents = engine.documents(collection(seed))
    chances = range(40 * seed, 40 * seed + 40)
    orders = [documents.order(chance, which) for chance in chances for which in range(50)]
    assert len({tuple(order) for order in orders}) == 2000
    places = np.argsort(orders, axis=1)
    # the mean of 2,000 uniform places, and the correlation of two independent orders
    even = (N_DOCS - 1) / 2
    assert abs(places.mean(axis=0) - even).max() < 6 * N_DOCS / np.sqrt(12 * 2000)
    correlations = np.corrcoef(places)[np.triu_indices(2000, 1)]
    assert abs(correlations).max() < 7 / np.sqrt(N_DOCS - 1)
    assert abs(correlations.std() * np.sqrt(N_DOCS - 1) - 1) < 0.05
