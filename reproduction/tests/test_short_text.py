"""Short texts: runs, measurements, conclusions and drawing."""

import numpy as np
import pytest

from opelda import OnlineCGS, OnlineOPE, OnlineVB
from opelda.corpus import generate
from opelda.inference import infer
from reproduction import Settings, prepare
from reproduction.learners import NO_TOPICS, quality
from reproduction.methods.measuring import new_method
from reproduction.short_methods import (
    infer_with,
    learn_with,
)
from reproduction.short_text import judge
from tests.cases import cases

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
        rows += [about | {"seed": seed} for seed in seeds]
    return rows


def without_topics(lpp):
    """As `no_topics` has them: neither time nor topics."""
    rows = made(none=lpp) + made("inference", none=lpp)
    nothing = dict.fromkeys(("seconds_per_document", "npmi", "incoherent", "effective_topics"))
    return [row | nothing | {"method": NO_TOPICS} for row in rows]


@cases(("name", "kind"), [("OPE", OnlineOPE), ("VB", OnlineVB), ("CGS", OnlineCGS)])
def test_learning_equals_the_online_learners(name, kind):
    [row] = learn_with(DATA, SETTINGS, ignore, method=name, p=None, seed=2)
    model = kind(3, batch_size=60, n_passes=2, n_iter=20, random_state=2).fit(DATA.train)
    for measure, value in quality(model.components_, DATA, SETTINGS).items():
        assert row[measure] == value
    assert (row["part"], row["method"], row["p"], row["seed"]) == ("learning", name, None, 2)
    assert row["documents"] == 2 * DATA.train.shape[0]
    assert row["tokens_per_document"] == pytest.approx(DATA.train.toarray().sum(axis=1).mean())
    assert row["seconds_per_document"] == pytest.approx(row["seconds"] / row["documents"])


def test_inference_uses_the_topics_of_online_ope():
    rows = infer_with(DATA, SETTINGS, ignore, methods=TRIED, seed=1)
    assert [(row["method"], row["p"]) for row in rows] == TRIED
    model = OnlineOPE(3, batch_size=60, n_passes=2, n_iter=20, random_state=1).fit(DATA.train)
    for row in rows:
        method = new_method(row["method"], SETTINGS, row["p"])
        theta = infer(DATA.test, model.components_, method=method, random_state=1).theta
        shares = theta.astype(float) / theta.sum(axis=1, keepdims=True, dtype=float)
        mixed = np.prod(shares**-shares, axis=1)  # exp(entropy), written as a product
        assert row["effective_topics"] == pytest.approx(mixed.mean(), rel=1e-5)
        assert row["sparsity"] == pytest.approx((shares < 0.01).mean(), abs=0.02)
        assert row["documents"] == DATA.test.shape[0]
        assert 0 < row["seconds_per_document"] < row["seconds"]


NEAR, BOPE, OTHERS = range(3)
GOOD = {"BOPE_10": -8.0, "BOPE_50": -7.9, "BOPE_90": -7.5, "BOPE_99": -7.51}
FLAT = {"BOPE_10": -7.5, "BOPE_50": -7.5, "BOPE_90": -7.5}
BAD = {"BOPE_10": -7.5, "BOPE_50": -7.5, "BOPE_70": -7.3, "BOPE_90": -7.6}
FULL = {**GOOD, "OPE": -7.7, "VB": -7.8, "CGS": -7.9}


@cases(
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
def test_topics_worse_than_word_frequencies_get_no_verdict(alone, outcome):
    rows = made(OPE=-8.0, VB=-9.0, CGS=-9.0) + without_topics(alone)
    assert judge(rows)[OTHERS].outcome == outcome


def test_long_texts_get_no_verdict():
    rows = made(**FULL, tokens=200.0)
    assert {verdict.outcome for verdict in judge(rows)} == {"not tested"}
    assert all("200 tokens" in verdict.why for verdict in judge(rows))


@pytest.mark.parametrize(("part", "counts"), [("learning", False), ("inference", True)])
def test_common_seed_effects_count_only_in_learning(part, counts):
    rows = made(part, **FULL, seeds=(0, 1))
    for row in rows:
        row["lpp"] += 0.5 * (-1) ** row["seed"]
    learning = rows if part == "learning" else made(**BAD, OPE=-7.0, VB=-6.0, CGS=-6.0)
    rows = learning + (rows if part == "inference" else [])
    assert judge(rows)[OTHERS].outcome == ("partly" if counts else "not reproduced")
