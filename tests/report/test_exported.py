"""Topics and words in the data of a page."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from opelda.report import rank_words
from opelda.report._times import MOST_BINS, UNITS, fitting_unit
from opelda.report._unmixing import Unmixing
from opelda.report.page._gathered import HELD, SummedShares
from opelda.report.page._payload import SHOWN, ExportedTopics
from tests.cases import cases
from tests.report.page_data import dense, unpacked


def some_topics(n_topics=20, n_words=300, seed=0):
    random = np.random.default_rng(seed)
    return random.dirichlet(np.full(n_words, 0.05), n_topics).astype(np.float32)


def read_back(topics, **options):
    kept = ExportedTopics.of(topics, **options)
    return kept, unpacked(kept.packed(range(topics.shape[1]), len(topics)))


def test_probabilities_round_trip_to_16_bits():
    topics = some_topics()
    topics[:, 7] = 0.0  # a word that no topic has
    kept, (header, arrays) = read_back(topics)
    assert kept.ratio == 0.0
    found = dense(header, arrays)
    assert (found[topics == 0] == 0).all()
    there = topics > 0
    wrong = np.abs(np.log(found[there]) - np.log(np.maximum(topics[there], 1e-30)))
    assert wrong.max() <= header["step"] * 0.51 + 1e-6


def test_many_values_keep_the_largest_and_the_mean_of_the_rest():
    topics = some_topics()
    kept, (header, arrays) = read_back(topics, most=1500)
    assert 0 < len(arrays["topic"]) <= 1500
    found = dense(header, arrays)
    for word in range(topics.shape[1]):
        own = slice(*arrays["offsets"][word : word + 2])
        listed = arrays["topic"][own]
        others = np.setdiff1d(np.arange(len(topics)), listed)
        assert (np.diff(listed.astype(int)) > 0).all()
        assert topics[listed, word].min() >= topics[others, word].max(initial=0.0)
        assert found[others, word] == pytest.approx(topics[others, word].mean(), rel=1e-5)
    assert kept.ratio > 0


def test_best_words_for_every_lambda_are_exported():
    topics, weights = some_topics(), np.random.default_rng(1).dirichlet(np.ones(20))
    marginal = weights @ topics.astype(np.float64)
    found = ExportedTopics.of(topics).ranked_words(len(topics), marginal)
    for lambda_ in (0.0, 0.3, 0.6, 1.0):
        best = rank_words(topics, SHOWN, by="relevance", weights=weights, lambda_=lambda_)
        for k, (words, probabilities) in enumerate(found):
            score = np.log(probabilities) - (1 - lambda_) * np.log(marginal[words])
            shown = words[np.argsort(-score, kind="stable")[:SHOWN]]
            there = topics[k, best[k]] > 0
            assert set(best[k][there]) <= set(shown)


@cases(("years", "unit"), [(1, "week"), (3, "month"), (12, "quarter"), (60, "year")])
def test_shares_over_time_are_means_in_a_limited_number_of_bins(years, unit):
    random = np.random.default_rng(0)
    first = datetime(1950, 1, 1)
    chosen = [first + timedelta(days=float(x)) for x in random.uniform(0, 365.25 * years, 1500)]
    theta, words = random.dirichlet(np.ones(3), 1500), random.dirichlet(np.ones(5), 1500)
    shares, unmixing = SummedShares(unit="minute"), Unmixing(Known(random.dirichlet(np.ones(5), 3)))
    for part in np.array_split(np.arange(1500), 7):
        linear = unmixing.shares(words[part])[0]
        shares.add([chosen[i] for i in part], words[part], linear, linear**2, theta[part])
        assert shares.unit == "year" or len(shares.sums) <= HELD[shares.unit]
    shares = shares.by(fitting_unit(shares.sums, 1500, UNITS[UNITS.index(shares.unit) :]))
    bins = sorted(shares.sums)
    assert shares.unit == unit
    assert 1 < len(bins) <= MOST_BINS
    found = shares.facts(bins, unmixing)
    for at, n_docs, corrected, low, high, mean in zip(bins, *found.values(), strict=True):
        of = [shares.key(moment) == at for moment in chosen]
        assert n_docs == sum(of)
        assert mean == pytest.approx(theta[of].mean(axis=0), abs=1e-5)
        pooled = unmixing.likeliest(words[of].mean(axis=0)[None])[0]
        assert corrected == pytest.approx(pooled, abs=1e-4)
        assert (np.array(low) <= corrected).all()
        assert (corrected <= np.array(high)).all()


class Known:
    """A model with given topics."""

    def __init__(self, topics):
        self.components_ = topics
