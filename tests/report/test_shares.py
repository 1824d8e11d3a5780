"""Shares of topics over time and by group."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import opelda
from opelda.corpus import generate, read
from opelda.errors import InputError
from opelda.inference import infer
from opelda.report import shares_over
from opelda.report._shares import corpus_shares
from opelda.report._times import MOST_BINS, UNITS, group_bins, time_bins


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 999), st.booleans())
def test_shares_are_weighted_means(n_docs, n_topics, seed, weighted):
    chance = np.random.default_rng(seed)
    theta = chance.dirichlet(np.ones(n_topics), n_docs)
    labels = chance.choice(["b", "a", None], n_docs)
    weights = chance.integers(0, 4, n_docs) if weighted else None
    counted = np.ones(n_docs) if weights is None else weights
    known = [g for g in "ab" if counted[labels == g].sum() > 0]
    if not known:
        with pytest.raises(InputError, match="no document"):
            shares_over(theta, weights, labels)
        return
    for given_theta in (theta, sparse.csr_array(theta), theta.tolist()):
        found = shares_over(given_theta, weights, labels)
        assert found.labels == known
        for label, row, n in zip(known, found.shares, found.n_docs, strict=True):
            mine = labels == label
            assert np.allclose(row, np.average(theta[mine], axis=0, weights=counted[mine]))
            assert n == (counted[mine] > 0).sum()
        assert np.allclose(found.shares.sum(axis=1), 1)


def test_of_a_collection_in_blocks():
    X = generate(9000, n_words=30, n_topics=3, random_state=0).X.tolil()
    X[5] = 0  # says nothing of any topic
    X = X.tocsr()
    model = opelda.OnlineOPE(3, random_state=0).fit(X)
    index = np.random.default_rng(0).integers(-1, 3, 9000)
    found = corpus_shares(model, X, ["x", "y", "z"], index)
    weights = np.asarray(X.sum(axis=1)).ravel() > 0
    again = shares_over(model.transform(X), weights, [("x", "y", "z", None)[i] for i in index])
    assert found.labels == again.labels
    assert np.allclose(found.shares, again.shares, atol=1e-6)
    counted = [int(((index == i) & weights).sum()) for i in range(3)]
    assert found.n_docs.tolist() == again.n_docs.tolist() == counted
    for size in (8999, 9001):
        with pytest.raises(InputError, match=f"{size} labels"):
            corpus_shares(model, X, ["x"], np.zeros(size, int))


def test_an_inference_is_taken_as_it_is():
    topics = [[0.9, 0.1], [0.1, 0.9]]
    found = infer([[5, 0], [0, 5]], topics)
    assert np.allclose(shares_over(found, None, [1, 2]).shares, found.theta)


@pytest.mark.parametrize(
    ("theta", "weights", "labels", "said"),
    [
        ([[1.0]], None, ["a", "b"], "labels are 2, but there are 1"),
        ([[1.0]], [-1.0], ["a"], "weights must not be negative"),
        ([1.0], None, ["a"], "theta must be an array"),
        ([[1.0]], [1.0, 2.0], ["a"], "weights has shape"),
    ],
)
def test_mistakes_are_sentences(theta, weights, labels, said):
    with pytest.raises(InputError, match=said):
        shares_over(theta, weights, labels)


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


@pytest.mark.parametrize(("value", "unit"), WRITTEN.items(), ids=str)
def test_times_are_read_as_they_are_usually_written(value, unit):
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


@pytest.mark.parametrize(
    ("days", "unit"),
    [(30, "day"), (300, "week"), (1500, "month"), (4000, "quarter"), (20000, "year")],
)
def test_bins_are_as_fine_as_is_sensible(days, unit):
    start = dt.date(1960, 1, 4)
    times = [start + dt.timedelta(days=int(i)) for i in np.arange(4000) * days / 4000]
    found = time_bins(times)
    assert found.unit == unit
    assert len(found.starts) <= MOST_BINS


def test_years_alone_are_years():
    assert time_bins(pl.Series(["1987"] * 50 + ["1988"] * 50)).unit == "year"


NEW_YORK, TOKYO = (dt.timezone(dt.timedelta(hours=hours)) for hours in (-4, 9))
EVENING = dt.datetime(2017, 7, 31, 22, 19)


@pytest.mark.parametrize(
    "times",
    [
        [EVENING.replace(tzinfo=zone).isoformat() for zone in (NEW_YORK, dt.UTC, TOKYO)],
        [EVENING.replace(tzinfo=zone) for zone in (NEW_YORK, dt.UTC, TOKYO)],
        pl.Series([EVENING]).dt.replace_time_zone("America/New_York"),
        pd.Series([EVENING]).dt.tz_localize("Asia/Tokyo"),
    ],
    ids=["texts", "datetimes", "polars", "pandas"],
)
def test_a_time_with_a_zone_counts_as_written(times):
    for unit, label in (("day", "2017-07-31"), ("hour", "2017-07-31 22:00")):
        assert time_bins(times, unit).labels == [label]


def test_one_moment_in_two_zones_is_two_times():
    moments = [EVENING.replace(tzinfo=NEW_YORK)]
    moments += [moments[0].astimezone(zone) for zone in (dt.UTC, TOKYO, NEW_YORK)]
    assert time_bins(moments, "hour").labels == [
        "2017-07-31 22:00", "2017-08-01 02:00", "2017-08-01 11:00",
    ]  # fmt: skip
    assert time_bins(moments, "hour").index.tolist() == [0, 1, 2, 0]


def test_a_zone_in_parquet_counts_as_its_clock_showed_it(tmp_path):
    when = pl.Series("date", [EVENING] * 3).dt.replace_time_zone("America/New_York")
    pl.DataFrame({"text": ["tea"] * 3, "date": when}).write_parquet(tmp_path / "t.parquet")
    corpus = read(tmp_path / "t.parquet", metadata="auto")
    assert time_bins(corpus.metadata["date"], "day").labels == ["2017-07-31"]


def test_most_times_must_be_readable():
    assert time_bins(["2001", "2002", "soon"]).index.tolist() == [0, 1, -1]
    with pytest.raises(InputError, match="'soon' is not known to be a time"):
        time_bins(["soon", "2001", "<b>"])
    with pytest.raises(InputError, match="no document with a time"):
        time_bins([None, ""])


@given(st.lists(st.sampled_from(["a", "b", "c", "=d", None, "", float("nan")])), st.integers(1, 4))
def test_the_largest_groups_come_first(labels, most):
    counts = {g: sum(x == g for x in labels) for g in ("a", "b", "c", "=d") if g in labels}
    if not counts:
        with pytest.raises(InputError, match="no document with a group"):
            group_bins(labels, most)
        return
    names, index = group_bins(labels, most)
    sizes = [counts[name] for name in names]
    assert sizes == sorted(counts.values(), reverse=True)[:most]
    for label, i in zip(labels, index, strict=True):
        assert i == (names.index(label) if label in names else -1)
