"""Figure 3: which settings are run, what is measured, what is concluded and drawn."""

import json

import numpy as np
import pytest

from opelda import MLOPE, OnlineOPE
from opelda.corpus import generate
from opelda.experiments import Settings, prepare
from opelda.experiments._margin import SINGLE, TIE, margin
from opelda.experiments.sensitivity import LEARNERS, SWEEPS, draw, judge, means, one_pass, runs
from opelda.inference import infer

SETTINGS = Settings.small(n_topics=3, n_test=40, n_jobs=1, batch_size=60, n_passes=3)
DATA = prepare(generate(340, n_words=50, n_topics=3).X, SETTINGS, label="generated")
CLAIMS = ("batch_size", "n_iter", "learning_decay", "learning_offset")


def made(parameter, values, learners=LEARNERS, seeds=(0,), as_set=None):
    """Rows of a sweep; `values` maps the parameter's values to LPP."""
    return [
        {
            "learner": learner,
            "parameter": parameter,
            "value": float(value),
            "as_set": value == as_set,
            "seed": seed,
            "documents": 300,
            "seconds": 0.1,
            "lpp": lpp,
            "lpp_error": 0.01,
            "npmi": 0.1,
            "incoherent": 0,
        }
        for learner in learners
        for value, lpp in values.items()
        for seed in seeds
    ]


def outcome(rows, parameter):
    return judge(rows)[CLAIMS.index(parameter)].outcome


@pytest.mark.parametrize("settings", [SETTINGS, Settings(), Settings(n_seeds=3, seed=5)])
def test_one_parameter_changes_at_a_time(settings):
    found = runs(settings, DATA)
    keys = {json.dumps(run.parameters, sort_keys=True) for run in found}
    assert len(keys) == len(found)
    per_seed = len(found) // settings.n_seeds
    assert len({run.label for run in found}) == per_seed
    assert {run.parameters["seed"] for run in found} == set(settings.seeds())
    for run in found:
        changed = {k: v for k, v in run.parameters.items() if k not in ("learner", "seed")}
        assert len(changed) <= 1
        for name, value in changed.items():
            assert value != getattr(settings, name)
            assert name != "batch_size" or value <= DATA.train.shape[0]
    unchanged = [run for run in found if len(run.parameters) == 2]
    assert len(unchanged) == len(LEARNERS) * settings.n_seeds


@pytest.mark.parametrize("quick", [True, False])
def test_every_sweep_has_what_its_claim_compares(quick):
    settings = SETTINGS.changed(quick=quick, n_iter=30, learning_offset=2.0, learning_decay=0.75)
    found = [run.parameters for run in runs(settings, DATA)]
    for name, needed in (("n_iter", {20, 100}), ("learning_offset", {1.0})):
        assert needed <= {run[name] for run in found if name in run}
    for name in SWEEPS:
        assert any(name in run for run in found)


def test_a_setting_equal_to_a_value_is_not_run_twice():
    found = [run.parameters for run in runs(Settings(n_iter=20), DATA)]
    assert 20 not in {run.get("n_iter") for run in found}
    assert 50 in {run.get("n_iter") for run in found}


def test_mini_batches_larger_than_the_collection_are_one():
    found = [run.parameters for run in runs(Settings(batch_size=10**6), DATA)]
    sizes = [run["batch_size"] for run in found if "batch_size" in run]
    assert max(sizes) < DATA.train.shape[0]  # all of it is what is set already
    rows = one_pass(DATA, SETTINGS.changed(batch_size=10**6), ignore, learner="ML-OPE", seed=0)
    assert rows[0]["value"] == DATA.train.shape[0]


def ignore(share):
    assert 0 <= share <= 1


def npmi(topics, X, n_words):
    """By sets of documents, as the definition reads."""
    holds = [set(np.flatnonzero(column)) for column in X.toarray().T]
    n_docs, scores = X.shape[0], []
    for topic in topics:
        top = np.argsort(-topic, kind="stable")[:n_words]
        for i in range(n_words):
            for j in range(i):
                a, b = holds[top[i]], holds[top[j]]
                both = len(a & b) / n_docs
                if both == 0:
                    scores.append(-1.0)
                else:
                    pmi = np.log(both * n_docs**2 / len(a) / len(b))
                    scores.append(pmi / -np.log(both) if both < 1 else 1.0)
    return np.mean(scores)


def lpp(topics, splits, alpha):
    """Document by document."""
    found = []
    for observed, held in splits:
        theta = infer(observed, topics, method="vb", doc_topic_prior=alpha).theta.astype(float)
        for d in range(held.shape[0]):
            counts = held[[d]].toarray()[0]
            if counts.sum() and observed[[d]].sum():
                found.append((d, counts @ np.log(theta[d] @ topics) / counts.sum()))
    by_document = {}
    for d, value in found:
        by_document.setdefault(d, []).append(value)
    return np.mean([np.mean(values) for values in by_document.values()])


@pytest.mark.parametrize(
    ("learner", "kind", "changed"),
    [
        ("ML-OPE", MLOPE, {"learning_offset": 10.0}),
        ("Online-OPE", OnlineOPE, {"batch_size": 100}),
        ("Online-OPE", OnlineOPE, {}),
    ],
)
def test_what_is_measured_is_the_end_of_one_pass(learner, kind, changed):
    rows = one_pass(DATA, SETTINGS, ignore, learner=learner, seed=4, **changed)
    given = {"batch_size": 60, "n_iter": 50, "learning_decay": 0.9, "learning_offset": 1.0}
    model = kind(3, random_state=4, n_passes=1, **(given | changed)).fit(DATA.train)
    assert {row["parameter"]: row["value"] for row in rows} == (changed or given)
    topics = model.components_.astype(float)
    for row in rows:
        assert row["as_set"] is (not changed)
        assert row["documents"] == DATA.train.shape[0]
        assert row["lpp"] == pytest.approx(lpp(topics, DATA.splits, 1 / 3), abs=1e-5)
        assert row["npmi"] == pytest.approx(npmi(topics, DATA.train, SETTINGS.n_words), abs=1e-9)
        assert row["seconds"] > 0
        assert all(np.isfinite(value) for value in row.values() if isinstance(value, float))
        json.dumps(row, allow_nan=False)


def test_documents_without_words_at_the_end_do_no_harm():
    train = DATA.train.copy()
    train.data[:] = 0
    train[:60] = DATA.train[:60]
    train.eliminate_zeros()
    data = type(DATA)("mostly empty", train, DATA.splits)
    for changed in ({}, {"batch_size": 7}):
        rows = one_pass(data, SETTINGS, ignore, learner="ML-OPE", seed=0, **changed)
        assert len(rows) == (1 if changed else len(SWEEPS))


def test_seeds_that_differ_more_make_more_count():
    assert margin([[1.0, 1.001]]) == TIE == 0.02
    assert margin([]) == margin([[1.0], [2.0]]) == SINGLE == 0.045  # nothing tells how much
    rng = np.random.default_rng(0)
    seeds = rng.normal(0, 0.5, (4000, 4))
    differences = seeds[::2].mean(axis=1) - seeds[1::2].mean(axis=1)
    settings = seeds + rng.normal(0, 9, (4000, 1))  # what the settings themselves do is left out
    assert margin(settings.tolist()) == pytest.approx(2 * differences.std(), rel=0.1)


RISING = {100: -8.0, 500: -7.8, 1000: -7.81, 5000: -7.7}
FALLING = {100: -7.7, 500: -7.8, 1000: -7.9}


@pytest.mark.parametrize(
    ("parameter", "values", "expected"),
    [
        ("batch_size", RISING, "reproduced"),
        ("batch_size", FALLING, "not reproduced"),
        ("batch_size", {100: -8.0, 500: -7.99}, "not reproduced"),  # nothing gained
        ("batch_size", {100: -8.0, 500: -7.5, 1000: -7.6}, "not reproduced"),  # lost at the end
        ("batch_size", {100: -8.0, 500: -7.98, 1000: -7.95}, "reproduced"),
        ("batch_size", {100: -8.0, 500: -7.98, 1000: -7.965}, "not reproduced"),
        ("batch_size", {100: -8.0}, "not tested"),
        ("n_iter", {20: -7.51, 50: -7.3, 100: -7.5}, "reproduced"),
        ("n_iter", {20: -7.4, 100: -7.5}, "reproduced"),
        ("n_iter", {20: -7.53, 100: -7.5}, "not reproduced"),  # 0.02 is what two runs may differ
        ("n_iter", {20: -7.6, 50: -7.5}, "not tested"),
        ("learning_decay", {0.5: -7.5, 0.9: -7.51}, "reproduced"),
        ("learning_decay", {0.5: -7.5, 0.7: -7.53, 0.9: -7.5}, "not reproduced"),
        ("learning_offset", {1: -7.5, 10: -7.6}, "reproduced"),
        ("learning_offset", {0.1: -7.49, 1: -7.5, 10: -7.6}, "reproduced"),
        ("learning_offset", {1: -7.5, 10: -7.4}, "not reproduced"),
        ("learning_offset", {1: -7.5, 10: -7.51}, "not reproduced"),  # all alike: none is best
        ("learning_offset", {10: -7.5, 20: -7.6}, "not tested"),
    ],
)
def test_verdicts(parameter, values, expected):
    rows = made(parameter, values)
    assert outcome(rows, parameter) == expected
    outcomes = [verdict.outcome for verdict in judge(rows)]
    left_out = len(SWEEPS) - 1 + (expected == "not tested")
    assert outcomes.count("not tested") == left_out


def test_a_claim_that_holds_for_one_learner_holds_partly():
    rows = made("batch_size", RISING, LEARNERS[:1]) + made("batch_size", FALLING, LEARNERS[1:])
    assert outcome(rows, "batch_size") == "partly"
    [verdict] = [v for v in judge(rows) if v.outcome != "not tested"]
    for figure in ("ML-OPE", "Online-OPE", "-8.000", "-7.900", "0.045"):
        assert figure in verdict.why


def test_one_learner_alone_is_judged():
    rows = made("batch_size", RISING, LEARNERS[:1])
    assert outcome(rows, "batch_size") == "reproduced"
    assert "Online-OPE" not in judge(rows)[0].why


def noisy(parameter, values):
    rows = made(parameter, values, seeds=(0, 1))
    return [row | {"lpp": row["lpp"] + 0.3 * (-1) ** row["seed"]} for row in rows]


def test_a_difference_that_seeds_also_make_does_not_count():
    for parameter, values in (("batch_size", RISING), ("learning_offset", {1: -7.5, 10: -7.6})):
        assert outcome(made(parameter, values, seeds=(0, 1)), parameter) == "reproduced"
        assert outcome(noisy(parameter, values), parameter) == "not reproduced"


@pytest.mark.parametrize(
    ("parameter", "values"),
    [("n_iter", {20: -7.6, 100: -7.5}), ("learning_decay", {0.5: -7.6, 0.9: -7.5})],
)
def test_seeds_that_differ_do_not_make_settings_equal(parameter, values):
    verdict = judge(noisy(parameter, values))[CLAIMS.index(parameter)]
    assert (verdict.outcome, "(0.02 counts)" in verdict.why) == ("not reproduced", True)


def test_what_counts_in_a_sweep_is_up_to_its_own_runs():
    own = made("batch_size", RISING, seeds=(0, 1))
    assert judge(own + noisy("n_iter", {20: -7.5, 100: -7.5}))[0] == judge(own)[0]
    assert "(0.02 counts)" in judge(own)[0].why


def test_means_are_over_seeds_in_the_order_of_values():
    rows = made("n_iter", {100: -7.0, 20: -8.0}, seeds=(0, 1))
    rows[0]["lpp"] = -6.0
    assert means(rows, "ML-OPE", "n_iter") == {20.0: -8.0, 100.0: -6.5}


def whole():
    sweeps = {
        "batch_size": ({100: -8.0, 5000: -7.9}, 5000),
        "n_iter": ({20: -8.0, 50: -7.9}, 50),
        "learning_decay": ({0.6: -8.0, 0.9: -7.9}, 0.9),
        "learning_offset": ({1: -7.9, 50: -9.0}, 1),
    }
    return [
        row
        for name, (values, as_set) in sweeps.items()
        for row in made(name, values, seeds=(0, 1), as_set=as_set)
    ]


ONE_LEARNER = [row for row in whole() if row["learner"] == "ML-OPE" and row["seed"] == 0]


@pytest.mark.parametrize("rows", [whole(), ONE_LEARNER, whole()[:1], whole()[-3:]])
def test_figure(rows):
    pytest.importorskip("matplotlib")
    from opelda.experiments._plots import LOOKS, style

    with style():
        figure = draw(rows)
        figure.canvas.draw()
    axes = figure.axes
    assert len(axes) == 2 * len(SWEEPS)
    assert figure.get_figwidth() <= 11
    assert all(panel.get_xlabel() for panel in axes)
    assert all(panel.get_ylabel() for panel in axes[:: len(SWEEPS)])
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    learners = {row["learner"] for row in rows}
    marked = {"as in the other panels"} if any(row["as_set"] for row in rows) else set()
    assert sorted(names) == sorted(learners | marked)
    for panel in axes:
        for line in panel.get_lines():
            if line.get_label() in LOOKS:
                assert line.get_color() == LOOKS[line.get_label()].colour


def test_figure_shows_means_and_the_value_set():
    pytest.importorskip("matplotlib")
    rows = whole()
    rows[0]["lpp"] = -7.0  # ML-OPE, batch_size 100, one of two seeds
    panel = draw(rows).axes[0]
    lines = {line.get_label(): line for line in panel.get_lines()}
    np.testing.assert_allclose(lines["ML-OPE"].get_xydata(), [[100, -7.5], [5000, -7.9]])
    assert set(lines["as in the other panels"].get_xdata()) == {5000.0}
    assert len(panel.collections) == len(LEARNERS)
