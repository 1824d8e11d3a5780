"""Shares of topics over time and by group."""

import datetime as dt
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse, stats

from opelda.corpus import read
from opelda.errors import InputError
from opelda.inference import infer
from opelda.report import topics_by, topics_over_time
from opelda.report._shares import corpus_shares
from opelda.report._times import (
    MOST_BINS,
    UNITS,
    bin_number,
    bin_start,
    gaps_after,
    group_bins,
    time_bins,
)
from opelda.report._unmixing import Unmixing, on_simplex
from tests.cases import cases


class Fixed:
    """A model with given topics."""

    def __init__(self, topics):
        self.components_ = np.asarray(topics)
        self.feature_names_in_ = [f"w{j}" for j in range(self.components_.shape[1])]

    def transform(self, X):
        return infer(X, self.components_, method="em").theta


K, V = 4, 30
MODEL = Fixed(np.random.default_rng(5).dirichlet(np.full(V, 0.2), K))


def drawn(theta, n_tokens, seed):
    """Return counts of documents with the given mixtures."""
    chance = np.random.default_rng(seed)
    return np.array([chance.multinomial(n_tokens, row @ MODEL.components_) for row in theta])


@given(st.integers(0, 9999), st.integers(2, 6), st.integers(6, 20))
def test_shares_of_expected_counts_are_the_mixture(seed, n_topics, n_words):
    chance = np.random.default_rng(seed)
    topics = chance.dirichlet(np.full(n_words, 0.3), n_topics)
    assume(np.linalg.svd(topics)[1][-1] > 0.05)  # otherwise words cannot distinguish them
    theta = chance.dirichlet(np.ones(n_topics), 5)
    shares, known = Unmixing(Fixed(topics)).shares(
        chance.integers(1, 50, (5, 1)) * (theta @ topics)
    )
    assert np.allclose(
        shares, theta, atol=1e-6
    )  # the estimate is linear, so its expectation is exact
    assert known.all()


def test_shares_correct_topic_counts_for_confusion():
    X = drawn(np.random.default_rng(1).dirichlet(np.ones(K), 20), 15, 1)
    passed = MODEL.components_ / MODEL.components_.sum(axis=0)  # p(k | w), topics alike
    confusion = passed @ MODEL.components_.T  # probability that a word of topic j is assigned to k
    expected = np.linalg.solve(confusion, passed @ X.T / 15).T
    shares, _ = Unmixing(MODEL).shares(sparse.csr_array(X))
    assert np.allclose(shares, expected)
    assert np.allclose(shares.sum(axis=1), 1)


def test_indistinguishable_topics_have_equal_shares():
    topics = MODEL.components_[[0, 1, 1]]
    shares, _ = Unmixing(Fixed(topics)).shares([[0.2, 0.4, 0.4]] @ topics)
    assert np.allclose(shares, [[0.2, 0.4, 0.4]], atol=1e-6)


def test_words_without_a_topic_are_ignored():
    topics = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])
    shares, known = Unmixing(Fixed(topics)).shares(np.array([[2, 2, 7], [0, 0, 3]]))
    assert np.allclose(shares[0], [1, 0])
    assert known.tolist() == [True, False]


@given(st.integers(0, 9999), st.integers(1, 6))
def test_nearest_mixture_is_a_projection(seed, n_topics):
    chance = np.random.default_rng(seed)
    given_rows = chance.normal(size=(4, n_topics))
    given_rows += (1 - given_rows.sum(axis=1, keepdims=True)) / n_topics
    found = on_simplex(given_rows)
    assert (found >= 0).all()
    assert np.allclose(found.sum(axis=1), 1)
    others = chance.dirichlet(np.ones(n_topics), 50)
    for row, near in zip(given_rows, found, strict=True):
        assert ((others - near) @ (row - near) <= 1e-9).all()  # the condition of the nearest point


def likeliest(frequencies):
    """Return the maximum likelihood mixture, by EM."""
    theta = np.full(K, 1 / K)
    for _ in range(3000):
        theta = theta * (MODEL.components_ @ (frequencies / (theta @ MODEL.components_)))
    return theta


def test_shares_and_intervals_of_a_corpus():
    X = drawn(np.random.default_rng(0).dirichlet(np.ones(K), 9000), 8, 0)
    X[5] = 0  # says nothing of any topic
    index = np.random.default_rng(1).integers(-1, 3, 9000)
    index[index == 2] = np.where(np.flatnonzero(index == 2) == np.flatnonzero(index == 2)[0], 2, -1)
    index[5] = 0
    found = corpus_shares(MODEL, sparse.csr_array(X), index, 4, level=0.9)
    assert found.bins.tolist() == [0, 1, 2]
    values, known = Unmixing(MODEL).shares(X)
    for i in (0, 1):
        mine = values[(index == i) & known]
        low, high = stats.t.interval(0.9, len(mine) - 1, mine.mean(axis=0), stats.sem(mine))
        words = X[(index == i) & known]
        corrected = likeliest((words / words.sum(axis=1, keepdims=True)).mean(axis=0))
        linear = on_simplex(mine.mean(axis=0)[None])[0]
        assert np.allclose(found.shares[i], corrected, atol=2e-3)
        half = np.hypot((high - low) / 2, linear - corrected)
        assert np.allclose(found.low[i], np.clip(corrected - half, 0, 1), atol=2e-3)
        assert np.allclose(found.high[i], np.clip(corrected + half, 0, 1), atol=2e-3)
        assert np.allclose(found.means[i], MODEL.transform(words).mean(axis=0), atol=1e-5)
        assert found.n_docs[i] == len(mine)
        assert np.allclose(found.counts[[i]].toarray()[0], X[index == i].sum(axis=0))
    assert np.isnan([found.low[2], found.high[2]]).all()
    for size in (8999, 9001):
        with pytest.raises(InputError, match=f"{size} labels"):
            corpus_shares(MODEL, X, np.zeros(size, int), 1)


@pytest.mark.parametrize("seed", range(1))
def test_shares_of_short_documents_are_unbiased(seed):
    """Three words per document, so that single mixtures are nearly uninformative."""
    truth = {"a": [0.7, 0.1, 0.1, 0.1], "b": [0.1, 0.1, 0.1, 0.7]}
    groups = ["a", "b"] * 4000
    chance = np.random.default_rng(seed)
    theta = np.array([chance.dirichlet(2 * np.array(truth[group])) for group in groups])
    for row in topics_by(MODEL, drawn(theta, 3, seed + 1), groups, level=0.9999):
        half = row.high - row.corrected_share  # 3.9 standard errors; the limit is 6
        assert abs(row.corrected_share - truth[row.bin][row.topic]) <= 6 / 3.9 * half
        assert half < 0.075
        assert row.n_docs == 4000


@given(st.integers(0, 9999))
def test_interval_covers_both_estimates_for_groups_with_own_words(seed):
    """Documents that violate the model: each group uses only some words of a topic."""
    chance = np.random.default_rng(seed)
    own = np.where(chance.random(V) < 0.3, 5.0, 0.2) * MODEL.components_[0]
    mixed = 0.5 * own / own.sum() + 0.5 * MODEL.components_[1]
    X = chance.multinomial(30, mixed, size=300)
    linear = on_simplex(Unmixing(MODEL).shares(X)[0].mean(axis=0)[None])[0]
    pooled = likeliest((X / 30).mean(axis=0))
    plain = MODEL.transform(X).mean(axis=0)
    for row in topics_by(MODEL, X, ["a"] * 300):
        assert row.low - 2e-3 <= min(linear[row.topic], pooled[row.topic])
        assert max(linear[row.topic], pooled[row.topic]) <= row.high + 2e-3
        assert row.corrected_share == pytest.approx(pooled[row.topic], abs=6e-3)
        assert row.mean_share == pytest.approx(plain[row.topic], abs=1e-5)


def test_top_words_change_over_time():
    topics = np.zeros((2, 8))
    topics[0, :4], topics[1, 4:] = 0.25, 0.25
    X = np.zeros((60, 8), int)
    X[:30], X[30:] = [20, 20, 4, 4, 20, 20, 4, 4], [4, 4, 20, 20, 20, 20, 4, 4]
    dates = ["2001-02-03"] * 30 + ["2002-03-04"] * 30
    rows = topics_over_time(Fixed(topics), X, dates, n_words=2, unit="year")
    assert [(row.topic, row.bin, sorted(row.words)) for row in rows] == [
        (0, "2001", ["w0", "w1"]), (0, "2002", ["w2", "w3"]),
        (1, "2001", ["w4", "w5"]), (1, "2002", ["w4", "w5"]),
    ]  # fmt: skip
    assert [round(row.corrected_share, 6) for row in rows] == [0.5] * 4
    only = topics_over_time(Fixed(topics), X, dates, topics=[1], unit="year")
    assert [row.topic for row in only] == [1, 1]


def test_columns_are_named_detected_or_passed():
    records = [
        {"text": "tea cup" if i % 2 else "bond rise", "date": f"200{i % 2}", "party": "ab"[i % 2]}
        for i in range(40)
    ]
    corpus = read(records, text_column="text", metadata=["date", "party"])
    model = Fixed([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    found = topics_over_time(model, corpus)
    assert found == topics_over_time(model, corpus, "date")
    assert found == topics_over_time(model, corpus, corpus.metadata["date"])
    assert {row.bin for row in topics_by(model, corpus, "party")} == {"a", "b"}
    with pytest.raises(
        InputError, match=r"Missing column 'what': the corpus has the columns date, pa"
    ):
        topics_by(model, corpus, "what")
    with pytest.raises(InputError, match="topics must be a whole number, from 0 to 1"):
        topics_by(model, corpus, "party", topics=[7])
    with pytest.raises(InputError, match="level must be"):
        topics_by(model, corpus, "party", level=95)
    with pytest.raises(InputError, match="No document with a known word"):
        topics_by(model, np.zeros((2, 4)), ["a", "b"])


MOMENT = dt.datetime(2017, 7, 5, 13, 14, 15)
WRITTEN = {
    "2017-07-05T13:14:15": "minute", "2017-07-05 13:14:15+00:00": "minute",
    "2017-07-05T13:14:15+02:00": "minute", "2017-07-05T13:14:15.000Z": "minute",
    "Wed, 05 Jul 2017 13:14:15 +0000": "minute", "Wed Jul 05 13:14:15 +0000 2017": "minute",
    "Wed, 05 Jul 2017 13:14:15 -0700": "minute", "05/Jul/2017:13:14:15 -0700": "minute",
    1499260455: "minute", 1499260455000: "minute", "1499260455": "minute", "20170705": "day",
    MOMENT: "minute", np.datetime64(MOMENT): "minute", "2017-07-05": "day",
    dt.date(2017, 7, 5): "day",
    "2017/07/05": "day", "05.07.2017": "day", "5 July 2017": "day", "Jul 5, 2017": "day",
    "2017-07": "month", "July 2017": "month", "2017": "year", 2017: "year",
}  # fmt: skip


@cases(("value", "unit"), WRITTEN.items(), ids=str)
def test_common_time_formats_are_parsed(value, unit):
    for coarse in UNITS[UNITS.index(unit) :]:
        found = time_bins([value, None, ""], coarse)
        assert found.index.tolist() == [0, -1, -1]
        assert found.labels == {
            "minute": ["2017-07-05 13:14"], "hour": ["2017-07-05 13:00"], "day": ["2017-07-05"],
            "week": ["2017-07-03"], "month": ["2017-07"], "quarter": ["2017-Q3"], "year": ["2017"],
        }[coarse]  # fmt: skip


@given(
    st.lists(
        st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=40
    )
)
def test_bins_hold_their_documents_in_order(times):
    found = time_bins(times)
    assert found.starts == sorted(set(found.starts))
    assert set(found.index) == set(range(len(found.starts)))
    for time, i in zip(times, found.index, strict=True):
        assert found.starts[i] <= time
        assert i + 1 == len(found.starts) or time < found.starts[i + 1]


@cases(
    ("days", "unit"),
    [(30, "day"), (300, "week"), (1500, "month"), (4000, "quarter"), (20000, "year")],
)
def test_bin_width_follows_the_time_span(days, unit):
    start = dt.date(1960, 1, 4)
    times = [start + dt.timedelta(days=int(i)) for i in np.arange(4000) * days / 4000]
    found = time_bins(times)
    assert found.unit == unit
    assert len(found.starts) <= MOST_BINS


def test_days_far_apart_are_weeks_with_gaps():
    """As Reuters' 59 days of 1987: ten weeks, a few of June, one of October."""
    days = [
        dt.date(1987, 2, 26) + dt.timedelta(days=i) for i in (*range(45), *range(100, 108), 240)
    ]
    found = time_bins([day for day in days for _ in range(30)])
    assert found.unit == "week"
    gaps = gaps_after(found.starts, "week")
    assert [found.labels[i] for i in gaps] == ["1987-06-01", "1987-10-19"]


@given(st.lists(st.integers(0, 900), min_size=2, max_size=40, unique=True), st.sampled_from(UNITS))
def test_a_gap_is_longer_than_the_usual_step(numbers, unit):
    numbers.sort()
    first = bin_number(dt.datetime(1987, 1, 1), unit)
    gaps = gaps_after([bin_start(first + n, unit) for n in numbers], unit)
    longest = (3 if unit in ("minute", "hour", "day") else 1) * np.median(np.diff(numbers))
    assert all((b - a > longest) == (i in gaps) for i, (a, b) in enumerate(pairwise(numbers), 1))


def test_whole_numbers_are_years():
    assert time_bins(pl.Series(["1987"] * 50 + ["1988"] * 50)).unit == "year"


NEW_YORK, TOKYO = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-4, 9))
EVENING = dt.datetime(2017, 7, 31, 22, 19)


@cases(
    "times",
    [
        [EVENING.replace(tzinfo=zone).isoformat() for zone in (NEW_YORK, dt.UTC, TOKYO)],
        [EVENING.replace(tzinfo=zone) for zone in (NEW_YORK, dt.UTC, TOKYO)],
        pl.Series([EVENING]).dt.replace_time_zone("America/New_York"),
        pd.Series([EVENING]).dt.tz_localize("Asia/Tokyo"),
    ],
    ids=["texts", "datetimes", "polars", "pandas"],
)
def test_time_with_a_zone_is_binned_as_written(times):
    for unit, label in (("day", "2017-07-31"), ("hour", "2017-07-31 22:00")):
        assert time_bins(times, unit).labels == [label]


def test_one_instant_in_two_zones_has_two_bins():
    moments = [EVENING.replace(tzinfo=NEW_YORK)]
    moments += [moments[0].astimezone(zone) for zone in (dt.UTC, TOKYO, NEW_YORK)]
    assert time_bins(moments, "hour").labels == [
        "2017-07-31 22:00", "2017-08-01 02:00", "2017-08-01 11:00",
    ]  # fmt: skip
    assert time_bins(moments, "hour").index.tolist() == [0, 1, 2, 0]


def test_zoned_parquet_times_use_local_time(tmp_path):
    when = pl.Series("date", [EVENING] * 3).dt.replace_time_zone("America/New_York")
    pl.DataFrame({"text": ["tea"] * 3, "date": when}).write_parquet(tmp_path / "t.parquet")
    corpus = read(tmp_path / "t.parquet", metadata="auto")
    assert time_bins(corpus.metadata["date"], "day").labels == ["2017-07-31"]


def test_most_times_must_be_parseable():
    assert time_bins(["2001", "2002", "soon"]).index.tolist() == [0, 1, -1]
    with pytest.raises(InputError, match="'soon' is not a supported time"):
        time_bins(["soon", "2001", "<b>"])
    with pytest.raises(InputError, match="No document has a time"):
        time_bins([None, ""])


@given(st.lists(st.sampled_from(["a", "b", "c", "=d", None, "", float("nan")])), st.integers(1, 4))
def test_largest_groups_come_first(labels, most):
    counts = {g: sum(x == g for x in labels) for g in ("a", "b", "c", "=d") if g in labels}
    if not counts:
        with pytest.raises(InputError, match="No document has a group"):
            group_bins(labels, most)
        return
    names, index, rest = group_bins(labels, most)
    assert (f"{most} largest of {len(counts)} groups" in rest) == (len(counts) > most)
    sizes = [counts[name] for name in names]
    assert sizes == sorted(counts.values(), reverse=True)[:most]
    for label, i in zip(labels, index, strict=True):
        assert i == (names.index(label) if label in names else -1)
