"""Figures 1 and 2: verdicts on their rows, and drawing."""

import numpy as np
import pytest

from opelda.corpus import generate
from reproduction import Settings, learning_documents, learning_time, prepare
from reproduction.curves import curve, curves
from reproduction.learners import NAMES, SEVEN
from tests.cases import cases

WHEN = (1.0, 2.0, 4.0)


def way(learner, end, *, slow=1.0, npmi=0.2, seed=0, step=0.5):
    """Rows of a learner that gains `step` per look and ends with `end`."""
    return [
        {
            "learner": learner,
            "seed": seed,
            "documents": 100 * (n + 1),
            "seconds": slow * when,
            "lpp": end - step * (len(WHEN) - 1 - n),
            "npmi": npmi,
        }
        for n, when in enumerate(WHEN)
    ]


def ways(**ends):
    """Rows of all learners, those named with these ends and keywords."""
    rows = []
    for number, name in enumerate(NAMES):
        end = ends.get(name.replace("-", "_"), -8.0 - 0.05 * number)
        rows += way(name, **end) if isinstance(end, dict) else way(name, end)
    return rows


def outcomes(judged):
    return [verdict.outcome for verdict in judged]


def named(name):
    """The keyword of `ways` for a learner."""
    return name.replace("-", "_")


def test_fastest_learner_to_a_level():
    fast = ways(ML_OPE={"end": -7.0, "slow": 0.1})
    assert outcomes(learning_time.judge(fast))[0] == "reproduced"
    level = ways(ML_OPE={"end": -7.0, "slow": 0.12}, Online_OPE={"end": -7.0, "slow": 0.1})
    assert outcomes(learning_time.judge(level))[0] == "partly"
    behind = ways(ML_OPE={"end": -7.0, "slow": 0.5}, Online_OPE={"end": -7.0, "slow": 0.1})
    assert outcomes(learning_time.judge(behind))[0] == "not reproduced"
    verdict = learning_time.judge(ways(ML_OPE=-20.0))[0]
    assert verdict.outcome == "not reproduced"
    assert "Online-OPE 4 s" in verdict.why
    assert "start kept" not in verdict.why


@cases(
    ("cgs", "cvb0", "vb", "outcome"),
    [
        (20, 100, 1000, "reproduced"),
        (20, 100, 400, "partly"),
        (3, 10, 10, "partly"),
        (2, 100, 1000, "not reproduced"),
    ],
)
def test_verdict_on_speedup_to_equal_quality(cgs, cvb0, vb, outcome):
    ends = {named(name): {"end": -8.0, "slow": 1.0} for name in SEVEN}
    for name, slow in (("CGS", cgs), ("CVB0", cvb0), ("VB", vb)):
        ends[f"Online_{name}"]["slow"] = float(slow)
    ends["Streaming_VB"] = {"end": -20.0, "slow": 999.0}
    verdict = learning_time.judge(ways(**ends))[1]
    assert verdict.outcome == outcome
    assert f"Online-CVB0 {cvb0}x" in verdict.why
    assert "Streaming-VB more than 999x" in verdict.why


def test_seconds_are_means_over_seeds():
    rows = way("ML-OPE", -7.0) + way("ML-OPE", -7.5, seed=1) + way("Online-OPE", -9.0)
    assert learning_time.seconds_to(rows, -8.0) == {"ML-OPE": 1.5}
    assert learning_time.seconds_to(rows, -7.5) == {"ML-OPE": 3.0}
    assert learning_time.seconds_to(rows, -7.0) == {}
    assert learning_time.seconds_to(rows, -5.0) == {}


@cases(
    ("online", "outcome"),
    [(-7.9, "reproduced"), (-7.99, "partly"), (-8.01, "partly"), (-8.1, "not reproduced")],
)
def test_best_learner_leads_by_more_than_seed_spread(online, outcome):
    rows = ways(Online_OPE=online)  # ML-OPE ends with -8
    assert outcomes(learning_documents.judge(rows))[0] == outcome
    far = [row | {"seed": 1, "lpp": row["lpp"] - 2} for row in rows]
    assert outcomes(learning_documents.judge(rows + far))[0] == "partly"


@cases(
    ("kept", "outcome"),
    [(-9.1, "reproduced"), (-9.01, "partly"), (-8.99, "partly"), (-8.5, "not reproduced")],
)
def test_worst_learner_is_judged_by_the_papers_claim(kept, outcome):
    streaming = ("Streaming-OPE, start kept", "Streaming-VB, start kept")
    rows = [row for row in ways(Streaming_OPE=-7.0) if row["learner"] not in streaming]
    rows += way(streaming[0], kept) + way(streaming[1], -9.0)
    verdict = learning_documents.judge(rows)[1]
    assert verdict.outcome == outcome
    assert "without -7.000" in verdict.why


@cases(
    ("npmi", "outcome"), [(0.9, "reproduced"), (0.2, "reproduced"), (0.195, "partly"), (0, "not")]
)
def test_most_coherent_learner(npmi, outcome):
    rows = ways(Online_OPE={"end": -8.0, "npmi": npmi})  # all others have 0.2
    assert outcomes(learning_documents.judge(rows))[2].startswith(outcome)


@pytest.mark.parametrize("judge", [learning_time.judge, learning_documents.judge])
def test_too_little_data_gets_no_verdict(judge):
    assert set(outcomes(judge([]))) == {"not tested"}
    for name in SEVEN:
        assert set(outcomes(judge(way(name, -8.0)))) == {"not tested"}
        without = [row for row in ways() if row["learner"] != name]
        assert set(outcomes(judge(without))) == {"not tested"}


@pytest.mark.parametrize("settings", [Settings(n_seeds=3), Settings.small(seed=7)])
def test_runs(settings):
    runs = curves(settings, None)
    assert [run.label for run in runs] == [*NAMES] * settings.n_seeds + ["no topics"]
    named = {(run.parameters["learner"], run.parameters["seed"]) for run in runs[:-1]}
    assert named == {(name, seed) for name in NAMES for seed in settings.seeds()}
    assert {figure.EXPERIMENT.runs for figure in (learning_time, learning_documents)} == {curves}


def test_topics_must_beat_word_frequencies():
    """Measured as one topic, drawn as a line, and no claim holds of learners that are behind."""
    settings = Settings.small(n_topics=3, n_test=50)
    data = prepare(generate(300, n_words=40, n_topics=3).X, settings, label="generated")
    (row,) = curves(settings, None)[-1].measure(data, settings, None)
    counts = data.train.toarray().astype(float).sum(axis=0) + 1 / 3
    logs = np.log(counts / counts.sum())
    per_document = [(h.toarray() @ logs) / h.toarray().sum(axis=1) for _, h in data.splits]
    assert row["lpp"] == pytest.approx(np.mean(per_document), abs=1e-12)
    rows = ways(ML_OPE={"end": -7.0, "slow": 0.1}, Online_OPE=-6.0)
    for lpp, fastest, best in ((-9.0, "reproduced", "reproduced"), (-5.0, "not tested", "not re")):
        judged = [*rows, row | {"lpp": lpp}]
        assert outcomes(learning_time.judge(judged))[0] == fastest
        assert outcomes(learning_documents.judge(judged))[0].startswith(best)
    lines = learning_documents.draw([*rows, row]).axes[0].lines
    assert [list(line.get_ydata()) for line in lines if line.get_label() == "no topics"] == [
        [row["lpp"]] * 2
    ]


def test_points_are_sorted_means_over_seeds():
    rows = way("ML-OPE", -7.0)[::-1] + way("ML-OPE", -8.0, slow=3.0, seed=1)
    found = curve(rows, "ML-OPE")
    assert [row["documents"] for row in found] == [100, 200, 300]
    assert [row["lpp"] for row in found] == [-8.5, -8.0, -7.5]
    assert [row["seconds"] for row in found] == [2.0, 4.0, 8.0]
    assert curve([rows[0] | {"incoherent": n} for n in (0, 50)], "ML-OPE")[0]["incoherent"] == 25
    assert curve(rows, "Online-OPE") == []
