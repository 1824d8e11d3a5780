"""Topic counts are exact in any order and become weights; documents are counted by size."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import CPUEngine, ReferenceEngine
from opelda.engines.cpu import _sweeps as _cpu_sweeps
from opelda.engines.seam import FRACTION_SHIFT, TokenCounts
from opelda.engines.seam import tokens_of as each_tokens
from tests.cases import cases

from .made import PRIORS, SEEDS, as_topics, make_documents, make_prior, make_topics
from .tokens_made import by_document, cells_of, copy_numbers, draw, tokens_of


def counted(engine, counts, prior):
    """Return weights made of counts and a prior, replacing earlier weights."""
    n_words, n_topics = counts.cells.shape
    weights = engine.random_weights(n_words, n_topics, prior, 0)
    engine.blend(weights, counts, 1.0)
    return weights


def test_a_count_becomes_tokens_of_equal_weight(engine):
    counts = np.float32([[1, 0, 2.5, 16], [0, 17, 1e6, 0.25]])
    tokens = tokens_of(engine, counts, 3)
    assert np.diff(tokens.first).tolist() == [1 + 3 + 16, 16 + 16 + 1]
    drawn = draw(engine, tokens, make_topics(np.random.default_rng(0), 3, 4), [1, 1, 1])
    each = np.array([1, 2.5 / 3, 1, 17 / 16, 1e6 / 16, 0.25])
    expected = np.zeros((4, 3))
    words = np.repeat([0, 2, 3, 1, 2, 3], [1, 3, 16, 16, 16, 1])
    np.add.at(expected, (words, tokens.topics), np.repeat(each, [1, 3, 16, 16, 16, 1]))
    np.testing.assert_allclose(cells_of(drawn) * 2.0**-drawn.shift, expected, atol=1e-4)


@given(SEEDS, st.integers(1, 5), st.booleans())
def test_whole_counts_are_exact_and_fractions_approximate(engine, seed, n_topics, fractions):
    rng = np.random.default_rng(seed)
    X = make_documents(rng, 6, 8, fractions)
    X.data *= rng.choice(np.float32([1, 1, 30, 1e7]), X.nnz)
    drawn = draw(
        engine,
        tokens_of(engine, X.toarray(), n_topics),
        make_topics(rng, n_topics, 8),
        np.ones(n_topics),
    )
    assert cells_of(drawn).dtype.kind == "i"
    per_word = cells_of(drawn).sum(axis=1, dtype=np.int64) * 2.0**-drawn.shift
    true = X.toarray().sum(axis=0, dtype=np.float64)
    if fractions:
        np.testing.assert_allclose(per_word, true, rtol=0, atol=16 * 6 * 2.0 ** -(drawn.shift + 1))
    else:
        assert np.array_equal(per_word, true)


@cases("fraction", [0.0, 0.5])
@cases("size", [2e8, 1e13])
def test_counts_beyond_32_bits(engine, size, fraction):
    X = np.full((12, 40), size, np.float32)
    X[1, 1] = fraction
    topics = make_topics(np.random.default_rng(0), 2, 40)
    drawn = draw(engine, tokens_of(engine, X, 2), topics, [1, 1])
    per_word, true = cells_of(drawn).sum(axis=1, dtype=object), X.sum(axis=0, dtype=float)
    np.testing.assert_allclose(per_word.astype(float) * 2.0**-drawn.shift, true, rtol=1e-12)
    weights = counted(engine, drawn, 0.1)
    np.testing.assert_allclose(weights.host().rows.sum(axis=1, dtype=float), true, rtol=1e-6)
    np.testing.assert_allclose(weights.sums.sum(), true.sum(), rtol=1e-6)


def test_weights_below_the_least_are_dropped(engine):
    topics = make_topics(np.random.default_rng(0), 2, 3)
    tokens = tokens_of(engine, [[1, 2.0**-FRACTION_SHIFT, 2.0**-20]], 2)
    drawn = draw(engine, tokens, topics, [1, 1])
    assert cells_of(drawn).sum(axis=1).tolist() == [2**FRACTION_SHIFT, 1, 0]
    assert drawn.cells.nnz == 2


def test_empty_documents_have_no_tokens(engine):
    tokens = tokens_of(engine, np.zeros((3, 4)), 2)
    drawn = draw(engine, tokens, np.full((2, 4), 0.25), [1, 1])
    assert len(tokens.topics) == 0
    assert not cells_of(drawn).any()
    weights = counted(engine, drawn, 0.5)  # the prior alone
    np.testing.assert_allclose(engine.read(weights), as_topics(np.full((2, 4), 0.5)), rtol=1e-6)


@cases("prior", PRIORS)
@cases("n_topics", [3, 16])
@cases("fractions", [False, True])
def test_counts_become_weights(tested, engine, prior, n_topics, fractions):
    """Also counts of another engine, and counts that were added up."""
    rng = np.random.default_rng(0)
    X, eta = make_documents(rng, 30, 9, fractions).toarray(), make_prior(rng, prior, 9, n_topics)
    topics = make_topics(rng, n_topics, 9)
    for e in (engine, CPUEngine(1), ReferenceEngine()):
        for twice in (False, True):
            drawn = draw(e, tokens_of(e, X, n_topics), topics, np.ones(n_topics))
            drawn = drawn + drawn if twice else drawn
            expected = cells_of(drawn).astype(np.float64) * 2.0**-drawn.shift
            weights = counted(engine, drawn, eta)
            assert (weights.owner, weights.scale, weights.prior_weight) == (engine.name, 1.0, 1.0)
            np.testing.assert_allclose(weights.host().rows, expected, rtol=1e-7)
            np.testing.assert_allclose(weights.sums, expected.sum(axis=0), rtol=1e-12)
            lam = expected + (eta[:, None] if prior == "words" else eta)
            found = engine.read(weights)
            np.testing.assert_allclose(found, as_topics(lam.T), rtol=2e-6, atol=1e-21)


def test_counts_add_up_beyond_32_bits():
    one = TokenCounts(sparse.csr_array(np.full((2, 3), 2**31 - 1, np.int64)), 4)
    total = one + one
    assert (cells_of(total) == 2**32 - 2).all()
    assert (total.n_topics, total.shift) == (3, 4)


def as_counters(histogram):
    """Return {(topic, size): documents}, {length: documents}."""
    sizes = zip(histogram.topics.tolist(), histogram.sizes.tolist(), strict=True)
    return (
        Counter(dict(zip(sizes, histogram.times.tolist(), strict=True))),
        Counter(dict(zip(histogram.lengths.tolist(), histogram.n_alike.tolist(), strict=True))),
    )


def drawn_tokens(engine, X, topics, **options):
    tokens = tokens_of(engine, X, len(topics), **options)
    draw(engine, tokens, topics, np.ones(len(topics)))
    return tokens


@given(SEEDS, st.integers(1, 20), st.integers(0, 20))
def test_documents_are_counted_by_their_tokens_per_topic(engine, seed, n_topics, n_docs):
    rng = np.random.default_rng(seed)
    X = make_documents(rng, n_docs, 9).toarray()
    tokens = drawn_tokens(engine, X, make_topics(rng, n_topics, 9))
    sizes, lengths = Counter(), Counter(X.sum(axis=1, dtype=float).tolist())
    weights = np.split(tokens.token_sizes().astype(float), tokens.first[1:-1])
    for z, each in zip(by_document(tokens)[:n_docs], weights, strict=False):
        for topic in np.unique(z).tolist():
            sizes[topic, each[z == topic].sum()] += 1
    assert as_counters(engine.histogram(tokens, 1.0)) == (sizes, lengths)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_sampled_documents_do_not_depend_on_order_or_split(engine, share, seed):
    rng = np.random.default_rng(seed)
    X = make_documents(rng, 200, 9)[rng.integers(0, 200, 300)]
    topics, order, numbers = make_topics(rng, 4, 9), rng.permutation(300), copy_numbers(X)
    X = X.toarray()
    whole = drawn_tokens(engine, X, topics)
    expected = as_counters(engine.histogram(whole, share))
    n_seen = expected[1].total()
    assert abs(n_seen - 300 * share) <= 6 * np.sqrt(300 * share * (1 - share))
    shuffled = drawn_tokens(engine, X[order], topics)
    assert as_counters(engine.histogram(shuffled, share)) == expected
    sizes, lengths = Counter(), Counter()
    for part in np.array_split(order, 7):
        tokens = drawn_tokens(engine, X[part], topics, copies=numbers[part], shift=whole.shift)
        more = as_counters(engine.histogram(tokens, share))
        sizes, lengths = sizes + more[0], lengths + more[1]
    assert (sizes, lengths) == expected
    everything = as_counters(engine.histogram(whole, 1.0))
    assert expected[0] <= everything[0]
    assert expected[1] <= everything[1]


@cases("n_topics", [1, 7, 8, 63, 64, 65, 129, 700])
@cases("fractions", [False, True])
def test_tokens_are_counted_by_word_and_topic(n_topics, fractions):
    """More words than are counted together, whole tokens and parts, words without any."""
    rng = np.random.default_rng(n_topics)
    counts = rng.poisson(0.25, (40, 300)).astype(np.float32)
    counts[:, 1] = rng.integers(1, 17, 40)  # more tokens than topics, and fewer
    if fractions:
        counts[:, ::3] *= 0.37
    counts[20], counts[:, 3] = 0, 0
    for n_threads in (1, 2):
        engine = CPUEngine(n_threads)
        tokens = tokens_of(engine, counts, n_topics)
        drawn = draw(engine, tokens, make_topics(rng, n_topics, 300), np.ones(n_topics))
        words = np.repeat(tokens.rows.words, each_tokens(tokens.rows.counts))
        expected = np.zeros((300, n_topics), np.int64)
        np.add.at(expected, (words, tokens.topics), tokens.token_units())
        assert np.array_equal(cells_of(drawn), expected)
        assert drawn.cells.has_sorted_indices
        assert (drawn.cells.data != 0).all()


def test_blocks_with_the_most_groups(monkeypatch):
    """Documents with as many groups as there are, in one block and in several."""
    counts = np.full((1040, 66), 16, np.float32)
    counts[5], counts[7, 1:] = 0, 0
    found = []
    for most in (12_288, 128):
        monkeypatch.setattr(_cpu_sweeps, "LEAST_DOCS", most)
        engine = CPUEngine(2)
        tokens = tokens_of(engine, counts, 1024)
        topics = make_topics(np.random.default_rng(0), 1024, 66)
        drawn = draw(engine, tokens, topics, np.full(1024, 0.03))
        found.append((cells_of(drawn), np.asarray(tokens.topics)))
        found[-1] += (np.diff(tokens.layout["block_groups"]).max(),)
    (cells, topics, n_groups), (others, other_topics, fewer) = found
    assert n_groups > 130_000 > fewer
    assert np.array_equal(cells, others)
    assert np.array_equal(topics, other_topics)
