"""Generated documents: shapes, and agreement with the stated distributions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import generate
from opelda.errors import InputError
from tests.cases import cases

seeds = st.integers(0, 2**32 - 1)


@given(
    st.integers(0, 30),
    st.integers(1, 40),
    st.integers(1, 8),
    st.sampled_from([0.01, 3, 50]),
    st.sampled_from([1e-3, 0.1, 5]),
    seeds,
)
def test_shapes_and_normalization(n_docs, n_words, n_topics, n_tokens, prior, seed):
    made = generate(
        n_docs,
        n_words=n_words,
        n_topics=n_topics,
        n_tokens=n_tokens,
        doc_topic_prior=prior,
        topic_word_prior=prior,
        random_state=seed,
    )
    assert made.X.shape == (n_docs, n_words)
    assert made.X.dtype == np.float32
    assert made.X.indices.dtype == np.int32
    assert made.X.has_canonical_format
    assert (made.X.sum(axis=1) >= 1).all()
    assert made.topics.shape == (n_topics, n_words)
    assert made.mixtures.shape == (n_docs, n_topics)
    for rows in (made.topics, made.mixtures):
        assert (rows >= 0).all()
        np.testing.assert_allclose(rows.sum(axis=1), 1)


@given(seeds)
def test_word_counts_match_their_expectation(seed):
    """Word counts against their expectation, by Bernstein's bound for independent draws."""
    made = generate(3000, n_words=25, n_topics=3, n_tokens=30, random_state=seed)
    lengths = made.X.sum(axis=1)
    probability = made.mixtures @ made.topics
    expected = (lengths[:, None] * probability).sum(axis=0)
    off = np.abs(made.X.sum(axis=0) - expected)
    # P(off > t) <= 2 exp(-t^2 / 2(v + t/3)) with v the variance, at most the expectation
    t = 25 / 3 + np.sqrt((25 / 3) ** 2 + 50 * expected)
    assert (off <= t).all()  # each fails with probability 2 exp(-25)


@given(seeds)
def test_documents_match_their_mixtures(seed):
    """With separated topics, the block of a token nearly determines its topic."""
    made = generate(2000, n_words=40, n_topics=4, n_tokens=60, separated=True, random_state=seed)
    shares = made.X.toarray().reshape(2000, 4, 10).sum(axis=2) / made.X.sum(axis=1)[:, None]
    expected = 0.9 * made.mixtures + 0.1 / 4
    # Hoeffding: a document of n tokens is off by more than sqrt(14 / n) once in 1e12 times
    off = np.abs(shares - expected).max(axis=1)
    assert (off <= np.sqrt(14 / made.X.sum(axis=1))).all()
    assert np.abs((shares - expected).mean(axis=0)).max() < 0.02


@given(seeds)
def test_lengths_are_poisson(seed):
    lengths = generate(5000, n_words=20, n_tokens=40, random_state=seed).X.sum(axis=1)
    assert abs(lengths.mean() - 40) < 7 * np.sqrt(40 / 5000)
    assert abs(lengths.var() / 40 - 1) < 7 * np.sqrt(2 / 5000) * 1.1


@given(st.integers(1, 12), st.integers(0, 40))
def test_separated_topics_use_disjoint_blocks_of_words(n_topics, more):
    n_words = n_topics + more
    topics = generate(1, n_words=n_words, n_topics=n_topics, separated=True).topics
    owner = topics.argmax(axis=0)
    assert (np.diff(owner) >= 0).all()
    assert np.array_equal(np.unique(owner), np.arange(n_topics))
    for k in range(n_topics):
        block = topics[k, owner == k]
        assert block.sum() >= 0.9
        assert (np.diff(block) < 0).all()
        assert (topics[k] > 0).all()


def test_output_depends_on_the_seed():
    first, again, other = (generate(50, random_state=seed) for seed in (1, 1, 2))
    assert (first.X != again.X).nnz == 0
    assert np.array_equal(first.topics, again.topics)
    assert (first.X != other.X).nnz > 0
    rng = np.random.default_rng(1)
    assert (generate(50, random_state=rng).X != first.X).nnz == 0


@pytest.mark.parametrize("seed", range(1))
def test_more_documents_than_one_block(seed):
    made = generate(10_000, n_words=30, n_topics=2, n_tokens=5, separated=True, random_state=seed)
    assert made.X.shape == (10_000, 30)
    assert made.X.indices.dtype == np.int32
    # rows of X and of mixtures correspond
    own = made.X[:, :15].sum(axis=1) / made.X.sum(axis=1)
    for part in np.array_split(np.arange(10_000), 5):
        assert np.corrcoef(own[part], made.mixtures[part, 0])[0, 1] > 0.8


@cases(
    "arguments",
    [
        {"n_docs": -1},
        {"n_docs": 2.5},
        {"n_words": 0},
        {"n_topics": 0},
        {"n_tokens": 0},
        {"n_tokens": np.nan},
        {"doc_topic_prior": 0},
        {"topic_word_prior": "0.1"},
        {"n_words": 3, "n_topics": 4, "separated": True},
        {"random_state": "seed"},
        {"random_state": -1},
    ],
)
def test_invalid_parameters_are_rejected(arguments):
    with pytest.raises(InputError):
        generate(**{"n_docs": 1, **arguments})
