"""Tokens' topics: what is drawn, against probabilities worked out by hand; what is counted."""

from itertools import product
from math import lgamma

import numpy as np
import pytest
from scipy import sparse

from opelda.engines import aligned_empty, get_engine

ENGINE = get_engine("cpu")


def rows_of(topics):
    topics = np.asarray(topics)
    rows = aligned_empty(topics.shape[1], -(-len(topics) // 16) * 16)
    rows[:] = 0
    rows[:, : len(topics)] = topics.T
    return rows


def tokens_of(counts):
    X = sparse.csr_array(np.asarray(counts, np.float32))
    return ENGINE.tokens(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)


def draw(tokens, topics, alpha, **options):
    settings = {"own": np.zeros(len(alpha)), "fresh": True, "n_sweeps": 1, "seed": 0} | options
    ENGINE.draw(tokens, rows_of(topics), np.asarray(alpha, float), **settings)
    return tokens.topics


def within_sampling_error(seen, probabilities, n):
    """Six standard deviations: about one wrong alarm in a billion."""
    return np.abs(seen - probabilities) <= 6 * np.sqrt(probabilities * (1 - probabilities) / n)


@pytest.mark.parametrize("seed", [0, 1, 2**31])
def test_draws_follow_the_posterior_of_a_document_s_topics(seed):
    topics = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4]])
    alpha, n = np.array([0.3, 0.8, 0.1]), 40_000
    words = [0, 0, 2]  # a document of two tokens of word 0 and one of word 2
    exact = {}
    for z in product(range(3), repeat=3):
        sizes = np.bincount(z, minlength=3)
        prior = sum(lgamma(a + m) - lgamma(a) for a, m in zip(alpha, sizes, strict=True))
        exact[z] = np.exp(prior) * np.prod([topics[k, w] for k, w in zip(z, words, strict=True)])
    total = sum(exact.values())
    drawn = draw(tokens_of(np.tile([2, 0, 1], (n, 1))), topics, alpha, n_sweeps=15, seed=seed)
    cells = drawn.reshape(n, 3) @ np.array([9, 3, 1])
    seen = np.bincount(cells, minlength=27) / n
    probabilities = np.array([exact[z] / total for z in product(range(3), repeat=3)])
    assert within_sampling_error(seen, probabilities, n).all()


def test_a_token_does_not_count_for_itself():
    topics, alpha = np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0.4, 0.6])
    own, n = np.array([0.3, 0.1]), 40_000
    tokens = tokens_of(np.tile([1, 0], (n, 1)))
    tokens.topics[:] = 0
    drawn = draw(tokens, topics, alpha, own=own, fresh=False)
    weights = alpha * (topics[:, 0] - own * [1, 0])
    expected = weights / weights.sum()
    assert within_sampling_error(np.bincount(drawn, minlength=2) / n, expected, n).all()


@pytest.mark.parametrize("n_topics", [1, 7, 16, 100])
def test_only_topics_that_have_the_word_are_drawn(n_topics):
    rng = np.random.default_rng(0)
    topics = np.zeros((n_topics, 40))
    topics[np.arange(40) % n_topics, np.arange(40)] = 1.0  # every word in one topic alone
    counts = rng.poisson(1.0, (50, 40))
    tokens = tokens_of(counts)
    draw(tokens, topics, np.full(n_topics, 0.1), n_sweeps=3)
    words = np.repeat(tokens.words, np.minimum(np.ceil(tokens.counts), 16).astype(int))
    assert (tokens.topics == words % n_topics).all()


def test_a_count_is_so_many_tokens_of_equal_weight():
    tokens = tokens_of([[1, 0, 2.5, 16], [0, 17, 1e6, 0.25]])
    assert np.diff(tokens.first).tolist() == [1 + 3 + 16, 16 + 16 + 1]
    rows = rows_of(np.zeros((2, 4)))
    sums = ENGINE.count(tokens, rows, 2)
    assert rows[:, 0] == pytest.approx([1, 17, 2.5 + 1e6, 16.25])
    assert sums == pytest.approx([rows[:, 0].sum(), 0])


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_counts_are_those_of_numpy_and_draws_the_same_for_any_threads(n_threads):
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.3, 2.0, (300, 50)) * (rng.random((300, 50)) < 0.2)
    topics = rng.dirichlet(np.full(50, 0.1), 20)
    alone, together = tokens_of(counts), tokens_of(counts)
    draw(alone, topics, np.full(20, 0.1), n_sweeps=2, n_threads=1)
    draw(together, topics, np.full(20, 0.1), n_sweeps=2, n_threads=n_threads)
    assert np.array_equal(alone.topics, together.topics)
    rows = rows_of(np.zeros((20, 50)))
    sums = ENGINE.count(together, rows, 20, n_threads)
    times = np.minimum(np.ceil(together.counts), 16).astype(int)
    expected = np.zeros((50, 20))
    where = (np.repeat(together.words, times), together.topics)
    np.add.at(expected, where, np.repeat(together.counts / times, times))
    np.testing.assert_allclose(rows[:, :20], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(sums, expected.sum(axis=0), rtol=1e-6)
    one = rows_of(np.zeros((20, 50)))
    assert np.array_equal(sums, ENGINE.count(together, one, 20, 1))
    assert np.array_equal(rows, one)
