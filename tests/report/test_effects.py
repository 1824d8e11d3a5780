"""Regression of topics' shares on columns."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from opelda.corpus._design import FEWEST, MOST_LEVELS
from opelda.errors import InputError
from opelda.inference import Topics, infer
from opelda.report import estimate_effect
from opelda.report._effects import least_squares
from opelda.report.plots import plot_effect, plot_predicted
from tests.cases import cases

K, V = 3, 24
TOPICS = np.random.default_rng(7).dirichlet(np.full(V, 0.2), K)


class Fixed:
    """A model with given topics."""

    components_ = TOPICS

    def transform(self, X):
        raise AssertionError("shares are read off counts")


MODEL = Fixed()


def expected(theta):
    """Return the expected counts of documents with the given mixtures."""
    return 100 * np.asarray(theta) @ TOPICS


def term(rows, topic, name):
    return next(row for row in rows if (row.topic, row.term) == (topic, name))


@given(st.integers(0, 9999), st.integers(10, 25), st.integers(1, 3), st.booleans())
def test_standard_errors_match_the_jackknife(seed, n_docs, n_terms, clustered):
    chance = np.random.default_rng(seed)
    A = np.column_stack([np.ones(n_docs), chance.normal(size=(n_docs, n_terms))])
    Y = chance.normal(size=(n_docs, 2)) * chance.random((n_docs, 1))
    cluster = chance.permutation(np.arange(n_docs) % 7) if clustered else np.arange(n_docs)
    wanted = chance.normal(size=(4, n_terms + 1))
    given = cluster if clustered else None
    best = np.linalg.lstsq(A, Y)[0]
    for rows in (None, wanted):
        found = least_squares(["x"] * (n_terms + 1), A, Y, rows, given)
        combine = np.eye(n_terms + 1) if rows is None else rows
        without = [
            combine @ (np.linalg.lstsq(A[cluster != i], Y[cluster != i])[0] - best)
            for i in np.unique(cluster)
        ]
        assert np.allclose(found.estimates, combine @ best)
        assert np.allclose(found.errors, np.sqrt((np.array(without) ** 2).sum(axis=0)))
        assert found.n_free == (6 if clustered else n_docs - n_terms - 1)


def test_predicted_shares_are_means_with_a_column_set():
    n = 200
    chance = np.random.default_rng(1)
    party = chance.choice(["left", "right", None], n, p=[0.5, 0.4, 0.1])
    year = chance.integers(1990, 2020, n)
    theta = np.full((n, K), 0.2)
    theta[:, 0] += 0.1 * (party == "right") + 0.01 * (year - 1990) * (party == "left")
    theta[:, 2] = 1 - theta[:, :2].sum(axis=1)
    table, formula = {"p": party, "y": [str(y) for y in year]}, "p * y"
    known = party != None  # noqa: E711  # elementwise
    rows = estimate_effect(MODEL, expected(theta), formula, data=table, at="p", topics=[0])
    mean = 0.2 + 0.01 * (year[known].mean() - 1990)
    assert {row.term: round(row.estimate, 3) for row in rows} == {
        "p=left": round(mean, 3), "p=right": 0.3,
    }  # fmt: skip
    rows = estimate_effect(MODEL, expected(theta), formula, data=table, at="y", topics=[0])
    assert [row.term for row in rows][::24] == [f"y={year[known].min()}", f"y={year[known].max()}"]
    is_left = (party[known] == "left").mean()
    for row in rows:
        moved = is_left * (0.2 + 0.01 * (float(row.term[2:]) - 1990)) + (1 - is_left) * 0.3
        assert row.estimate == pytest.approx(moved, abs=1e-3)
        assert row.low <= row.estimate <= row.high


def test_predicted_shares_are_drawn():
    chance = np.random.default_rng(3)
    columns = {"p": chance.choice(["left", "right"], 90), "y": chance.integers(1990, 2020, 90)}
    X = expected(chance.dirichlet(np.ones(K), 90))
    rows = estimate_effect(MODEL, X, columns, at="y")
    axis = plot_predicted(rows, n_topics=2)
    found = {line.get_label().split()[0]: line for line in axis.lines}
    assert len(found) == 2
    for topic, line in found.items():
        own = [row for row in rows if row.topic == int(topic)]
        assert line.get_ydata().tolist() == [row.estimate for row in own]
        assert line.get_xdata().tolist() == [float(row.term[2:]) for row in own]
    axes = plot_predicted(estimate_effect(MODEL, X, columns, at="p"))
    assert len(axes) == K
    assert {label.get_text() for label in axes[0].get_yticklabels()} == {"left", "right"}
    with pytest.raises(InputError, match="estimate_effect"):
        plot_predicted(estimate_effect(MODEL, X, columns))


@cases(
    ("how", "message"),
    [
        ({"at": "b"}, "at is 'b', which is not a column of the formula"),
        ({"clusters": ["x"] * 30}, "has 30 values for 40 documents"),
        ({"clusters": ["x"] * 40}, "known from one cluster only"),
        ({"clusters": "author"}, "Missing column 'author'"),
    ],
)
def test_predictions_and_clusters_are_checked(how, message):
    columns = {"a": np.arange(40)}
    with pytest.raises(InputError, match=message):
        estimate_effect(MODEL, np.ones((40, V)), columns, **how)


def test_intervals_of_clusters_cover_an_effect_between_clusters():
    """Authors differ from each other: 30 authors of 10 documents, half of them in each group."""
    chance, covered = np.random.default_rng(2), {False: 0, True: 0}
    author = np.repeat(np.arange(30), 10)
    for _ in range(60):
        group = chance.permutation(np.arange(30) % 2)[author]
        own = chance.dirichlet(np.full(K, 5.0), 30)[author]
        for clustered in covered:
            given = author if clustered else None
            rows = estimate_effect(MODEL, expected(own), {"g": group}, clusters=given)
            covered[clustered] += sum(row.low <= 0 <= row.high for row in rows if row.term == "g")
    assert covered[True] > 0.85 * 60 * K > 0.7 * 60 * K > covered[False]


def test_effects_of_every_kind_of_column():
    n = 60
    chance = np.random.default_rng(0)
    party = np.array(["left", "right", "left"] * 20)
    year = chance.integers(1990, 2020, n)
    theta = np.full((n, K), 0.2)
    theta[:, 0] += 0.1 * (party == "right") + 0.01 * (year - 1990)
    theta[:, 2] = 1 - theta[:, :2].sum(axis=1)
    dates = [dt.date(int(y), 1, 1) for y in year]
    for times in (year, [str(y) for y in year], dates, [str(date) for date in dates]):
        for columns in ({"y": times, "p": party}, pl.DataFrame({"y": times, "p": party})):
            rows = estimate_effect(MODEL, expected(theta), columns)
            assert [row.term for row in rows[:3]] == ["intercept", "y", "p=right"]
            assert term(rows, 0, "y").estimate == pytest.approx(0.01, rel=1e-3)
            assert term(rows, 0, "p=right").estimate == pytest.approx(0.1, abs=1e-4)
            assert term(rows, 1, "p=right").estimate == pytest.approx(0, abs=1e-6)
            at_mean = 0.2 + 0.01 * (year.mean() - 1990)
            assert term(rows, 0, "intercept").estimate == pytest.approx(at_mean, abs=1e-4)
            assert {row.n_docs for row in rows} == {n}


def test_numbers_can_be_categories():
    codes = [1, 2, 3] * 10
    rows = estimate_effect(MODEL, np.ones((30, V)), {"c": codes}, categorical=["c"], topics=[2])
    assert [row.term for row in rows] == ["intercept", "c=2", "c=3"]


def test_rare_levels_are_merged_and_missing_values_dropped():
    names = [f"g{i}" for i in range(MOST_LEVELS + 3) for _ in range(FEWEST + i)]
    names += ["rare"] * (FEWEST - 1) + [None, ""]
    theta = np.random.default_rng(0).dirichlet(np.ones(K), len(names))
    rows = estimate_effect(MODEL, expected(theta), {"g": names}, topics=[0])
    assert len(rows) == 1 + MOST_LEVELS  # the most frequent level is the reference
    assert rows[-1].term == "g=(other)"
    assert f"g=g{MOST_LEVELS + 2}" not in [row.term for row in rows]
    assert rows[0].n_docs == len(names) - 2
    few = [name == "rare" or name in ("g0", "g1", "g2") for name in names]
    first = np.array([name == f"g{MOST_LEVELS + 2}" for name in names])
    difference = theta[few, 0].mean() - theta[first, 0].mean()
    assert rows[-1].estimate == pytest.approx(difference, abs=1e-4)


@pytest.mark.parametrize("seed", range(1))
def test_intervals_have_the_nominal_coverage(seed):
    """Repeated samples of eight-word documents in two groups, with known topics and effects."""
    chance = np.random.default_rng(seed)
    topics, covered, of_mixtures = Topics(TOPICS), {0.5: [], 0.95: []}, []
    for _ in range(100):
        group = chance.integers(0, 2, 80)
        means = chance.dirichlet(np.ones(K), 2)
        theta = np.array([chance.dirichlet(3 * means[g] + 1e-3) for g in group])
        truth = (3 * means[1] - 3 * means[0]) / (3 + 3e-3)
        X = np.array([chance.multinomial(8, row @ TOPICS) for row in theta])
        for level, found in covered.items():
            rows = estimate_effect(MODEL, X, {"g": group}, level=level)[1::2]
            found.append(
                np.mean([row.low <= t <= row.high for row, t in zip(rows, truth, strict=True)])
            )
        mixtures = infer(X, topics, method="cgs", random_state=seed, n_jobs=1).theta
        fit = least_squares(["", "g"], np.column_stack([np.ones(80), group]), mixtures)
        of_mixtures += (np.abs(fit.estimates[1] - truth) <= 2 * fit.errors[1]).tolist()
    for (
        level,
        found,
    ) in covered.items():  # six standard errors, and the error of the t approximation
        assert abs(np.mean(found) - level) < 6 * np.std(found) / np.sqrt(100) + 0.01
    assert np.mean(of_mixtures) < np.mean(covered[0.95]) - 0.1  # the intervals are correlated


@cases(
    ("columns", "more", "message"),
    [
        ({}, {}, "is empty"),
        ({"a": [1.0] * 20}, {}, "'a' is constant or a linear combination"),
        (
            {"a": np.arange(20), "b": 2 * np.arange(20)},
            {},
            "'b' is constant or a linear combination",
        ),
        ({"a": ["x"] * 20}, {}, "fewer than two levels"),
        ({"a": [1, 2]}, {}, "2 labels, but more documents"),
        ({"a": [1], "b": [1, 2]}, {}, "different lengths"),
        ({"a": [None] * 19 + [1]}, {}, "1 documents with words and all values for 2 terms"),
        ({"a": range(20)}, {"categorical": ["b"]}, "'b', which is not a column"),
        ({"a": range(20)}, {"topics": [3]}, "topics must be"),
        (["a"], {}, "Missing column 'a': the corpus has no columns"),
    ],
)
def test_invalid_columns_are_rejected(columns, more, message):
    with pytest.raises(InputError, match=message):
        estimate_effect(MODEL, np.ones((20, V)), columns, **more)


def test_figure_has_one_line_per_interval():
    theta = np.random.default_rng(0).dirichlet(np.ones(K), 50)
    rows = estimate_effect(MODEL, expected(theta), {"a": range(50), "b": ["x", "y"] * 25})
    axis = plot_effect(rows, "b=y", n_topics=2)
    drawn = sorted(tuple(line[:, 0]) for line in axis.collections[0].get_segments())
    wanted = [(row.low, row.high) for row in rows if row.term == "b=y"]
    assert len(drawn) == 2
    assert all(any(np.allclose(line, ends) for ends in wanted) for line in drawn)
    assert plot_effect(rows).get_xlabel().endswith(": a")
    for shown in (repr(rows), rows[:2]._repr_html_(), axis.figure.get_supxlabel()):
        assert "Intervals treat topics as known" in " ".join(shown.split())
    assert not plot_effect(rows, ax=Figure().subplots()).figure.get_supxlabel()
    with pytest.raises(InputError, match="term must be"):
        plot_effect(rows, "c")
    with pytest.raises(InputError, match="has no rows"):
        plot_effect([])
