"""Diversity and exclusivity against sorting and counting."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from opelda._word_ranking import heaviest
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import topic_diversity, topic_exclusivity
from tests.cases import cases

# few different weights: ties everywhere
weights = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.integers(2, 9)),
    elements=st.sampled_from([0, 0.1, 0.2, 0.5]),
)


def top(row, n):
    return sorted(range(len(row)), key=lambda j: (-row[j], j))[:n]


@given(weights, st.integers(1, 12))
def test_diversity_equals_set_counts(topics, n_words):
    words = [top(row, n_words) for row in topics]
    expected = len(set().union(*words)) / sum(map(len, words))
    assert topic_diversity(topics, n_words) == expected
    assert topic_diversity(np.array(words), n_words) == expected
    assert topic_diversity(topics.astype(np.float32), n_words) == expected
    assert topic_diversity(sparse.csr_array(topics), n_words) == expected


def test_topics_objects_are_topics():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.ones(12), 3)
    assert topic_diversity(Topics(topics), 4) == topic_diversity(topics, 4)
    found = topic_exclusivity(Topics(topics), 4)
    np.testing.assert_allclose(found, topic_exclusivity(topics, 4), atol=1e-6)


def test_integers_are_ids_and_the_first_decides():
    assert topic_diversity([[9, 8, 7], [9, 8, 6]], n_words=2) == 0.5
    assert topic_diversity([[True, False], [True, False]], n_words=1) == 0.5  # weights after all


@given(weights, st.integers(1, 12), st.sampled_from([1e-320, 1, 1e308]))
def test_exclusivity_equals_explicit_sums(topics, n_words, scale):
    """Also where sums of weights have no place in a double."""
    expected = []
    for row in topics:
        shares = []
        for j in top(row, n_words):
            total = sum(other[j] for other in topics)
            shares.append(row[j] / total if total else 1 / len(topics))
        expected.append(sum(shares) / len(shares))
    found = topic_exclusivity(topics * scale, n_words)
    # the smallest doubles have few digits
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if scale >= 1 else 1e-2)
    assert ((found >= 0) & (found <= 1)).all()
    np.testing.assert_allclose(topic_exclusivity(topics[::-1] * scale, n_words), found[::-1])


def test_exclusivity_takes_the_memory_of_the_topics():
    topics = np.random.default_rng(0).dirichlet(np.ones(300), 200)
    tracemalloc.start()
    try:
        topic_exclusivity(topics, 100)
        assert tracemalloc.get_traced_memory()[1] < 10 * topics.nbytes
    finally:
        tracemalloc.stop()


def test_exclusivity_of_known_topics():
    assert topic_exclusivity(np.eye(3), 1).tolist() == [1, 1, 1]
    assert topic_exclusivity([[0.25] * 4] * 5).tolist() == pytest.approx([0.2] * 5)
    assert topic_exclusivity([[0.0, 0.0]] * 4).tolist() == [0.25] * 4
    assert topic_exclusivity([[0.3, 0.7]]).tolist() == [1]


@cases(
    ("call", "message"),
    [
        (lambda: topic_diversity([[0.5, 0.5]], 0), "n_words must be a whole number, at least 1"),
        (lambda: topic_diversity([[0.5, 0.5]], 2.0), "n_words must be"),
        (lambda: topic_diversity([[0.5, np.nan]]), "must be finite, but row 0 has"),
        (lambda: topic_diversity([0.5, 0.5]), r"shape \(K, V\)"),
        (lambda: topic_diversity([["a"]]), r"numeric array of shape \(K, V\)"),
        (lambda: topic_diversity([[0.5], [0.5, 0.5]]), r"numeric array of shape \(K, V\)"),
        (lambda: topic_exclusivity([[0, 1]]), "topics must have the weights of words"),
        (lambda: topic_exclusivity([[0.5, -0.5]]), "non-negative floats"),
        (lambda: topic_exclusivity([[0.5, np.inf]]), "must be finite, but row 0 has"),
        (lambda: topic_exclusivity([[0.5, 0.5]], 0), "n_words must be"),
    ],
)
def test_bad_input_is_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_top_words_equal_a_full_sort():
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 40, (37, 5000)).astype(np.float32)  # many ties
    for array in (weights, np.asfortranarray(weights)):
        for n in (1, 10, 77, 5000):
            expected = np.argsort(-weights, axis=1, kind="stable")[:, :n]
            np.testing.assert_array_equal(heaviest(array, n), expected)
