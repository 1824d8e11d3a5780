"""Statistics of new documents for the watch, against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda import TopicModel
from opelda.learning.streaming import _watch as _drawn
from opelda.learning.streaming._watch import Drawn, Watch
from opelda.learning.streaming._window import Assignments


def some_drawn(rng, n_words=12, n_topics=3):
    """Documents with topics drawn for their tokens, and the topics that they were drawn by."""
    X = rng.poisson(0.6, (30, n_words))
    model = TopicModel(n_topics, random_state=0, n_sweeps=4).partial_fit(X + 1)
    plan, weights = model._plan(model._state), model._state.weights
    tokens = plan.engine.tokens(plan.engine.documents(opelda._count_matrix.counts(X)), n_topics)
    alpha = rng.uniform(0.1, 2.0, n_topics)
    counts = plan.engine.sweep(weights, tokens, alpha, seed=1)
    kept = Assignments(tokens.rows, tokens.topics)
    return model, X, Drawn(plan.engine, weights, kept, counts, alpha, None)


@given(st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(20, 400))
def test_score_predicts_each_token_from_the_rest_of_its_document(seed, n_known, most):
    rng = np.random.default_rng(seed)
    model, X, drawn = some_drawn(rng)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_drawn, "SCORED_TOKENS", most)
        total, n = drawn.score(n_known)
    topics, expected, number = list(drawn.kept.topics), 0.0, 0
    every = max(-(-int(X.sum()) // most), 1)
    for d, row in enumerate(X):
        words = np.repeat(np.arange(len(row)), row)
        here, topics = topics[: len(words)], topics[len(words) :]
        for i, word in enumerate(words if d % every == 0 else []):
            theta = drawn.alpha + np.bincount(here[:i] + here[i + 1 :], minlength=3)
            if word < n_known:
                expected += np.log(theta @ model.components_[:, word] / theta.sum())
                number += 1
    assert n == number
    assert total == pytest.approx(expected, rel=1e-4)


@given(st.integers(0, 2**32 - 1))
def test_logs_and_top_words_equal_the_topics(seed):
    rng = np.random.default_rng(seed)
    model, _, drawn = some_drawn(rng)
    words, topics, weights = drawn.cells
    np.testing.assert_allclose(drawn.logs, np.log(model.components_[topics, words]), rtol=1e-4)
    assert weights.sum() == drawn.kept.rows.counts.sum()
    former = rng.integers(-1, 12, (3, 4)).astype(np.int32)
    for topic, found in enumerate(drawn.tops(former)):
        among = set(words[topics == topic]) | set(former[topic][former[topic] >= 0])
        best = sorted(among, key=lambda word: -model.components_[topic, word])[:4]
        assert [word for word in found if word >= 0] == best


@given(st.integers(0, 2**32 - 1), st.integers(0, 12))
def test_topics_are_compared_on_their_first_words(seed, n_first):
    _, _, drawn = some_drawn(np.random.default_rng(seed))
    words, topics, weights = drawn.cells
    tokens, judged, logs = Watch.of(3, n_first).after(drawn, 30).sums[0]
    for topic in range(3):
        ours = topics == topic
        first = ours & (words < n_first)
        assert tokens[topic] == weights[ours].sum()
        assert judged[topic] == weights[first].sum()
        assert logs[topic] == pytest.approx((weights * drawn.logs)[first].sum())
