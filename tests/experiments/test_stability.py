"""Convergence and spread of OPE: rows against plain NumPy, verdicts on rows made by hand."""

import json

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
    """The same runs; everything about them in double precision."""
    model = new_learner("ML-OPE", SETTINGS, 3, n_passes=1).fit(data.train)
    beta = model.components_.astype(np.float64)
    counts = data.test.toarray().astype(np.float64)
    alpha, n_topics = 1 / 6, 6
    found = {}
    for length in LENGTHS:
        rng = np.random.default_rng(3)
        walked = [
            infer(data.test, model.components_, method=OPE(n_iter=length), random_state=rng)
            for _ in range(10)
        ]
        theta = np.array([run.theta for run in walked], np.float64)
        words = theta @ beta
        likelihood = np.einsum("dv,rdv->rd", counts, np.log(words))
        prior = (alpha - 1) * np.log(theta).sum(axis=-1)
        slopes = np.einsum("dv,rdv,kv->rdk", counts, 1 / words, beta)
        likelihood_gap = slopes.max(-1) - (slopes * theta).sum(-1)
        slopes += (alpha - 1) / theta
        gap = slopes.max(-1) - (slopes * theta).sum(-1)
        # a topic never picked has its share of the start; any pick adds 1/T
        unpicked = (theta < (1 / n_topics + 0.5) / length).sum(axis=-1)
        found[length] = {
            "f": likelihood + prior,
            "log_likelihood": likelihood,
            "log_prior": prior,
            "gap": gap,
            "likelihood_gap": likelihood_gap,
            "unpicked": unpicked,
        }
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
    for length in LENGTHS:
        own = [row for row in measured if row["part"] == "stability" and row["T"] == length]
        assert [row["document"] for row in own] == list(range(30))


def test_convergence_is_what_numpy_finds(measured, by_hand):
    for row in measured:
        if row["part"] == "convergence":
            truth = by_hand[row["T"]]
            for name in ("f", "log_likelihood", "log_prior", "unpicked"):
                assert row[name] == pytest.approx(truth[name].mean(), rel=1e-4), name
            for name in ("gap", "likelihood_gap"):
                assert row[name] == pytest.approx(np.median(truth[name]), rel=1e-3), name
            growth = (1 - 1 / 6) * truth["unpicked"]
            assert row["growth"] == pytest.approx(growth.mean())
            rest = np.median(truth["gap"] - growth)
            assert row["picked_gap"] == pytest.approx(rest, rel=1e-3, abs=1e-3)


def test_spread_is_what_numpy_finds(measured, by_hand):
    for row in measured:
        if row["part"] == "stability":
            for name in ("f", "log_likelihood", "log_prior"):
                own = by_hand[row["T"]][name][:, row["document"]]
                assert row[name] == pytest.approx(own.mean(), rel=1e-4)
                assert row[f"sd_{name}"] == pytest.approx(np.std(own, ddof=1), rel=1e-3, abs=1e-3)
    assert max(row["sd_f"] for row in measured if row["part"] == "stability") > 0.1


def test_at_most_a_hundred_documents(data):
    many = prepare(generate(320, n_words=30, n_topics=3).X, Settings(n_test=150), label="many")
    rows = walks(many, SETTINGS, lambda share: None, seed=0, lengths=[5])
    documents = [row["document"] for row in rows if row["part"] == "stability"]
    assert len(set(documents)) == N_DOCS
    assert set(documents) < set(range(150))


def test_flat_prior_makes_f_the_likelihood(data):
    settings = SETTINGS.changed(doc_topic_prior=1.0)
    rows = walks(data, settings, lambda share: None, seed=0, lengths=[10])
    point = rows[0]
    assert point["f"] == point["log_likelihood"]
    assert point["growth"] == point["log_prior"] == 0
    assert point["gap"] == pytest.approx(point["likelihood_gap"])
    assert point["picked_gap"] == pytest.approx(point["gap"])


def test_line_is_least_squares():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 20))
    fitted = stats.linregress(x, y)
    a, b, off = line(x, y)
    assert (a, b) == pytest.approx((fitted.intercept, fitted.slope))
    assert off == pytest.approx(y.std() * np.sqrt(1 - fitted.rvalue**2))


def points(lengths=(10, 20, 50, 100), seed=0, **columns):
    """Rows of convergence; columns are functions of T and replace those of a typical collection."""
    typical = {
        "log_likelihood": lambda T: -600.0,
        "log_prior": lambda T: 500 + 97 * np.log(T),
        "gap": lambda T: 97 + 20 / T,
        "likelihood_gap": lambda T: 80.0,
        "picked_gap": lambda T: 20 / T,
        "unpicked": lambda T: 98.0,
        "growth": lambda T: 97.0,
    } | columns
    rows = []
    for T in lengths:
        row = {name: float(column(T)) for name, column in typical.items()}
        row.setdefault("f", row["log_likelihood"] + row["log_prior"])
        empty = dict.fromkeys(("document", "sd_f", "sd_log_likelihood", "sd_log_prior"))
        rows.append({"part": "convergence", "seed": seed, "T": T, **row, **empty})
    return rows


def documents(lengths=(10, 20, 50, 100), sds=(1.0, 2.0, 3.0), f=-2000.0):
    empty = dict.fromkeys(("gap", "likelihood_gap", "picked_gap", "unpicked", "growth"))
    return [
        {"part": "stability", "seed": 0, "T": T, "document": i, "f": f, "sd_f": sd}
        | {"log_likelihood": 1.5 * f, "sd_log_likelihood": 2 * sd}
        | {"log_prior": -0.5 * f, "sd_log_prior": 1.5 * sd}
        | empty
        for T in lengths
        for i, sd in enumerate(sds)
    ]


def outcomes(rows):
    return [verdict.outcome for verdict in judge(rows)]


def test_growth_by_the_prior_is_not_convergence():
    stable, growth, stationary, twenty = judge(points() + documents())
    assert (stable.outcome, growth.outcome) == ("reproduced", "not reproduced")
    assert (stationary.outcome, twenty.outcome) == ("reproduced", "reproduced")
    assert "+97 ln T to within" in growth.why
    assert "T^-1.00: 2 at T = 10, 0.2 at 100" in stationary.why
    assert "from T = 10 on" in twenty.why
    assert "median 2, 0.1% of |f|; of the likelihood alone 4, of the prior 3" in stable.why


def test_growth_that_ends():
    ends = points(log_prior=lambda T: 500 - 300 / T)
    assert judge(ends)[1].outcome == "reproduced"
    flat = points(log_prior=lambda T: 0.0, log_likelihood=lambda T: -600 + T % 3)
    assert judge(flat)[1].outcome == "reproduced"


@pytest.mark.parametrize(
    ("power", "outcome"), [(1.0, "reproduced"), (0.5, "partly"), (0.1, "not reproduced")]
)
def test_rate_of_the_gap(power, outcome):
    assert judge(points(picked_gap=lambda T: T**-power))[2].outcome == outcome


@pytest.mark.parametrize(
    ("lost", "outcome", "close"),
    [(5, "reproduced", 20), (10, "partly", 50), (40, "not reproduced", 50)],
)
def test_how_good_twenty_is(lost, outcome, close):
    def likelihood(T):
        return -600 - {10: 50, 20: lost}.get(T, 0)

    verdict = judge(points(log_likelihood=likelihood))[3]
    assert verdict.outcome == outcome
    assert f"from T = {close} on" in verdict.why


@pytest.mark.parametrize(
    ("sds", "f", "outcome"),
    [
        ((1.0, 2.0, 300.0), -2000.0, "reproduced"),
        ((1.0, 30.0, 40.0), -2000.0, "not reproduced"),
        ((10.0, 10.0, 10.0), -20.0, "partly"),  # small, but not beside f
        ((0.0, 0.0), 0.0, "reproduced"),
    ],
)
def test_spread(sds, f, outcome):
    assert judge(documents(sds=sds, f=f))[0].outcome == outcome


def test_spread_of_some_lengths_only():
    rows = documents([10], sds=(1.0, 2.0)) + documents([20], sds=(30.0, 31.0))
    assert judge(rows)[0].outcome == "partly"


def test_partial_rows_are_judged_as_far_as_they_go():
    untested = "not tested"
    assert outcomes([]) == [untested] * 4
    assert outcomes(documents()) == ["reproduced"] + [untested] * 3
    assert outcomes(points([10, 20])) == [untested] * 4
    assert outcomes(points([20, 100])) == [untested] * 3 + ["reproduced"]
    without = points(picked_gap=lambda T: 0.0)
    assert outcomes(without)[2] == untested


def test_seeds_are_averaged():
    rows = points(f=lambda T: T) + points(seed=1, f=lambda T: 3 * T)
    assert [point["f"] for point in convergence(rows)] == [20, 40, 100, 200]
    assert spreads(documents([20, 10], sds=(1.0,)) * 2) == {10: [1.0, 1.0], 20: [1.0, 1.0]}


NOTHING = {"log_prior": lambda T: 0.0, "growth": lambda T: 0.0, "gap": lambda T: 0.0}
NOTHING |= {"picked_gap": lambda T: -1.0, "likelihood_gap": lambda T: 0.0}


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
    np.testing.assert_allclose(curves[2]["f"].get_ydata(), [99, 98, 97.4, 97.2])
    numbers = [text for text in figure.axes[3].texts if text.get_position()[0] == 0]  # of T = 10
    assert sum(int(text.get_text()) for text in numbers) == len(spreads(documents())[10])
