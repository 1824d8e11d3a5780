"""Tokens with given topics: kept, counted, and sampled from that state."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import CPUEngine, ReferenceEngine
from opelda.engines.cpu import _sweeps as _cpu_sweeps
from opelda.engines.seam import TokenCounts
from opelda.engines.seam import tokens_of as each_tokens

from .made import SEEDS, make_documents, make_topics, plain_weights
from .tokens_made import by_document, cells_of, tokens_of


def made(rng, n_docs, n_words, n_topics, *, fractions=False):
    """Documents, and a topic for each of their tokens."""
    counts = make_documents(rng, n_docs, n_words, fractions).toarray()
    n_tokens = int(each_tokens(counts).sum())
    return counts, rng.integers(0, n_topics, n_tokens).astype(np.uint16)


def sweep(engine, tokens, counts, alpha, n_draws, seed=0):
    n_words, n_topics = counts.cells.shape
    weights = engine.weights(plain_weights(np.full((n_topics, n_words), 1.0 / n_words)))
    alpha = np.full(n_topics, alpha)
    return engine.sweep(
        weights, tokens, alpha, counts=counts, prior=0.1, seed=seed, n_draws=n_draws
    )


def none_of(tokens, n_words, n_topics):
    return TokenCounts(sparse.csr_array((n_words, n_topics), dtype=np.int64), tokens.shift)


@given(SEEDS, st.integers(1, 70), st.booleans())
def test_topics_round_trip_per_document(engine, seed, n_topics, fractions):
    rng = np.random.default_rng(seed)
    counts, topics = made(rng, 7, 9, n_topics, fractions=fractions)
    tokens = tokens_of(engine, counts, n_topics, topics=topics)
    assert np.array_equal(tokens.topics, topics)
    found = sweep(engine, tokens, none_of(tokens, 9, n_topics), 0.5, n_draws=0)
    expected = np.zeros((9, n_topics), np.int64)
    words = np.repeat(np.nonzero(counts)[1], each_tokens(counts[counts > 0]))
    np.add.at(expected, (words, topics), tokens.token_units())
    assert np.array_equal(cells_of(found), expected)
    assert np.array_equal(tokens.topics, topics)


@given(SEEDS, st.sampled_from([2, 9, 40]))
def test_engines_draw_equal_topics(seed, n_topics):
    rng = np.random.default_rng(seed)
    counts, topics = made(rng, 6, 8, n_topics)
    found = []
    for engine in (CPUEngine(2), ReferenceEngine()):
        tokens = tokens_of(engine, counts, n_topics, topics=topics)
        start = sweep(engine, tokens, none_of(tokens, 8, n_topics), 0.3, n_draws=0)
        sweep(engine, tokens, start, 0.3, n_draws=2, seed=seed)
        found.append(np.asarray(tokens.topics))
    # (a number that falls between two topics may be rounded to either)
    assert (found[0] == found[1]).mean() > 0.9


@given(SEEDS, st.sampled_from([2, 9, 40]), st.booleans())
def test_restored_tokens_sweep_like_the_original(engine, seed, n_topics, fractions):
    """Sweep after sweep, whether an engine kept them or their topics alone were kept."""
    rng = np.random.default_rng(seed)
    counts, topics = made(rng, 12, 8, n_topics, fractions=fractions)
    stayed = tokens_of(engine, counts, n_topics, topics=topics)
    ours = theirs = sweep(engine, stayed, none_of(stayed, 8, n_topics), 0.3, n_draws=0)
    for number in range(4):
        anew = tokens_of(engine, counts, n_topics, topics=topics)
        ours = sweep(engine, stayed, ours, 0.3, n_draws=1, seed=number)
        theirs = sweep(engine, anew, theirs, 0.3, n_draws=1, seed=number)
        topics = np.asarray(anew.topics)
        assert np.array_equal(np.asarray(stayed.topics), topics)
        assert np.array_equal(cells_of(ours), cells_of(theirs))


@pytest.mark.parametrize("most", [128, 12_288])
def test_result_does_not_depend_on_blocks_and_threads(monkeypatch, most):
    rng = np.random.default_rng(3)
    counts, topics = made(rng, 600, 12, 20)
    found = []
    for n_threads, least in ((1, 12_288), (2, most)):
        monkeypatch.setattr(_cpu_sweeps, "LEAST_DOCS", least)
        engine = CPUEngine(n_threads)
        tokens = tokens_of(engine, counts, 20, topics=topics)
        start = sweep(engine, tokens, none_of(tokens, 12, 20), 0.3, n_draws=0)
        drawn = sweep(engine, tokens, start, 0.3, n_draws=1)
        found.append((cells_of(drawn), np.asarray(tokens.topics)))
    assert all(map(np.array_equal, *found))


@pytest.mark.parametrize("seed", range(1))
def test_sweep_starts_from_the_given_topics(engine, seed):
    """With almost no alpha a token can only go where its document's others are."""
    rng = np.random.default_rng(seed)
    counts = np.float32(np.ones((30, 6)))
    where = rng.integers(0, 4, 30)
    topics = np.repeat(where, 6).astype(np.uint16)
    tokens = tokens_of(engine, counts, 4, topics=topics)
    start = sweep(engine, tokens, none_of(tokens, 6, 4), 1e-9, n_draws=0)
    sweep(engine, tokens, start, 1e-9, n_draws=3, seed=seed)
    assert [set(document.tolist()) for document in by_document(tokens)] == [{k} for k in where]


@pytest.mark.parametrize("seed", range(1))
def test_only_topics_of_the_words_are_used(engine, seed):
    """A mini-batch of few words among many is drawn as with all topics laid out."""
    rng = np.random.default_rng(seed)
    topics = make_topics(rng, 5, 200)
    counts = np.zeros((40, 200), np.float32)
    counts[:, [3, 50, 199]] = rng.integers(0, 3, (40, 3))
    weights = engine.weights(plain_weights(topics))
    tokens = tokens_of(engine, counts, 5)
    drawn = engine.sweep(weights, tokens, np.full(5, 0.4), seed=seed)
    other = tokens_of(ReferenceEngine(), counts, 5)
    reference = ReferenceEngine()
    reference.sweep(reference.weights(plain_weights(topics)), other, np.full(5, 0.4), seed=seed)
    assert (np.asarray(tokens.topics) == np.asarray(other.topics)).mean() > 0.98
    assert cells_of(drawn)[[3, 50, 199]].sum() == cells_of(drawn).sum()
