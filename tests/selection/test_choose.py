"""Comparison of numbers of topics: measures and advice."""

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import MLOPE, TopicModel
from opelda.corpus import generate
from opelda.errors import InputError
from opelda.learning._learner import run_seeds
from opelda.metrics import log_predictive_probability, match_topics
from opelda.selection import Choice, ChoiceRow, _fits, choose_n_topics
from opelda.selection._fits import N_SPLITS, Fits, HeldOutSplit
from tests.cases import cases


def drawn(seed, n=200):
    return generate(n, n_words=80, n_topics=4, n_tokens=25, separated=True, random_state=seed).X


X = drawn(1)
FAST = {"preset": "fast", "n_passes": 2, "n_jobs": 1}


def fits(n_topics, scores, quality):
    scores = np.asarray(scores)
    each = np.sqrt(abs(quality))
    error = scores.std(ddof=1) / np.sqrt(len(scores))
    return Fits(
        ChoiceRow(n_topics, scores.mean(), error, each, each, max(quality, 0.0), 0.5, 3.0, 1.0),
        scores,
    )


def test_rows_match_the_metrics_of_each_run():
    model = TopicModel(**FAST)
    found = choose_n_topics(X, [2, 5], model=model, n_runs=2, random_state=3)
    documents = HeldOutSplit.of(X, model, 0.1, 3)
    for row in found.table:
        runs = [
            TopicModel(row.n_topics, random_state=seed, **FAST).fit(documents.train)
            for seed in run_seeds(3, 2)
        ]
        scores = [
            log_predictive_probability(
                run, documents.held_out, n_splits=N_SPLITS, random_state=3, n_jobs=1
            ).macro
            for run in runs
        ]
        topics = [np.asarray(run.components_) for run in runs]
        alike = match_topics(*topics, similarity="jaccard", n_words=20)[1]
        assert row.lpp == pytest.approx(np.mean(scores))
        assert row.coherence == pytest.approx(np.mean([run.coherence_ for run in runs]))
        assert row.stability == pytest.approx(alike.mean())
        nearest = [np.sort(match_all(part), axis=1)[:, -2].mean() for part in topics]
        assert row.distinctness == pytest.approx(1 - np.mean(nearest), abs=1e-6)
        shares = np.array([run._shares() for run in runs])
        assert row.live_topics == (shares * row.n_topics >= 0.2).sum() / 2
        assert row.quality <= row.stability
    assert not hasattr(model, "_state")


def match_all(topics):
    unit = topics / np.linalg.norm(topics, axis=1, keepdims=True)
    return unit @ unit.T


def test_held_out_split_is_independent_of_document_order():
    model = TopicModel(**FAST)
    parts = []
    for rows in (np.arange(200), np.random.default_rng(0).permutation(200)):
        documents = HeldOutSplit.of(X[rows], model, 0.2, 5)
        assert documents.held_out.shape[0] == 40
        assert documents.train.shape[0] == 160
        assert (documents.train.sum(axis=0) > 0).all()
        parts.append({tuple(row) for row in documents.held_out.toarray().tolist()})
    assert parts[0] == parts[1]
    assert parts[0] != {
        tuple(row) for row in HeldOutSplit.of(X, model, 0.2, 6).held_out.toarray().tolist()
    }
    tables = [
        choose_n_topics(X[rows], [2, 4], model=model, n_runs=2, random_state=0, n_jobs=n_jobs)
        for rows, n_jobs in ((slice(None), 1), (slice(None, None, -1), 2))
    ]
    a, b = ([(row.stability, row.coherence) for row in found.table] for found in tables)
    np.testing.assert_allclose(a, b, rtol=1e-12)


def test_words_absent_from_training_are_not_scored():
    own = sparse.hstack([X, sparse.eye_array(200)], format="csr")  # one unique word per document
    documents = HeldOutSplit.of(own, TopicModel(**FAST), 0.2, 5)
    assert documents.train.shape == (160, 80 + 160)
    assert documents.held_out.shape == (40, 80 + 160)
    assert documents.held_out.sum() == own.sum() - documents.train.sum() - 40


@pytest.mark.parametrize("seed", range(1))
def test_true_number_of_topics_is_found(seed):
    model = TopicModel(preset="fast", n_jobs=1)
    # documents are long enough that the initial topics cover all themes
    made = generate(600, n_words=80, n_topics=4, n_tokens=100, separated=True, random_state=seed)
    found = choose_n_topics(made.X, [2, 4, 8], model=model, random_state=seed)
    assert found.n_topics == 4


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-2, 9)), min_size=2, max_size=6))
def test_best_quality_among_predictive_numbers_is_chosen(measured):
    noise = np.random.default_rng(0).normal(size=50) * 0.1
    made = [
        fits(2 + k, level + noise * (k + 1), quality / 10)
        for k, (level, quality) in enumerate(measured)
    ]
    found = Choice.of(made)
    # the expected limit
    best = max(made, key=lambda each: each.scores.mean())
    within = []
    for each in made:
        lost = best.scores - each.scores
        within.append(lost.mean() <= lost.std(ddof=1) / np.sqrt(50))
    limit = within.index(True)
    rows = [each.row for each in made]
    assert found.n_predictive == rows[limit].n_topics
    allowed = rows[: limit + 1]
    chosen = next(row for row in rows if row.n_topics == found.n_topics)
    assert chosen in allowed
    assert chosen.quality == max(row.quality for row in allowed) or chosen is rows[limit]
    assert found.advice.startswith(f"Recommended: {chosen.n_topics} topics")
    assert found.advice.endswith(".")
    assert ". " not in found.advice  # one sentence
    assert ("number tried, so try" in found.advice) == (chosen in (rows[0], rows[-1]))


def test_advice_states_its_reasons():
    flat, noise = np.zeros(40), np.random.default_rng(0).normal(size=40) * 0.01
    rising = [flat + step + noise for step in (0, 1, 2, 3)]
    numbers, quality = (5, 10, 20, 40), (0.1, 0.3, 0.2, 0.1)
    rises = Choice.of([fits(*each) for each in zip(numbers, rising, quality, strict=True)])
    assert rises.n_topics == 10
    assert rises.advice == (
        "Recommended: 10 topics, whose words best belong together and recur in other runs."
    )
    stops = Choice.of(
        [fits(*each) for each in zip(numbers, [rising[0], *[rising[1]] * 3], quality, strict=True)]
    )
    assert stops.n_topics == stops.n_predictive == 10
    near = [fits(5, rising[0], 0.29), fits(10, rising[1], 0.3), fits(20, rising[2], 0.2)]
    assert "(5 is nearly as good)" in Choice.of(near).advice
    none = Choice.of([fits(5, rising[0], -0.1), fits(10, rising[0], -0.1)])
    assert none.advice == (
        "Recommended: 5 topics, or none, because no number tried has topics whose words belong "
        "together; 5 is the smallest number tried, so try 2, too."
    )
    assert "Only 5 topics were tried" in Choice.of(near[:1]).advice


def test_choice_has_repr_html_and_plot():
    found = choose_n_topics(X, [2, 4], model=MLOPE(batch_size=50), n_runs=2, random_state=0)
    assert found.table[0].live_topics is None  # which this rule does not keep
    assert found.advice in repr(found)
    assert found.advice in found._repr_html_()
    assert found.table.to_polars()["n_topics"].to_list() == [2, 4]
    mpl.use("agg")
    axes = found.plot()
    assert len(axes) == 6
    np.testing.assert_allclose(axes[0].lines[1].get_ydata(), [row.lpp for row in found.table])
    assert {line.get_xdata()[0] for axis in axes for line in axis.lines[:1]} == {found.n_topics}
    mpl.pyplot.close(axes[0].figure)


def test_expected_time_is_in_proportion_to_the_work(monkeypatch):
    """A fit takes a second per entry of the counts, and measures take none."""
    clock, fit = [0.0], TopicModel.fit

    def timed(self, counts):
        clock[0] += counts.nnz
        return fit(self, counts)

    monkeypatch.setattr(_fits, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(TopicModel, "fit", timed)
    made = drawn(0, 3_000)
    split, model = HeldOutSplit(made, made[:50]), TopicModel(n_jobs=1, n_sweeps=4)

    def expected(numbers, n_runs):
        return _fits.expected_seconds(split, model, numbers, n_runs, 0)

    assert expected([2, 3], 1) == pytest.approx(2 * made.nnz)
    assert expected([2, 3, 4], 5) == pytest.approx(15 * made.nnz)
    assert clock[0] < 4 * 0.4 * made.nnz  # by four fits of a third of the documents


def test_progress_is_reported_before_each_fit():
    told = []
    choose_n_topics(
        X,
        [3, 2],
        model=TopicModel(**FAST),
        n_runs=2,
        random_state=0,
        progress=lambda *each: told.append(each),
    )
    assert [each[1:] for each in told] == [(number, 4) for number in range(4)]
    assert told[-1][0] == "3 topics, run 2 of 2"


@cases(
    ("options", "message"),
    [
        ({"n_topics": [5]}, "at least two numbers"),
        ({"n_topics": 5}, "must be numbers of topics"),
        ({"n_topics": "5,10"}, "must be numbers of topics"),
        ({"n_topics": [0, 5]}, "n_topics must be"),
        ({"n_runs": 1}, "n_runs must be"),
        ({"held_out": 1.5}, "held_out must be a share"),
        ({"model": "best"}, "model must be a learner"),
        ({"X": X[:1]}, "Too few documents"),
        ({"X": X[:, :1]}, "Too few documents"),
        ({"X": ["tea"] * 9}, "Too few documents"),
    ],
    ids=str,
)
def test_invalid_arguments_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        choose_n_topics(**{"X": X, "n_topics": [2, 4]} | options)
