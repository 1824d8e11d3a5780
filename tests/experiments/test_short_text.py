"""Short texts: which methods are run, what is measured, what is concluded and drawn."""

import json

import numpy as np
import pytest

from opelda import OnlineCGS, OnlineOPE, OnlineVB
from opelda.corpus import generate
from opelda.experiments import Settings, prepare
from opelda.experiments._learning import NO_TOPICS, quality
from opelda.experiments._short_methods import (
    COLUMNS,
    PARTS,
    infer_with,
    learn_with,
    new_method,
    no_topics,
)
from opelda.experiments.short_text import draw, judge, runs, scores
from opelda.inference import infer
from opelda.learning import TopicModel

SETTINGS = Settings.small(n_topics=3, n_test=40, n_jobs=1, batch_size=60, n_passes=2, n_iter=20)
DATA = prepare(generate(340, n_words=50, n_topics=3, n_tokens=8).X, SETTINGS, label="generated")
TRIED = [("BOPE", 0.9), ("OPE", None), ("VB", None), ("CGS", None)]


def ignore(share):
    assert 0 <= share <= 1


def made(part="learning", seeds=(0,), tokens=8.0, **lpp):
    """Rows of a part; BOPE's p in hundredths, as in ``BOPE_90=-7.0``."""
    rows = []
    for name, value in lpp.items():
        method, _, p = name.partition("_")
        about = {
            "part": part,
            "method": method,
            "p": int(p) / 100 if p else None,
            "tokens_per_document": tokens,
            "lpp": value,
            "seconds_per_document": 1e-6,
            "npmi": 0.1 if part == "learning" else None,
            "incoherent": 1 if part == "learning" else None,
            "effective_topics": None if part == "learning" else 2.0,
        }
        rows += [dict.fromkeys(COLUMNS) | about | {"seed": seed} for seed in seeds]
    return rows


def without_topics(lpp):
    """As `no_topics` has them: neither time nor topics."""
    rows = made(none=lpp) + made("inference", none=lpp)
    nothing = dict.fromkeys(("seconds_per_document", "npmi", "incoherent", "effective_topics"))
    return [row | nothing | {"method": NO_TOPICS} for row in rows]


@pytest.mark.parametrize("settings", [SETTINGS, Settings(), Settings(n_seeds=2, seed=3)])
def test_runs(settings):
    found = runs(settings, DATA)
    keys = {(run.measure, json.dumps(run.parameters, sort_keys=True)) for run in found}
    assert len(keys) == len(found)
    learning = [run for run in found if run.measure is learn_with]
    labels = {run.label for run in learning}
    assert len(labels) * settings.n_seeds == len(learning)
    assert {"OPE", "VB", "CGS", "BOPE p=0.1", "BOPE p=0.5", "BOPE p=0.9"} <= labels
    given = [run for run in found if run.measure is infer_with]
    assert [run.parameters["seed"] for run in given] == list(settings.seeds())
    tried = {(run.parameters["method"], run.parameters["p"]) for run in learning}
    assert {tuple(pair) for pair in given[0].parameters["methods"]} == tried


def test_few_points_when_quick():
    assert len(runs(SETTINGS, DATA)) < len(runs(Settings(), DATA))


@pytest.mark.parametrize(
    ("name", "kind"), [("OPE", OnlineOPE), ("VB", OnlineVB), ("CGS", OnlineCGS)]
)
def test_learning_is_that_of_the_online_learners(name, kind):
    [row] = learn_with(DATA, SETTINGS, ignore, method=name, p=None, seed=2)
    model = kind(3, batch_size=60, n_passes=2, n_iter=20, random_state=2).fit(DATA.train)
    for measure, value in quality(model.components_, DATA, SETTINGS).items():
        assert row[measure] == value
    assert (row["part"], row["method"], row["p"], row["seed"]) == ("learning", name, None, 2)
    assert row["documents"] == 2 * DATA.train.shape[0]
    assert row["tokens_per_document"] == pytest.approx(DATA.train.toarray().sum(axis=1).mean())
    assert row["seconds_per_document"] == pytest.approx(row["seconds"] / row["documents"])


def test_learning_with_bope_depends_on_p():
    lpp = set()
    for p in (0.2, 0.8):
        [row] = learn_with(DATA, SETTINGS, ignore, method="BOPE", p=p, seed=2)
        model = TopicModel(
            3,
            preset="paper",
            inference=new_method("BOPE", p, 20),
            batch_size=60,
            n_passes=2,
            random_state=2,
        )
        assert row["lpp"] == quality(model.fit(DATA.train).components_, DATA, SETTINGS)["lpp"]
        assert row["p"] == p
        lpp.add(row["lpp"])
    assert len(lpp) == 2


def test_methods_have_equal_iterations():
    assert new_method("BOPE", 0.7, 30).get_params()["variant"] == "bope"
    assert new_method("BOPE", 0.7, 30).get_params()["p"] == 0.7
    assert {new_method(name, None, 30).n_iter for name in ("OPE", "VB")} == {30}
    gibbs = new_method("CGS", None, 31)
    assert gibbs.burn_in + gibbs.n_samples == 31


def lpp_of(theta, topics, held):
    """Log probability of held-out words, document by document; None where there are none."""
    words = held.toarray()
    logs = words * np.log(theta.astype(float) @ topics)
    return [
        row.sum() / n if (n := counts.sum()) else None
        for row, counts in zip(logs, words, strict=True)
    ]


def test_inference_is_with_the_topics_of_online_ope():
    rows = infer_with(DATA, SETTINGS, ignore, methods=TRIED, seed=1)
    assert [(row["method"], row["p"]) for row in rows] == TRIED
    model = OnlineOPE(3, batch_size=60, n_passes=2, n_iter=20, random_state=1).fit(DATA.train)
    topics = model.components_.astype(float)
    for row in rows:
        method = new_method(row["method"], row["p"], 20)
        theta = infer(DATA.test, model.components_, method=method, random_state=1).theta
        shares = theta.astype(float) / theta.sum(axis=1, keepdims=True, dtype=float)
        mixed = np.prod(shares**-shares, axis=1)  # exp(entropy), written as a product
        assert row["effective_topics"] == pytest.approx(mixed.mean(), rel=1e-5)
        assert row["sparsity"] == pytest.approx((shares < 0.01).mean(), abs=0.02)
        assert row["documents"] == DATA.test.shape[0]
        assert 0 < row["seconds_per_document"] < row["seconds"]
        assert row["npmi"] is None
        if method.name == "vb":  # needs no random numbers, so splits can be scored apart
            found = [
                lpp_of(infer(a, model.components_, method=method).theta, topics, b)
                for a, b in DATA.splits
            ]
            by_document = [
                [v for v in column if v is not None] for column in zip(*found, strict=True)
            ]
            expected = np.mean([np.mean(values) for values in by_document if values])
            assert row["lpp"] == pytest.approx(expected, abs=1e-5)


def test_without_topics_words_are_as_frequent_as_everywhere():
    rows = no_topics(DATA, SETTINGS, ignore)
    assert [row["part"] for row in rows] == list(PARTS)
    words = DATA.train.toarray().sum(axis=0) + 1 / 3
    logs = np.log(words / words.sum())
    splits = [held.toarray() for _, held in DATA.splits]
    by_document = [
        [d @ logs / d.sum() for d in held if d.sum()] for held in zip(*splits, strict=True)
    ]
    expected = np.mean([np.mean(values) for values in by_document if values])
    assert [row["lpp"] for row in rows] == pytest.approx([expected] * 2, abs=1e-5)
    assert {row["seconds"] for row in rows} == {None}


def test_all_rows_have_all_columns_in_plain_values():
    rows = learn_with(DATA, SETTINGS, ignore, method="BOPE", p=0.5, seed=0)
    rows += infer_with(DATA, SETTINGS, ignore, methods=TRIED, seed=0)
    rows += no_topics(DATA, SETTINGS, ignore)
    for row in rows:
        assert tuple(row) == COLUMNS
        json.dumps(row, allow_nan=False)


def test_scores_are_means_over_seeds():
    rows = made(VB=-8.0, seeds=(0, 1)) + made("inference", VB=-1.0)
    rows[0]["lpp"] = -7.0
    assert scores(rows, "learning") == {("VB", None): -7.5}


NEAR, BOPE, OTHERS = range(3)
GOOD = {"BOPE_10": -8.0, "BOPE_50": -7.9, "BOPE_90": -7.5, "BOPE_99": -7.51}
FLAT = {"BOPE_10": -7.5, "BOPE_50": -7.5, "BOPE_90": -7.5}
BAD = {"BOPE_10": -7.5, "BOPE_50": -7.5, "BOPE_70": -7.3, "BOPE_90": -7.6}
FULL = {**GOOD, "OPE": -7.7, "VB": -7.8, "CGS": -7.9}


@pytest.mark.parametrize(
    ("claim", "learning", "inference", "expected"),
    [
        (NEAR, GOOD, GOOD, "reproduced"),
        (NEAR, GOOD, BAD, "partly"),
        (NEAR, GOOD, {}, "partly"),
        (NEAR, FLAT, {}, "not reproduced"),
        (NEAR, BAD, GOOD, "partly"),
        (NEAR, BAD, FLAT, "not reproduced"),
        (NEAR, {"BOPE_90": -7.0}, GOOD, "not tested"),
        (NEAR, {"BOPE_10": -7.0, "BOPE_30": -6.0}, {}, "not tested"),
        (BOPE, {**GOOD, "OPE": -7.6}, {**GOOD, "OPE": -7.6}, "reproduced"),
        (BOPE, {**GOOD, "OPE": -7.6}, {**GOOD, "OPE": -7.5}, "partly"),
        (BOPE, {**GOOD, "OPE": -7.52}, {}, "not reproduced"),  # a tie is no lead
        (BOPE, {**BAD, "OPE": -7.5}, {}, "not reproduced"),  # only a p not chosen beforehand leads
        (BOPE, {"BOPE_50": -7.0, "BOPE_70": -7.5, "OPE": -7.4}, {}, "not reproduced"),
        (BOPE, {"BOPE_50": -7.5, "BOPE_70": -7.0, "OPE": -7.4}, {}, "partly"),
        (BOPE, {**BAD, "OPE": -7.0}, {**GOOD, "OPE": -7.8}, "partly"),
        (BOPE, BAD, {}, "not tested"),
        (BOPE, {"OPE": -7.0}, {}, "not tested"),
        (OTHERS, {"OPE": -7.0, "VB": -7.1, "CGS": -7.2}, FULL, "reproduced"),
        (OTHERS, {"OPE": -7.0, "VB": -7.1, "CGS": -7.2}, {}, "partly"),
        (OTHERS, {"OPE": -7.0, "VB": -7.1, "CGS": -6.9}, {}, "not reproduced"),
        (OTHERS, {"OPE": -7.0, "VB": -7.01, "CGS": -7.2}, {}, "not reproduced"),
        (OTHERS, {"OPE": -7.0, "VB": -6.9, "CGS": -6.9}, FULL, "partly"),
        (OTHERS, {"OPE": -7.0, "VB": -7.1}, {}, "not tested"),
        (OTHERS, {}, FULL, "not tested"),
    ],
)
def test_verdicts(claim, learning, inference, expected):
    rows = made(**learning) + made("inference", **inference)
    assert judge(rows)[claim].outcome == expected


@pytest.mark.parametrize(("alone", "outcome"), [(-9.5, "partly"), (-7.5, "not tested")])
def test_nothing_is_said_of_topics_that_predict_less_than_word_frequencies(alone, outcome):
    rows = made(OPE=-8.0, VB=-9.0, CGS=-9.0) + without_topics(alone)
    assert judge(rows)[OTHERS].outcome == outcome


def test_verdicts_tell_their_figures():
    rows = made(**FULL) + made("inference", **FULL) + without_topics(-8.25)
    near, bope, others = (verdict.why for verdict in judge(rows))
    for why in (near, bope, others):
        assert "8 tokens" in why
        assert "-8.250" in why
        assert "0.045 counts" in why
        assert "inference" in why
    assert "p=0.1 -8.000" in near
    assert "-7.500 with p=0.9" in bope
    assert "CGS -7.900" in others


def test_long_texts_are_no_test():
    rows = made(**FULL, tokens=200.0)
    assert {verdict.outcome for verdict in judge(rows)} == {"not tested"}
    assert all("200 tokens" in verdict.why for verdict in judge(rows))


@pytest.mark.parametrize(("part", "counts"), [("learning", False), ("inference", True)])
def test_what_a_seed_does_to_all_methods_counts_only_in_learning(part, counts):
    rows = made(part, **FULL, seeds=(0, 1))
    for row in rows:
        row["lpp"] += 0.5 * (-1) ** row["seed"]
    learning = rows if part == "learning" else made(**BAD, OPE=-7.0, VB=-6.0, CGS=-6.0)
    rows = learning + (rows if part == "inference" else [])
    assert judge(rows)[OTHERS].outcome == ("partly" if counts else "not reproduced")


@pytest.mark.parametrize(
    "rows",
    [
        made(**FULL) + made("inference", **FULL) + without_topics(-8.0),
        made(**FULL, seeds=(0, 1)),
        made("inference", OPE=-7.0),
        made(BOPE_10=-7.0),
        without_topics(-8.0),
    ],
)
def test_figure(rows):
    pytest.importorskip("matplotlib")
    from opelda.experiments._plots import LOOKS, style

    with style():
        figure = draw(rows)
        figure.canvas.draw()
    assert len(figure.axes) == 6
    assert figure.get_figwidth() <= 11
    assert all(panel.get_xlabel() and panel.get_ylabel() for panel in figure.axes)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sorted(names) == sorted({row["method"] for row in rows})
    for panel in figure.axes:
        for line in panel.get_lines():
            assert line.get_color() == LOOKS[line.get_label()].colour


def test_figure_shows_bope_against_p_and_others_across():
    pytest.importorskip("matplotlib")
    figure = draw(made(**FULL) + made("inference", **FULL))
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    np.testing.assert_allclose(lines["BOPE"].get_xdata(), [0.1, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(lines["BOPE"].get_ydata(), [-8.0, -7.9, -7.5, -7.51])
    np.testing.assert_allclose(lines["VB"].get_xydata(), [[0, -7.8], [1, -7.8]])
    times = figure.axes[5]
    assert "µs" in times.get_ylabel()
    np.testing.assert_allclose(times.get_lines()[0].get_ydata(), 1.0)
