"""Forgetting rates and numbers of topics."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import CPUEngine
from opelda.engines.seam import FRACTION_SHIFT, HostWeights, Rows, TokenCounts
from opelda.learning.streaming import _window
from opelda.learning.streaming._window import (
    TRIED,
    Assignments,
    Window,
    kept_of_past,
    likeliest_rho,
)
from opelda.learning.streaming._window_sweeps import _numbers

ETA = 0.1


def counts_of(table):
    cells = sparse.csr_array(np.rint(np.ldexp(table, FRACTION_SHIFT)).astype(np.int64))
    return TokenCounts(cells, FRACTION_SHIFT)


@given(st.integers(0, 2**32 - 1))
def test_forgetting_rate_maximises_the_likelihood_of_new_tokens(seed):
    rng = np.random.default_rng(seed)
    new, window, past = (rng.poisson(rng.gamma(0.3, 20.0, (12, 5))) for _ in range(3))
    found = likeliest_rho(*map(counts_of, (new, window, past)), ETA)
    for topic in range(5):
        logs = []
        for rho in TRIED:
            mixed = window[:, topic] + rho * past[:, topic] + ETA
            logs.append((new[:, topic] * np.log(mixed / mixed.sum())).sum() + 10 * rho)
        assert logs[TRIED.tolist().index(found[topic])] == pytest.approx(max(logs), abs=1e-6)


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def drawn(rng, topics, n):
    """Tokens of each topic."""
    return np.stack([rng.multinomial(n, topic) for topic in topics], axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_changed_topic_forgets_faster(rng):
    topics = rng.dirichlet(np.full(200, 0.1), 6)
    changed = topics.copy()
    changed[2] = rng.dirichlet(np.full(200, 0.1))
    past, window, new = (
        drawn(rng, topics, 5000),
        drawn(rng, changed, 3000),
        drawn(rng, changed, 500),
    )
    part = kept_of_past(*map(counts_of, (new, window, past)), ETA, 0.9)
    assert part[2] < 0.3
    assert (np.delete(part, 2) > 0.5).all()
    assert part.max() <= 1


def test_similar_topics_keep_their_baseline():
    same = counts_of(np.full((4, 3), 50.0))
    assert kept_of_past(same, same, same, ETA, 0.8).tolist() == [0.8] * 3
    none = counts_of(np.zeros((4, 3)))
    assert kept_of_past(none, same, same, ETA, 0.8).tolist() == [0.8] * 3


@pytest.mark.parametrize("seed", range(5))
def test_counts_outside_the_window_fade_per_topic(rng, monkeypatch):
    """Documents of word 0 to 4 are topic 0, of 5 to 9 topic 1, which had other words before."""
    monkeypatch.setattr(_window, "MOST_DOCS", 400)
    which = rng.integers(0, 2, 500)
    words = np.sort(
        5 * which[:, None] + rng.permuted(np.tile(np.arange(5), (500, 1)), axis=1)[:, :3]
    )
    rows = Rows(np.arange(0, 1501, 3), words.ravel().astype(np.int32), np.ones(1500, np.float32))
    kept = Assignments(rows, np.repeat(which, 3).astype(np.uint16))
    past = np.zeros((15, 2))
    past[:5, 0], past[10:, 1] = 200.0, 200.0
    window = Window(np.full(2, 0.1), counts_of(past), [kept], n_docs=500, n_tokens=1500, n_new=50)
    engine = CPUEngine(1)
    weights = engine.weights(HostWeights(np.ones((15, 2), np.float32), ETA, prior_weight=1.0))
    _, counts = window.trim(engine, weights)
    outside = window.outside.cells.toarray() * 2.0**-FRACTION_SHIFT
    left = np.bincount(words[:100].ravel(), minlength=15)
    assert (outside[10:, 1] < 100).all()
    assert (outside[:5, 0] - left[:5] > 150).all()
    stay = np.bincount(words[100:].ravel(), minlength=15)
    assert (counts.cells.sum(axis=1) * 2.0**-FRACTION_SHIFT == stay).all()
    assert counts.cells.data.min() > 0  # the removed topic has no counts


@given(
    seed=st.integers(0, 2**32 - 1),
    n_topics=st.integers(1, 12),
    n_seeded=st.integers(0, 3),
    share=st.floats(0.0, 1.0),
)
def test_refit_topics_keep_their_numbers(seed, n_topics, n_seeded, share):
    rng, n_seeded = np.random.default_rng(seed), min(n_seeded, n_topics)
    before = rng.integers(0, n_topics, 300).astype(np.uint16)
    became = np.arange(n_topics)
    became[n_seeded:] = rng.permutation(became[n_seeded:])
    others = rng.integers(0, n_topics, 300)
    now = np.where(rng.random(300) < share, became[before], others).astype(np.uint16)
    found, changed = _numbers(before, now, n_topics, n_seeded)
    assert sorted(found) == list(range(n_topics))
    assert found[:n_seeded].tolist() == list(range(n_seeded))
    shared = np.bincount(before.astype(int) * n_topics + now, minlength=n_topics**2)
    shared = shared.reshape(n_topics, n_topics)
    for old in range(n_seeded, n_topics):
        # the topic that has most tokens of both is always found
        most = 2 * shared[old] > np.maximum(shared[old].sum(), shared.sum(axis=0))
        assert not most[n_seeded:].any() or most[found[old]]
        assert (old in changed) == (2 * shared[old, found[old]] < shared[old].sum())


def test_refit_of_many_topics_needs_no_pairwise_table():
    rng, n_topics = np.random.default_rng(0), 20_000
    before = rng.integers(0, n_topics, 10**5).astype(np.uint16)
    became = rng.permutation(n_topics).astype(np.uint16)
    tracemalloc.start()
    try:
        found, changed = _numbers(before, became[before], n_topics)
        assert tracemalloc.get_traced_memory()[1] < 2e7
    finally:
        tracemalloc.stop()
    used = np.unique(before)
    assert np.array_equal(found[used], became[used])
    assert not changed
