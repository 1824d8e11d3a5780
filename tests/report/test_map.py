"""Positions of topics on the map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from opelda._word_ranking import hellinger
from opelda.report import map_positions
from tests.cases import cases


def some_topics(n_topics, n_words, seed, sparsity=0.2):
    return np.random.default_rng(seed).dirichlet(np.full(n_words, sparsity), n_topics)


@settings(max_examples=25)
@given(st.integers(1, 30), st.integers(1, 40), st.integers(0, 99))
def test_positions_are_separate_and_in_bounds(n_topics, n_words, seed):
    places = map_positions(some_topics(n_topics, n_words, seed))
    assert places.shape == (n_topics, 2)
    assert np.abs(places).max() <= 1 + 1e-12
    if n_topics > 1:
        assert pdist(places).min() > 0.1 / np.sqrt(n_topics)


@settings(max_examples=15)
@given(st.integers(2, 25), st.integers(0, 99))
def test_map_is_independent_of_topic_and_word_order(n_topics, seed):
    topics = some_topics(n_topics, 50, seed)
    places = map_positions(topics)
    assert np.array_equal(places, map_positions(topics))
    chance = np.random.default_rng(seed)
    rows, columns = chance.permutation(n_topics), chance.permutation(50)
    assert np.allclose(map_positions(topics[rows]), places[rows], atol=1e-6)
    assert np.allclose(map_positions(topics[:, columns]), places, atol=1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_similar_topics_are_close(seed):
    """The nearest neighbor of each topic is of its family."""
    chance = np.random.default_rng(seed)
    heads = chance.dirichlet(np.full(300, 0.05), 8)
    topics = np.repeat(heads, 5, axis=0) * 0.7 + 0.3 * chance.dirichlet(np.full(300, 0.05), 40)
    far = squareform(pdist(map_positions(topics)))
    np.fill_diagonal(far, np.inf)
    assert ((far.argmin(axis=1) // 5) == np.arange(40) // 5).mean() > 0.9


@cases("n_topics", [2, 3, 7, 40])
def test_equal_topics_have_distinct_positions(n_topics):
    places = map_positions(np.full((n_topics, 6), 1 / 6))
    assert pdist(places).min() > 0.1 / np.sqrt(n_topics)


def test_distances_are_hellinger_distances():
    topics = some_topics(6, 20, 0)
    expected = [[np.sqrt(max(1 - np.sqrt(p * q).sum(), 0)) for q in topics] for p in topics]
    assert np.allclose(hellinger(topics), expected, atol=1e-5)
