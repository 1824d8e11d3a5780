"""Credible intervals of words' probabilities and of topics' weights, by known truth."""

from functools import cache

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm

import opelda
from opelda import TopicModel
from opelda.corpus import generate
from opelda.engines.seam import TokenCounts
from opelda.errors import InputError
from opelda.learning._uncertainty import Differences
from opelda.metrics import match_topics
from opelda.report import topic_table
from tests.cases import cases

N_TOPICS = 8
MADE = generate(600, n_words=300, n_topics=N_TOPICS, n_tokens=40, random_state=1)


@cache
def fitted():
    return TopicModel(N_TOPICS, random_state=3, n_jobs=1).fit(MADE.X)


def held(level):
    """Return the shares of words and of weights whose interval holds the truth."""
    model = fitted()
    true = MADE.topics[match_topics(model, MADE.topics)[0]]
    names = {str(name): number for number, name in enumerate(model._words())}
    words, weights = [], []
    for row in topic_table(model, 10, by="probability", level=level):
        truth = [true[row.topic, names[word]] for word in row.words]
        words += [a < p < b for a, p, b in zip(row.lows, truth, row.highs, strict=True)]
        weights.append(row.low < 1 / N_TOPICS < row.high)
        ends = zip(row.lows, row.probabilities, row.highs, strict=True)
        assert all(a < p < b for a, p, b in ends)
        assert row.low < row.weight < row.high
    return np.mean(words), np.mean(weights)


@cases("level, least, most", [(0.95, 0.8, 1.0), (0.5, 0.25, 0.75)])
def test_intervals_hold_the_truth_as_often_as_their_level_says(level, least, most):
    words, weights = held(level)
    assert least <= words <= most
    assert least - 0.2 <= weights <= most + 0.2


@cases("weight", [1.0, 0.25])
def test_missing_information_is_that_of_uncertain_assignments(weight):
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.full(4, 0.3), 20_000)  # of each token's topic
    words = rng.integers(0, 50, len(q))
    found = Differences()
    for _ in range(3):
        topics = (q.cumsum(axis=1) < rng.random((len(q), 1))).sum(axis=1)
        units = np.full(len(q), int(16 * weight))
        cells = sparse.csr_array(sparse.coo_array((units, (words, topics)), (50, 4)))
        found.add(TokenCounts(cells, 4), weight)
    expected = 1.0 - (q**2).sum(axis=0) / q.sum(axis=0)
    np.testing.assert_allclose(np.mean(found.missing, axis=0), expected, rtol=0.4)


def test_interval_of_a_weight_is_that_of_a_sample_of_documents():
    pure = np.repeat([[20, 20, 0, 0], [0, 0, 20, 20]], 30, axis=0)
    row = topic_table(TopicModel(2, random_state=0, n_jobs=1).fit(pure), 1, level=0.9)[0]
    # a share of one half in 60 documents of one topic each: +- 1.64 sqrt(1 / 240)
    assert row.high - row.low == pytest.approx(0.21, abs=0.05)


def test_intervals_are_saved_and_dropped_with_their_topics(tmp_path):
    opelda.save(fitted(), tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert topic_table(loaded, 3, level=0.9) == topic_table(fitted(), 3, level=0.9)
    loaded.partial_fit(MADE.X[:50])
    with pytest.raises(InputError, match="whose last call was fit"):
        topic_table(loaded, 3, level=0.9)


def test_uncertainty_of_a_topic_is_the_mean_relative_error_of_its_top_words():
    rows = topic_table(fitted(), 20, by="probability", level=0.1)
    halves = [(np.array(row.highs) - row.lows) / 2 / row.probabilities for row in rows]
    expected = np.mean(halves, axis=1) / norm.ppf(0.55)
    np.testing.assert_allclose(fitted().topic_uncertainty_, expected, rtol=0.02)


@cases("options", [{"preset": "fast"}, {"n_sweeps": 8}])
def test_intervals_need_sweeps(options):
    model = TopicModel(2, random_state=0, n_jobs=1, **options).fit(MADE.X[:50])
    assert model.topic_uncertainty_ is None
    with pytest.raises(InputError, match="9 sweeps"):
        topic_table(model, level=0.9)


def test_intervals_need_a_level_between_0_and_1():
    with pytest.raises(InputError, match="level"):
        topic_table(fitted(), level=1.5)
