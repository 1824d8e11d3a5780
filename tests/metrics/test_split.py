"""Splitting tokens: exact sizes, exact sums, uniform choices."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from opelda.errors import InputError
from opelda.metrics import _predictive as _split
from opelda.metrics import split_tokens
from tests.cases import cases

counts = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(1, 7)),
    elements=st.sampled_from([0, 0, 1, 2, 3, 11, 0.25, 2.5, 1.1]),
)
seeds = st.integers(0, 2**32 - 1)


@given(counts, st.floats(0.01, 0.99), seeds)
def test_split_sizes_and_sums(X, share, seed):
    observed, held = split_tokens(X, held_out=share, random_state=seed)
    for part in (observed, held):
        assert part.shape == X.shape
        assert part.dtype == np.float32
        assert part.has_canonical_format
        assert (part.data > 0).all()
    assert np.array_equal(observed.toarray() + held.toarray(), X)
    for row, kept, taken in zip(X, observed.toarray(), held.toarray(), strict=True):
        n = int(np.ceil(row).sum())
        wanted = min(max(round(share * n), 1), n - 1) if n > 1 else 0
        # whole tokens go to one side, the fraction of an entry to either side
        pieces = 0
        for count, a, b in zip(row, kept, taken, strict=True):
            fraction = np.float64(count) % 1
            on_held = not np.isclose(b % 1, 0) or (fraction > 0 and np.isclose(a % 1, 0))
            assert np.isclose(b - fraction * on_held, round(float(b - fraction * on_held)))
            pieces += round(float(b - fraction * on_held)) + (on_held and fraction > 0)
        assert pieces == wanted


@given(seeds)
def test_every_choice_is_equally_probable(seed):
    """Words 0, 0, 0, 1, 2, 2, the last of weight 1/2: all 15 pairs, by chi-square."""
    tokens = [(0, 1.0), (0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0), (2, 0.5)]
    expected = Counter()
    for pair in combinations(tokens, 2):
        row = [0.0, 0.0, 0.0]
        for word, weight in pair:
            row[word] += weight
        expected[tuple(row)] += 1
    n_docs = 6000
    _, held = split_tokens(np.tile([3, 1, 1.5], (n_docs, 1)), held_out=0.3, random_state=seed)
    found = Counter(map(tuple, held.toarray().tolist()))
    assert set(found) <= set(expected)
    choices = sorted(expected)
    result = stats.chisquare(
        [found[c] for c in choices], [expected[c] / 15 * n_docs for c in choices]
    )
    assert result.pvalue > 1e-9


@given(seeds)
def test_documents_are_split_independently(seed):
    _, held = split_tokens(np.ones((4000, 2)), random_state=seed)
    first = held.toarray()[:, 0].astype(int)
    assert abs(first.mean() - 0.5) < 7 * np.sqrt(0.25 / 4000)
    assert abs((first[1:] == first[:-1]).mean() - 0.5) < 7 * np.sqrt(0.25 / 3999)


def split_of(row, number, share, seed):
    """Split one document with whole numbers of 64 bits, token by token; `number` among equals."""

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
        return z ^ z >> 31

    golden = 0x9E3779B97F4A7C15
    words = [(j, np.float32(count)) for j, count in enumerate(row) if count]
    bits = [(j << 32) + int(count.view(np.uint32)) for j, count in words]
    content = sum(mix((b + golden) % 2**64) for b in bits)
    key = mix((content + mix((number + golden) % 2**64)) % 2**64)
    key = mix((key + mix((seed + golden) % 2**64)) % 2**64)
    tokens = []
    for j, count in words:
        whole = int(count)
        tokens += [(j, 1.0)] * whole + [(j, float(count) - whole)] * bool(count > whole)
    n = len(tokens)
    draws = sorted(range(n), key=lambda i: mix((key + (i + 1) * golden) % 2**64))
    held = np.zeros(len(row))
    for i in draws[: min(max(round(share * n), 1), n - 1) if n > 1 else 0]:
        held[tokens[i][0]] += tokens[i][1]
    return held


@given(counts, st.floats(0.01, 0.99), seeds)
def test_split_depends_on_content_duplicate_number_and_seed(X, share, seed):
    _, held = split_tokens(X, held_out=share, random_state=seed)
    seen = Counter()
    for row, found in zip(X, held.toarray(), strict=True):
        assert found == pytest.approx(split_of(row, seen[tuple(row)], share, seed), abs=1e-6)
        seen[tuple(row)] += 1


@given(seeds, seeds)
def test_split_does_not_depend_on_order_and_other_documents(seed, order):
    """Distinct documents, and one that is there three times: those three may change places."""
    rng = np.random.default_rng(order)
    X = np.vstack([rng.poisson(1.5, (30, 12)), np.tile([0] * 10 + [3, 4], (3, 1))])
    X[:30, 0] = np.arange(2, 32)
    _, held = split_tokens(X, random_state=seed)
    chosen = rng.permutation(33)[:20]
    _, again = split_tokens(X[chosen], random_state=seed)
    expected, found = held.toarray()[chosen], again.toarray()
    assert np.array_equal(found[chosen < 30], expected[chosen < 30])
    copies = held.toarray()[30:][: (chosen >= 30).sum()]
    assert sorted(found[chosen >= 30].tolist()) == sorted(copies.tolist())


def test_result_does_not_depend_on_parts(monkeypatch):
    X = sparse.random_array((200, 30), density=0.3, rng=0) * 10
    whole = split_tokens(X, random_state=3)
    monkeypatch.setattr(_split, "TOKENS_AT_ONCE", 64)
    for one, other in zip(whole, split_tokens(X, random_state=3), strict=True):
        assert (one != other).nnz == 0


def test_seed_determines_the_split_and_input_is_unchanged():
    X = sparse.csr_array(np.full((20, 5), 4.0))
    first, again, other = (split_tokens(X, random_state=seed)[1] for seed in (1, 1, 2))
    assert (first != again).nnz == 0
    assert (first != other).nnz > 0
    assert (X.toarray() == 4).all()


def test_short_documents_are_all_observed():
    X = np.array([[0, 0], [1, 0], [0, 0.5], [1, 1]])
    observed, held = split_tokens(X, held_out=0.99, random_state=0)
    assert np.array_equal(observed.toarray()[:3], X[:3])
    assert held.sum(axis=1).tolist() == [0, 0, 0, 1]


def test_explicit_zeros_are_ignored():
    X = sparse.csr_array((np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    assert split_tokens(X)[1].nnz == 0


@cases("share", [0, 1, 0.0, 1.0, -0.1, np.nan, "0.3", None])
def test_bad_shares_are_rejected(share):
    with pytest.raises(InputError, match="held_out must be a share"):
        split_tokens([[2, 2]], held_out=share)


def test_too_many_tokens_are_rejected():
    with pytest.raises(InputError, match="Document 1 has 20000000 tokens"):
        split_tokens([[1, 1], [1e7, 1e7]])


@cases("X", [[[1, -1]], [[np.nan]], [1, 2], [["a"]]])
def test_bad_counts_are_rejected(X):
    with pytest.raises(InputError):
        split_tokens(X)
