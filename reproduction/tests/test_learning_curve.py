"""A learner's curve: its points, and the measurements at each point."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda.corpus import generate
from opelda.inference import infer
from reproduction import Settings, prepare
from reproduction.learners import NAMES, SEVEN, learning_curve, looks, new_learner

SETTINGS = Settings.small(n_topics=4, n_test=30, batch_size=60, n_passes=3, n_jobs=1, n_iter=8)


@pytest.fixture(scope="module")
def data():
    made = generate(280, n_words=50, n_topics=4, n_tokens=40, separated=True, random_state=2)
    return prepare(made.X, SETTINGS, label="generated")


def quiet(share):
    pass


@given(st.integers(1, 400), st.integers(1, 500), st.integers(1, 6), st.integers(2, 30))
def test_measurements_are_at_batch_ends(n_docs, batch_size, n_passes, n_points):
    found = looks(n_docs, batch_size, n_passes, n_points)
    last = n_docs * n_passes
    within = {seen % n_docs for seen in found}
    assert all(place % batch_size == 0 for place in within)
    assert min(found) >= 1
    assert max(found) == last
    assert {n_docs * n for n in range(1, n_passes + 1)} <= found
    assert min(batch_size, n_docs) in found
    assert len(found) <= n_points + n_passes
    assert looks(n_docs, batch_size, n_passes, 1) == {last}


@given(st.integers(1, 400), st.integers(1, 500), st.integers(1, 6), st.integers(2, 30))
def test_measurements_are_evenly_spaced(n_docs, batch_size, n_passes, n_points):
    """No end of a batch is nearer to where one would look than the look that is taken."""
    found = looks(n_docs, batch_size, n_passes, n_points)
    ends = [d for d in range(1, n_docs * n_passes + 1) if d % n_docs % batch_size == 0]
    first, last = np.log(min(batch_size, n_docs)), np.log(n_docs * n_passes)
    for share in range(n_points):
        wanted = first + (last - first) * share / (n_points - 1)
        nearest = [min(abs(np.log(place) - wanted) for place in places) for places in (found, ends)]
        assert nearest[0] <= nearest[1] + 1e-9


CLASSES = {
    "ML-OPE": opelda.MLOPE,
    "Online-OPE": opelda.OnlineOPE,
    "Streaming-OPE": opelda.StreamingOPE,
    "Online-CGS": opelda.OnlineCGS,
    "Online-CVB0": opelda.OnlineCVB0,
    "Online-VB": opelda.OnlineVB,
    "Streaming-VB": opelda.StreamingVB,
}


@pytest.mark.parametrize("name", SEVEN)
def test_last_measurement_equals_a_scored_fit(data, name):
    rows = learning_curve(data, SETTINGS, quiet, learner=name, seed=5, n_points=3)
    model = CLASSES[name](
        4, batch_size=60, n_iter=8, n_passes=3, learning_decay=0.9, learning_offset=1.0,
        random_state=5,
    ).fit(data.train)  # fmt: skip
    assert rows[-1]["documents"] == model.n_docs_seen_ == 3 * 250
    assert rows[-1]["updates"] == model.n_batch_iter_
    macro, micro, error = scored(data, model.components_.astype(np.float64))
    assert rows[-1]["lpp"] == pytest.approx(macro, abs=1e-5)
    assert rows[-1]["lpp_micro"] == pytest.approx(micro, abs=1e-5)
    assert rows[-1]["lpp_error"] == pytest.approx(error, rel=1e-4)
    npmi = coherences(data.train.toarray() > 0, model.components_)
    assert rows[-1]["npmi"] == pytest.approx(np.mean(npmi), abs=1e-6)
    assert rows[-1]["incoherent"] == sum(value < 0 for value in npmi)


def scored(data, beta):
    """The paper's measure document by document, with the mixtures of the reference."""
    of_splits, sums = [], np.zeros(2)
    for observed, held_out in data.splits:
        theta = infer(observed, beta, method="vb", doc_topic_prior=0.25, engine="reference").theta
        per_document = []
        for mixture, hidden in zip(theta, held_out.toarray(), strict=True):
            likely = np.log(mixture @ beta)
            per_document.append(hidden @ likely / hidden.sum())
            sums += hidden @ likely, hidden.sum()
        of_splits.append(per_document)
    means = np.mean(of_splits, axis=0)
    return means.mean(), sums[0] / sums[1], means.std(ddof=1) / np.sqrt(len(means))


def coherences(occurs, topics):
    found = []
    for topic in topics:
        top = sorted(range(len(topic)), key=lambda word: -topic[word])[:10]
        pairs = []
        for a, b in combinations(top, 2):
            both = np.mean(occurs[:, a] & occurs[:, b])
            apart = np.mean(occurs[:, a]) * np.mean(occurs[:, b])
            pairs.append(-1.0 if both == 0 else np.log(both / apart) / -np.log(both))
        found.append(np.mean(pairs))
    return found


def test_more_measurements_only_add_rows(data):
    often, seldom, once = (
        learning_curve(data, SETTINGS, quiet, learner="Online-OPE", seed=0, n_points=n)
        for n in (12, 2, 1)
    )
    assert {row["documents"] for row in often} == looks(250, 60, 3, 12)
    assert len(once) == 1
    for rows in (seldom, once):
        kept = {row["documents"]: row for row in often}
        for row in rows:
            assert without_times(kept[row["documents"]]) == without_times(row)


def test_times_are_cumulative_and_passes_recorded(data):
    told = []
    rows = learning_curve(data, SETTINGS, told.append, learner="Streaming-VB", seed=0, n_points=9)
    assert [row["documents"] for row in rows] == sorted(row["documents"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0
    assert all(0 <= row["inference_seconds"] <= row["seconds"] for row in rows)
    assert [row["pass"] for row in rows] == [-(-row["documents"] // 250) for row in rows]
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_every_learner_gets_every_setting():
    settings = Settings(7, 0.3, 0.4, 11, 0.6, 5.0, 13, n_passes=17, n_jobs=2)
    for name in NAMES:
        values = new_learner(name, settings, 9).get_params()
        expected = {
            "n_components": 7, "doc_topic_prior": 0.3, "topic_word_prior": 0.4, "batch_size": 11,
            "learning_decay": 0.6, "learning_offset": 5.0, "n_iter": 13, "n_passes": 17,
            "n_jobs": 2, "random_state": 9,
        }  # fmt: skip
        assert {key: values[key] for key in expected if key in values} == expected, name
        assert values.get("keep_start", False) == name.endswith("start kept")


def without_times(row):
    return {name: value for name, value in row.items() if not name.endswith("seconds")}
