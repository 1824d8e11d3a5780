"""Times of inference: equal conditions for all methods."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from opelda.corpus import generate
from reproduction import Settings, prepare
from reproduction import inference_time as module
from reproduction.inference_time import (
    METHODS,
    judge,
    medians,
    times,
)
from reproduction.learners import new_learner
from reproduction.paper import SECONDS
from tests.cases import cases

SETTINGS = Settings.small(n_topics=4, batch_size=40, n_test=20, n_iter=12)


@pytest.fixture(scope="module")
def data():
    made = generate(140, n_words=50, n_topics=4, separated=True)
    return prepare(made.X, SETTINGS, label="generated")  # 120 documents to learn from: 3 batches


@pytest.fixture(scope="module")
def measured(data):
    shares = []
    rows = times(data, SETTINGS, shares.append, seed=0, n_batches=4)
    return rows, shares


def rows_of(seconds, n_batches=20, seed=0):
    return [
        {
            "method": name,
            "seed": seed,
            "batch": batch + 1,
            "seconds_per_document": value * (1 + 0.1 * batch),
            "iterations": 50.0,
            "documents": 1000,
            "n_words": 55.0,
            "n_tokens": 75.0,
        }
        for batch in range(n_batches)
        for name, value in seconds.items()
    ]


def test_methods_alternate_over_every_batch(measured):
    rows, shares = measured
    assert Counter((row["method"], row["batch"]) for row in rows) == Counter(
        (name, batch) for name in METHODS for batch in (1, 2, 3, 4)
    )
    assert {rows[i]["method"] for i in range(0, 16, 4)} == set(METHODS)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_batches_partition_the_collection(data, measured):
    rows, _ = measured
    dense = data.train.toarray()
    for name in METHODS:
        first_pass = [row for row in rows if row["method"] == name and row["batch"] <= 3]
        assert {row["documents"] for row in first_pass} == {40}
        words = sum(row["n_words"] * row["documents"] for row in first_pass)
        tokens = sum(row["n_tokens"] * row["documents"] for row in first_pass)
        assert words == pytest.approx((dense > 0).sum())
        assert tokens == pytest.approx(dense.sum())
    for batch in (1, 2, 3, 4):
        same = {(row["n_words"], row["n_tokens"]) for row in rows if row["batch"] == batch}
        assert len(same) == 1


def test_time_excludes_all_but_inference(data, monkeypatch):
    told = iter(range(1, 100))  # seconds, as the learners report them

    class Reported(module.History):
        def __call__(self, report):
            super().__call__(replace(report, e_seconds=float(next(told)), m_seconds=1e9))

    monkeypatch.setattr(module, "History", Reported)
    rows = times(data, SETTINGS, lambda share: None, seed=0, n_batches=2)
    # the four before them warmed up
    assert [row["seconds_per_document"] * 40 for row in rows] == pytest.approx(range(5, 13))


@cases("name", METHODS)
def test_learners_equal_the_papers(data, name):
    mine = module._learner(name, SETTINGS.changed(n_jobs=2), 5, 120)
    assert mine.engine.n_threads == 1
    theirs = new_learner(f"Online-{name}", SETTINGS, 5, population=120, n_jobs=1)
    for learner in (mine, theirs):
        learner.partial_fit(data.train[:40]).partial_fit(data.train[40:80])
    np.testing.assert_array_equal(mine.components_, theirs.components_)


def outcomes(rows):
    return [verdict.outcome for verdict in judge(rows)]


def test_papers_own_times_reproduce_its_claim():
    assert outcomes(rows_of(SECONDS)) == ["reproduced"] * 4


def test_verdicts_follow_the_ratios():
    close = {"OPE": 1e-5, "VB": 3e-5, "CVB0": 5e-5, "CGS": 2e-5}
    assert outcomes(rows_of(close)) == ["reproduced", "not reproduced", "partly", "partly"]
    second = close | {"VB": 0.8e-5, "CVB0": 2e-5, "CGS": 1.2e-5}
    assert outcomes(rows_of(second)) == ["not reproduced"] * 4
    assert outcomes(rows_of(close | {"VB": 20e-5}))[1] == "partly"
    why = judge(rows_of(close))[1].why
    assert why.startswith("3 times, in the paper 371; 50 iterations")


@cases(
    ("other", "outcome"),
    [
        (1.12, "reproduced"),
        (1.08, "partly"),
        (1.0, "partly"),
        (0.93, "partly"),
        (0.88, "not reproduced"),
    ],
)
@cases("slow", [{}, {"CVB0": 1.5, "CGS": 9.0}])
def test_fastest_method_leads_clearly(other, outcome, slow):
    rows = rows_of({"OPE": 1.0, "VB": other, **slow})
    assert outcomes(rows)[0] == outcome
    assert "10%" in judge(rows)[0].why


def test_median_is_over_seeds_and_the_second_half_of_the_batches():
    rows = rows_of({"OPE": 1.0}, n_batches=4)
    assert medians(rows) == {"OPE": pytest.approx(np.median([1.2, 1.3]))}
    assert medians(rows[:3]) == {"OPE": pytest.approx(np.median([1.1, 1.2]))}
    assert medians(rows[:1]) == {"OPE": pytest.approx(1.0)}
    rows += rows_of({"OPE": 3.0}, n_batches=4, seed=1)
    expected = np.median([1.2, 1.3, 3.6, 3.9])
    assert medians(rows[::-1]) == {"OPE": pytest.approx(expected)}
