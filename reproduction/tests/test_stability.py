"""Convergence and spread of OPE: rows against plain NumPy, verdicts on constructed rows."""

from itertools import product

import numpy as np
import pytest

from opelda.corpus import generate
from opelda.inference import OPE, infer
from reproduction import Settings, prepare
from reproduction.learners import new_learner
from reproduction.stability import judge, walks
from reproduction.stability_figure import spreads
from tests.cases import cases

SETTINGS = Settings.small(n_topics=6, batch_size=50, n_test=30, n_passes=3)
LENGTHS = [5, 40]
STARTS = ("random", "uniform")


@pytest.fixture(scope="module")
def data():
    # topics that overlap and short documents, or all runs are the same
    made = generate(180, n_words=30, n_topics=6, n_tokens=25, topic_word_prior=0.5)
    return prepare(made.X, SETTINGS, label="generated")


@pytest.fixture(scope="module")
def measured(data):
    shares = []
    rows = walks(data, SETTINGS, shares.append, seed=3, lengths=LENGTHS)
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)
    return rows


@pytest.fixture(scope="module")
def by_hand(data):
    """The same runs by start and length; everything about them in double precision."""
    topics = new_learner("ML-OPE", SETTINGS, 3, n_passes=1).fit(data.train).components_
    beta = topics.astype(np.float64)
    counts = data.test.toarray().astype(np.float64)
    alpha, n_topics = 1 / 6, 6
    found = {}
    for init, length in product(STARTS, LENGTHS):
        rng = np.random.default_rng(3)
        how = {"method": OPE(n_iter=length, init=init), "random_state": rng}
        walked = [infer(data.test, topics, **how) for _ in range(10)]
        theta = np.array([run.theta for run in walked], np.float64)
        words = theta @ beta
        likelihood = np.einsum("dv,rdv->rd", counts, np.log(words))
        prior = (alpha - 1) * np.log(theta).sum(axis=-1)
        slopes = np.einsum("dv,rdv,kv->rdk", counts, 1 / words, beta)
        likelihood_gap = slopes.max(-1) - (slopes * theta).sum(-1)
        slopes += (alpha - 1) / theta
        gap = slopes.max(-1) - (slopes * theta).sum(-1)
        # from the uniform start: a topic never picked has its share of that; any pick adds 1/T
        unpicked = (theta < (1 / n_topics + 0.5) / length).sum(axis=-1)
        terms = {"f": likelihood + prior, "log_likelihood": likelihood, "log_prior": prior}
        gaps = {"gap": gap, "likelihood_gap": likelihood_gap, "unpicked": unpicked}
        found[init, length] = terms | gaps
    return found


def test_convergence_equals_numpy(measured, by_hand):
    for row in measured:
        if row["part"] == "convergence":
            truth = by_hand["uniform", row["T"]]
            for name in ("f", "log_likelihood", "log_prior", "unpicked"):
                assert row[name] == pytest.approx(truth[name].mean(), rel=1e-4), name
            for name in ("gap", "likelihood_gap"):
                assert row[name] == pytest.approx(np.median(truth[name]), rel=1e-3), name
            assert row["growth"] == pytest.approx(5 / 6 * truth["unpicked"].mean())


def test_spread_equals_numpy(measured, by_hand):
    for row in measured:
        if row["part"] == "stability":
            for name in ("f", "log_likelihood", "log_prior"):
                own = by_hand[row["init"], row["T"]][name][:, row["document"]]
                assert row[name] == pytest.approx(own.mean(), rel=1e-4)
                assert row[f"sd_{name}"] == pytest.approx(np.std(own, ddof=1), rel=1e-3, abs=1e-3)
    for init, length in product(STARTS, LENGTHS):
        assert max(spreads(measured, init=init)[length]) > 0.1


def points(lengths=(10, 20, 50, 100), seed=0, **columns):
    """Rows of convergence; columns are functions of T that replace a typical collection's."""
    typical = {"log_likelihood": lambda T: -600.0, "log_prior": lambda T: 500 + 97 * np.log(T)}
    typical |= {"gap": lambda T: 97 + 20 / T, "likelihood_gap": lambda T: 80.0}
    typical |= {"unpicked": lambda T: 98.0, "growth": lambda T: 97.0} | columns
    rows = []
    for T in lengths:
        row = {name: float(column(T)) for name, column in typical.items()}
        row.setdefault("f", row["log_likelihood"] + row["log_prior"])
        row |= dict.fromkeys(("document", "sd_f", "sd_log_likelihood", "sd_log_prior"))
        rows.append({"part": "convergence", "seed": seed, "T": T, "init": "uniform", **row})
    return rows


def documents(lengths=(10, 20, 50, 100), sds=(1.0, 2.0, 3.0), ours=(0.5, 0.7), f=-2000.0):
    """Rows of stability: standard deviations from the random start, and from ours."""
    empty = dict.fromkeys(("gap", "likelihood_gap", "unpicked", "growth"))
    return [
        {"part": "stability", "seed": 0, "T": T, "init": init, "document": i, "f": f, "sd_f": sd}
        | {"log_likelihood": 1.5 * f, "sd_log_likelihood": 2 * sd}
        | {"log_prior": -0.5 * f, "sd_log_prior": 1.5 * sd}
        | empty
        for T in lengths
        for init, own in zip(STARTS, (sds, ours), strict=True)
        for i, sd in enumerate(own)
    ]


def outcomes(rows):
    return [verdict.outcome for verdict in judge(rows)]


def test_growth_by_the_prior_is_not_convergence():
    stable, growth, stationary, twenty = judge(points() + documents())
    assert (stable.outcome, growth.outcome) == ("reproduced", "not reproduced")
    assert (stationary.outcome, twenty.outcome) == ("not reproduced", "reproduced")
    assert "+97 ln T to within" in growth.why
    assert "T^-0.01: 99 at T = 10, 97.2 at 100; " in stationary.why
    assert "never picked hold about 97 and 97 of it open" in stationary.why
    assert "from T = 10 on" in twenty.why
    # sd 4 of a log-likelihood of -3000
    assert "100% at the worst T, 10; median 2, of the log-likelihood alone 4, 0.1%" in stable.why
    assert stable.why.endswith("from the uniform start for 100% at the worst T, median 0.6")


def test_growth_that_stops():
    ends = points(log_prior=lambda T: 500 - 300 / T)
    assert judge(ends)[1].outcome == "reproduced"
    flat = points(log_prior=lambda T: 0.0, log_likelihood=lambda T: -600 + T % 3)
    assert judge(flat)[1].outcome == "reproduced"


@cases(("power", "outcome"), [(1.0, "reproduced"), (0.75, "reproduced"), (0.6, "not reproduced")])
def test_rate_of_the_gap(power, outcome):
    verdict = judge(points(gap=lambda T: 30 * T**-power, growth=lambda T: -90.0))[2]
    assert verdict.outcome == outcome
    assert f"T^-{power:.2f}: " in verdict.why
    assert "hold about 0 and 0 of it open" in verdict.why  # alpha > 1: none of it


@cases(
    ("lost", "outcome", "close"),
    [(5, "reproduced", 20), (10, "partly", 50), (40, "not reproduced", 50)],
)
def test_verdict_on_twenty_iterations(lost, outcome, close):
    verdict = judge(points(log_likelihood=lambda T: -600 - {10: 50, 20: lost}.get(T, 0)))[3]
    assert verdict.outcome == outcome
    assert f"from T = {close} on" in verdict.why


@cases(
    ("sds", "f", "outcome"),
    [
        ((1.0, 2.0, 300.0), -2000.0, "reproduced"),
        ((1.0, 30.0, 40.0), -2000.0, "not reproduced"),
        ((1.0, 30.0), -2000.0, "not reproduced"),  # half of them are not most
        ((20.0, 20.0), -2000.0, "reproduced"),
        ((10.0, 10.0, 10.0), -20.0, "reproduced"),  # for any f
        ((0.0, 0.0), 0.0, "reproduced"),
    ],
)
def test_spread(sds, f, outcome):
    for ours in ((1.0, 1.0), (99.0, 99.0)):  # told, not graded
        assert judge(documents(sds=sds, ours=ours, f=f))[0].outcome == outcome
