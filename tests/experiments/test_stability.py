"""Convergence and spread of OPE: rows against plain NumPy, verdicts on rows made by hand."""

import json
from itertools import product

import numpy as np
import pytest
from scipy import stats

from opelda.corpus import generate
from opelda.experiments import Settings, experiment, prepare
from opelda.experiments import stability as module
from opelda.experiments._learning import new_learner
from opelda.experiments._stability_figure import convergence, draw, line, spreads
from opelda.experiments.stability import N_DOCS, N_RUNS, judge, runs, walks
from opelda.inference import OPE, infer

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


def test_runs(data):
    assert experiment("stability") is module.EXPERIMENT
    for settings, lengths in ((SETTINGS, [10, 20, 50, 100]), (Settings(n_seeds=2), None)):
        made = runs(settings, data)
        assert [run.parameters["seed"] for run in made] == list(settings.seeds())
        wanted = lengths or list(range(10, 101, 10))
        assert all(run.parameters["lengths"] == wanted for run in made)
        assert all(run.label and run.measure is walks for run in made)
        json.dumps([run.parameters for run in made])
    assert (N_DOCS, N_RUNS) == (100, 10)


def test_rows_are_plain_and_alike(measured):
    json.dumps(measured, allow_nan=False)
    assert len({frozenset(row) for row in measured}) == 1
    assert [row["T"] for row in measured if row["part"] == "convergence"] == LENGTHS
    assert {row["init"] for row in measured if row["part"] == "convergence"} == {"uniform"}
    own = (row for row in measured if row["part"] == "stability")
    about = ((row["T"], row["init"], row["document"]) for row in own)
    assert list(about) == list(product(LENGTHS, STARTS, range(30)))


def test_convergence_is_what_numpy_finds(measured, by_hand):
    for row in measured:
        if row["part"] == "convergence":
            truth = by_hand["uniform", row["T"]]
            for name in ("f", "log_likelihood", "log_prior", "unpicked"):
                assert row[name] == pytest.approx(truth[name].mean(), rel=1e-4), name
            for name in ("gap", "likelihood_gap"):
                assert row[name] == pytest.approx(np.median(truth[name]), rel=1e-3), name
            assert row["growth"] == pytest.approx(5 / 6 * truth["unpicked"].mean())


def test_spread_is_what_numpy_finds(measured, by_hand):
    for row in measured:
        if row["part"] == "stability":
            for name in ("f", "log_likelihood", "log_prior"):
                own = by_hand[row["init"], row["T"]][name][:, row["document"]]
                assert row[name] == pytest.approx(own.mean(), rel=1e-4)
                assert row[f"sd_{name}"] == pytest.approx(np.std(own, ddof=1), rel=1e-3, abs=1e-3)
    for init, length in product(STARTS, LENGTHS):
        assert max(spreads(measured, init=init)[length]) > 0.1


def test_at_most_a_hundred_documents(data):
    many = prepare(generate(320, n_words=30, n_topics=3).X, Settings(n_test=150), label="many")
    rows = walks(many, SETTINGS, lambda share: None, seed=0, lengths=[5])
    documents = [row["document"] for row in rows if row["part"] == "stability"]
    assert len(set(documents)) == N_DOCS
    assert set(documents) < set(range(150))


def test_flat_prior_makes_f_the_likelihood(data):
    settings = SETTINGS.changed(doc_topic_prior=1.0)
    point = walks(data, settings, lambda share: None, seed=0, lengths=[10])[0]
    assert point["f"] == point["log_likelihood"]
    assert point["growth"] == point["log_prior"] == 0
    assert point["gap"] == pytest.approx(point["likelihood_gap"])


def test_line_is_least_squares():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20))
    fitted = stats.linregress(x, y)
    a, b, off = line(x, y)
    assert (a, b) == pytest.approx((fitted.intercept, fitted.slope))
    assert off == pytest.approx(y.std() * np.sqrt(1 - fitted.rvalue**2))


def points(lengths=(10, 20, 50, 100), seed=0, **columns):
    """Rows of convergence; columns are functions of T and replace those of a typical collection."""
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


def test_growth_that_ends():
    ends = points(log_prior=lambda T: 500 - 300 / T)
    assert judge(ends)[1].outcome == "reproduced"
    flat = points(log_prior=lambda T: 0.0, log_likelihood=lambda T: -600 + T % 3)
    assert judge(flat)[1].outcome == "reproduced"


@pytest.mark.parametrize(
    ("power", "outcome"), [(1.0, "reproduced"), (0.75, "reproduced"), (0.6, "not reproduced")]
)
def test_rate_of_the_gap(power, outcome):
    verdict = judge(points(gap=lambda T: 30 * T**-power, growth=lambda T: -90.0))[2]
    assert verdict.outcome == outcome
    assert f"T^-{power:.2f}: " in verdict.why
    assert "hold about 0 and 0 of it open" in verdict.why  # alpha > 1: none of it


@pytest.mark.parametrize(
    ("lost", "outcome", "close"),
    [(5, "reproduced", 20), (10, "partly", 50), (40, "not reproduced", 50)],
)
def test_how_good_twenty_is(lost, outcome, close):
    verdict = judge(points(log_likelihood=lambda T: -600 - {10: 50, 20: lost}.get(T, 0)))[3]
    assert verdict.outcome == outcome
    assert f"from T = {close} on" in verdict.why


@pytest.mark.parametrize(
    ("sds", "f", "outcome"),
    [
        ((1.0, 2.0, 300.0), -2000.0, "reproduced"),
        ((1.0, 30.0, 40.0), -2000.0, "not reproduced"),
        ((1.0, 30.0), -2000.0, "not reproduced"),  # half of them are not most
        ((20.0, 20.0), -2000.0, "reproduced"),
        ((10.0, 10.0, 10.0), -20.0, "reproduced"),  # whatever f is
        ((0.0, 0.0), 0.0, "reproduced"),
    ],
)
def test_spread(sds, f, outcome):
    for ours in ((1.0, 1.0), (99.0, 99.0)):  # told, not graded
        assert judge(documents(sds=sds, ours=ours, f=f))[0].outcome == outcome


def test_spread_of_some_lengths_only():
    rows = documents([10], sds=(1.0, 2.0)) + documents([20], sds=(30.0, 31.0), ours=(30.0, 0.6))
    verdict = judge(rows)[0]
    assert verdict.outcome == "partly"
    assert "0% at the worst T, 20; " in verdict.why
    assert verdict.why.endswith("uniform start for 50% at the worst T, median 0.65")


def test_partial_rows_are_judged_as_far_as_they_go():
    untested = "not tested"
    assert outcomes([]) == [untested] * 4
    assert outcomes(documents()) == ["reproduced"] + [untested] * 3
    assert outcomes(points([10, 20])) == [untested] * 4
    assert outcomes(points([20, 100])) == [untested] * 3 + ["reproduced"]
    one_start = [row for row in documents() if row["init"] == "random"]
    assert outcomes(one_start) == [untested] * 4
    assert outcomes(points(gap=lambda T: 0.0))[2] == untested


def test_seeds_are_averaged():
    rows = points(f=lambda T: T) + points(seed=1, f=lambda T: 3 * T)
    assert [point["f"] for point in convergence(rows)] == [20, 40, 100, 200]
    rows = documents([20, 10], sds=(1.0,), ours=(0.5,)) * 2
    assert spreads(rows) == {10: [1.0, 1.0], 20: [1.0, 1.0]}
    assert spreads(rows, init="uniform") == {10: [0.5, 0.5], 20: [0.5, 0.5]}


NOTHING = dict.fromkeys(("log_prior", "growth", "gap", "likelihood_gap"), lambda T: 0.0)


@pytest.mark.parametrize(
    "rows",
    [
        points() + documents(),
        points([10]) + documents([10]),
        points(),
        documents(sds=(0.0, 0.0, 5.0)),
        points(**NOTHING),
    ],
    ids=["all", "one length", "convergence", "spread", "nothing to gain"],
)
def test_figure(rows):
    pytest.importorskip("matplotlib")
    from opelda.experiments._plots import LOOKS

    figure = draw(rows)
    figure.draw_without_rendering()
    assert len(figure.axes) == 4
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_ylabel()
        colours = {curve.get_color() for curve in axes.lines}
        others = {look.colour for look in LOOKS.values()} - {LOOKS["OPE"].colour}
        assert colours & (others - {"#000000"}) == set()
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert len(labels) == len(set(labels))
    assert {"f", "log-likelihood", "log-prior"} <= set(labels)
    assert figure.get_size_inches()[0] <= 11


def test_figure_shows_the_rows():
    pytest.importorskip("matplotlib")
    figure = draw(points() + documents())
    curves = [{curve.get_label(): curve for curve in axes.lines} for axes in figure.axes]
    np.testing.assert_allclose(curves[0]["f"].get_ydata(), -100 + 97 * np.log([10, 20, 50, 100]))
    assert figure.axes[0].get_title() == "f = -100.0 +97.00 ln T"
    prior, due = (curves[1][k].get_ydata() for k in ("log-prior", "due to topics never picked"))
    np.testing.assert_allclose(prior, 97 * np.log([1, 2, 5, 10]))
    np.testing.assert_allclose(due, prior)
    np.testing.assert_allclose(curves[2]["gap of f"].get_ydata(), [99, 98, 97.4, 97.2])
    np.testing.assert_allclose(curves[2]["gap of the log-likelihood"].get_ydata(), 80)
    numbers = [text for text in figure.axes[3].texts if text.get_position()[0] == 0]  # of T = 10
    assert sum(int(text.get_text()) for text in numbers) == 3  # those from the random start
    assert figure.axes[3].get_title().endswith("random start")
