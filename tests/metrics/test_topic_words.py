"""Coherence, diversity and matching against counting, sorting and trying everything."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import _coherence, match_topics, npmi, topic_diversity

# few different weights: ties everywhere
weights = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 9)),
    elements=st.sampled_from([0, 0.1, 0.2, 0.5]),
)
shares = st.one_of(st.just(0.0), st.floats(1e-6, 1))


def top(row, n):
    return sorted(range(len(row)), key=lambda j: (-row[j], j))[:n]


def slow_npmi(words, X):
    n_docs, scores = len(X), []
    for i, j in combinations(words, 2):
        p_i = sum(row[i] > 0 for row in X) / n_docs
        p_j = sum(row[j] > 0 for row in X) / n_docs
        p_ij = sum(row[i] > 0 and row[j] > 0 for row in X) / n_docs
        if p_ij == 0:
            scores.append(-1.0)
        elif p_ij == 1:
            scores.append(1.0)
        else:
            scores.append(math.log(p_ij / (p_i * p_j)) / -math.log(p_ij))
    return sum(scores) / len(scores)


@given(weights, st.integers(1, 8), st.integers(2, 5), st.integers(0, 999), st.data())
def test_npmi_against_counting_pairs(topics, n_docs, top_n, seed, data):
    density = data.draw(st.sampled_from([0.1, 0.5, 0.9, 1.0]))
    X = np.random.default_rng(seed).random((n_docs, topics.shape[1])) < density
    X = X * np.float32(2.5)
    found = npmi(topics, X, top_n=top_n)
    expected = [slow_npmi(top(row, top_n), X) for row in topics]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert np.isfinite(found).all()
    assert (np.abs(found) <= 1).all()
    ids = np.array([top(row, top_n) for row in topics])
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert np.array_equal(npmi(ids, kind(X), top_n=top_n), found)


def test_npmi_of_known_pairs():
    X = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 0, 1, 0], [1, 0, 1, 0, 0]])
    always = npmi([[0, 1]], X)  # one word is everywhere: no news
    assert always == pytest.approx([0.0])
    assert npmi([[1, 4]], X).tolist() == [-1.0]  # never seen
    assert npmi([[2, 3]], X).tolist() == [-1.0]  # never together
    assert npmi([[0, 1]], X[:2]).tolist() == [1.0]  # always together, everywhere
    assert npmi([[0, 1], [0, 4]], np.zeros((3, 5))).tolist() == [-1.0, -1.0]


def test_npmi_in_parts(monkeypatch):
    rng = np.random.default_rng(0)
    topics, X = rng.dirichlet(np.ones(30), 6), rng.random((100, 30)) < 0.3
    whole = npmi(topics, X)
    monkeypatch.setattr(_coherence, "DOCUMENTS_AT_ONCE", 7)
    assert np.array_equal(npmi(topics, X), whole)


def test_explicit_zeros_are_no_occurrence():
    full = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    X = sparse.csr_array((full.ravel(), np.tile([0, 1], 3), np.arange(4) * 2), shape=(3, 2))
    assert np.array_equal(npmi([[0, 1]], X), npmi([[0, 1]], full))


@given(weights, st.integers(1, 12))
def test_diversity_against_sets(topics, top_n):
    words = [top(row, top_n) for row in topics]
    expected = len(set().union(*words)) / sum(map(len, words))
    assert topic_diversity(topics, top_n) == expected
    assert topic_diversity(np.array(words), top_n) == expected
    assert topic_diversity(topics.astype(np.float32), top_n) == expected
    assert topic_diversity(sparse.csr_array(topics), top_n) == expected


def test_topics_objects_are_topics():
    rng = np.random.default_rng(1)
    topics, X = rng.dirichlet(np.ones(12), 3), rng.random((20, 12)) < 0.4
    assert topic_diversity(Topics(topics), 4) == topic_diversity(topics, 4)
    assert np.array_equal(npmi(Topics(topics), X, top_n=4), npmi(topics, X, top_n=4))
    order, cosine = match_topics(Topics(topics), Topics(topics[::-1]))
    assert order.tolist() == [2, 1, 0]
    np.testing.assert_allclose(cosine, 1, atol=1e-6)


def test_whole_numbers_are_ids_and_the_first_count():
    assert topic_diversity([[9, 8, 7], [9, 8, 6]], top_n=2) == 0.5
    assert topic_diversity([[True, False], [True, False]], top_n=1) == 0.5  # weights after all


@given(
    hnp.arrays(np.float64, (4, 5), elements=shares),
    hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.just(5)), elements=shares),
)
def test_matching_against_trying_everything(a, b):
    order, cosine = match_topics(a, b)

    def similarity(x, y):
        long, wide = math.hypot(*x), math.hypot(*y)
        return sum((x / long) * (y / wide)) if long and wide else 0.0

    n = min(len(a), len(b))
    matched = order[order >= 0]
    assert len(matched) == len(set(matched.tolist())) == n
    for i, j in enumerate(order):
        expected = similarity(a[i], b[j]) if j >= 0 else 0.0
        assert cosine[i] == pytest.approx(expected, abs=1e-9)
    best = max(
        sum(similarity(a[i], b[j]) for i, j in zip(rows, columns, strict=True))
        for rows in combinations(range(len(a)), n)
        for columns in permutations(range(len(b)), n)
    )
    assert cosine.sum() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_matching_tiny_and_huge_weights(scale):
    order, cosine = match_topics(scale * np.eye(3), np.eye(3)[::-1])
    assert order.tolist() == [2, 1, 0]
    assert cosine.tolist() == [1, 1, 1]


@given(st.permutations(range(6)), st.integers(0, 999))
def test_matching_undoes_a_permutation(order, seed):
    topics = np.random.default_rng(seed).dirichlet(np.full(20, 0.2), 6)
    found, cosine = match_topics(topics, topics[list(order)])
    assert np.array_equal(topics[list(order)][found], topics)
    np.testing.assert_allclose(cosine, 1)


X = np.ones((2, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: npmi([[0.5, 0.5]], X), "2 words but X has 3 columns"),
        (lambda: npmi([[0, 3]], X), "word 3 but X has only 3 columns"),
        (lambda: npmi([[0, 0]], X), r"row 0 is \[0, 0\]"),
        (lambda: npmi([[0, 1], [-1, 2]], X), r"row 1 is \[-1, 2\]"),
        (lambda: npmi([[1.0]], [[1]]), "at least 2 words"),
        (lambda: npmi([[0, 1]], X, top_n=1), "top_n must be a whole number from 2"),
        (lambda: npmi([[0, 1]], X[:0]), "no documents"),
        (lambda: npmi([[0, 1]], -X), "counts must be"),
        (lambda: topic_diversity([[0.5, 0.5]], 0), "top_n must be a whole number from 1"),
        (lambda: topic_diversity([[0.5, 0.5]], 2.0), "top_n must be"),
        (lambda: topic_diversity([[0.5, np.nan]]), "NaN or infinite value in row 0"),
        (lambda: topic_diversity([0.5, 0.5]), r"shape \(K, V\)"),
        (lambda: topic_diversity([["a"]]), r"numeric array of shape \(K, V\)"),
        (lambda: topic_diversity([[0.5], [0.5, 0.5]]), r"numeric array of shape \(K, V\)"),
        (lambda: match_topics([[1.0]], [[0.5, 0.5]]), "over 1 and over 2 words"),
        (lambda: match_topics([[1.0]], [[np.inf]]), "b hold a NaN or infinite value in row 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()
