"""Times of inference: fair by construction, whatever they are."""

import json
from collections import Counter

import numpy as np
import pytest

from opelda.corpus import generate
from opelda.experiments import Settings, experiment, prepare
from opelda.experiments import inference_time as module
from opelda.experiments._learning import new_learner
from opelda.experiments._paper import SECONDS
from opelda.experiments.inference_time import (
    METHODS,
    CountingEngine,
    draw,
    judge,
    medians,
    runs,
    times,
)
from opelda.inference import infer

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


def rows_of(seconds, n_batches=3, seed=0):
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


def test_runs(data):
    assert experiment("inference-time") is module.EXPERIMENT
    for settings, n_batches in ((SETTINGS, 4), (Settings(n_seeds=3), 20)):
        made = runs(settings, data)
        assert [run.parameters["seed"] for run in made] == list(settings.seeds())
        assert {run.parameters["n_batches"] for run in made} == {n_batches}
        assert all(run.label and run.measure is times for run in made)
        json.dumps([run.parameters for run in made])


def test_every_method_has_every_batch_once_and_none_is_always_first(measured):
    rows, shares = measured
    assert Counter((row["method"], row["batch"]) for row in rows) == Counter(
        (name, batch) for name in METHODS for batch in (1, 2, 3, 4)
    )
    assert {rows[i]["method"] for i in range(0, 16, 4)} == set(METHODS)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_rows_are_plain_and_alike(measured):
    rows, _ = measured
    assert len({tuple(row) for row in rows}) == 1
    json.dumps(rows, allow_nan=False)
    assert all(row["seconds_per_document"] > 0 for row in rows)
    for row in rows:
        if row["method"] == "VB":
            assert 1 <= row["iterations"] <= SETTINGS.n_iter
        else:
            assert row["iterations"] == SETTINGS.n_iter


def test_batches_are_the_collection_in_full_batches(data, measured):
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


def test_time_is_that_of_inference_alone(data, monkeypatch):
    ticks = iter(range(10**6))  # a clock that goes on by one second whenever it is looked at
    monkeypatch.setattr("opelda.engines._cpu.perf_counter", lambda: float(next(ticks)))
    rows = times(data, SETTINGS, lambda share: None, seed=0, n_batches=2)
    # an update looks at it four times, and inference lies between the second and the third
    assert [row["seconds_per_document"] for row in rows] == [1 / 40] * 8


@pytest.mark.parametrize("name", METHODS)
def test_learners_are_the_papers(data, name):
    method = module._methods(SETTINGS)[name]
    mine = module._learner(method, SETTINGS.changed(n_jobs=2), 5, 120)
    assert mine.engine.n_threads == 1
    theirs = new_learner(f"Online-{name}", SETTINGS, 5, population=120, n_jobs=1)
    for learner in (mine, theirs):
        learner.partial_fit(data.train[:40]).partial_fit(data.train[40:80])
    np.testing.assert_array_equal(mine.components_, theirs.components_)


def test_the_engine_that_counts_is_the_cpu(data):
    topics = generate(1, n_words=50, n_topics=4, separated=True).topics
    engine = CountingEngine(1)
    found, plain = (infer(data.test, topics, method="vb", engine=e) for e in (engine, "cpu"))
    np.testing.assert_array_equal(found.theta, plain.theta)
    np.testing.assert_array_equal(engine.iterations, plain.n_iter)
    assert len(set(engine.iterations)) > 1


def test_a_collection_smaller_than_a_batch_is_the_batch(data):
    settings = SETTINGS.changed(batch_size=5000)
    rows = times(data, settings, lambda share: None, seed=0, n_batches=2)
    assert {row["documents"] for row in rows} == {120}


def outcomes(rows):
    return [verdict.outcome for verdict in judge(rows)]


def test_the_papers_own_times_reproduce_it():
    assert outcomes(rows_of(SECONDS)) == ["reproduced"] * 4


def test_verdicts_follow_the_ratios():
    close = {"OPE": 1e-5, "VB": 3e-5, "CVB0": 5e-5, "CGS": 2e-5}
    assert outcomes(rows_of(close)) == ["reproduced", "not reproduced", "partly", "partly"]
    second = close | {"VB": 0.8e-5, "CVB0": 2e-5, "CGS": 1.2e-5}
    assert outcomes(rows_of(second)) == ["not reproduced"] * 4
    assert outcomes(rows_of(close | {"VB": 20e-5}))[1] == "partly"
    why = judge(rows_of(close))[1].why
    assert why.startswith("3 times, in the paper 371; 50 iterations")


@pytest.mark.parametrize(
    ("other", "outcome"),
    [
        (1.12, "reproduced"),
        (1.08, "partly"),
        (1.0, "partly"),
        (0.93, "partly"),
        (0.88, "not reproduced"),
    ],
)
@pytest.mark.parametrize("slow", [{}, {"CVB0": 1.5, "CGS": 9.0}])
def test_the_fastest_is_well_ahead_of_the_next(other, outcome, slow):
    rows = rows_of({"OPE": 1.0, "VB": other, **slow})
    assert outcomes(rows)[0] == outcome
    assert "10%" in judge(rows)[0].why


def test_partial_rows_are_judged_as_far_as_they_go():
    assert outcomes([]) == ["not tested"] * 4
    assert outcomes(rows_of({"OPE": 1e-5})) == ["not tested"] * 4
    assert outcomes(rows_of({"VB": 1e-5, "CGS": 1e-5})) == ["not tested"] * 4
    some = rows_of({"OPE": 1e-5, "VB": 2e-3}, n_batches=1)
    assert outcomes(some) == ["reproduced", "reproduced", "not tested", "not tested"]


def test_median_is_over_seeds_and_the_second_half_of_the_batches():
    rows = rows_of({"OPE": 1.0}, n_batches=4)
    assert medians(rows) == {"OPE": pytest.approx(np.median([1.2, 1.3]))}
    assert medians(rows[:3]) == {"OPE": pytest.approx(np.median([1.1, 1.2]))}
    assert medians(rows[:1]) == {"OPE": pytest.approx(1.0)}
    rows += rows_of({"OPE": 3.0}, n_batches=4, seed=1)
    expected = np.median([1.2, 1.3, 3.6, 3.9])
    assert medians(rows[::-1]) == {"OPE": pytest.approx(expected)}


def test_iterations_told_are_those_of_the_times():
    rows = rows_of({"OPE": 1.0, "VB": 3.0}, n_batches=4)
    for row in rows:
        row["iterations"] = 50.0 if row["batch"] < 3 else 20.0
    assert "; 20 iterations a document, OPE 20" in judge(rows)[1].why


@pytest.mark.parametrize("names", [METHODS, ("OPE",), ("CGS", "VB")])
def test_figure(names):
    pytest.importorskip("matplotlib")
    from opelda.experiments._plots import LOOKS

    rows = rows_of({name: SECONDS[name] / 100 for name in names}, n_batches=5)
    figure = draw(rows)
    figure.draw_without_rendering()
    left, right = figure.axes
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in (left, right))
    assert left.get_yscale() == right.get_yscale() == "log"
    for name, line in zip(names, left.lines, strict=True):
        assert (line.get_label(), line.get_color()) == (name, LOOKS[name].colour)
        assert len(line.get_xdata()) == 5
    heights = [bar.get_height() for bar in right.patches if bar.get_height()]
    expected = [value for name in METHODS for value in _bars(name, names)]
    assert heights == pytest.approx(expected)
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == [*names, "here", "the paper's Python"]
    assert figure.get_size_inches()[0] <= 11


def _bars(name, names):
    here = [SECONDS[name] / 100 * 1.3] if name in names else []  # the fourth of five batches
    return [*here, SECONDS[name]]
