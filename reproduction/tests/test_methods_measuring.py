"""The measurements of Table 1: fair clocks, documents of an exact size, memory, quality."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import generate
from opelda.inference import METHODS, TLI, infer
from reproduction import Settings, prepare
from reproduction.learners import new_learner
from reproduction.methods import measuring
from reproduction.methods import quality as quality_module
from reproduction.methods.found import fallen_back
from reproduction.methods.measuring import (
    FLAT,
    NAMES,
    OTHERS,
    PLAIN,
    UNSCREENED,
    Problem,
    best_seconds,
    is_compiled,
    new_method,
    new_row,
    seconds_to_invert,
)
from reproduction.methods.memory import INVERSE, NOT_HERE, peaks
from reproduction.methods.quality import quality_reached
from reproduction.methods.timing import Size, draw_documents, iteration_times
from tests.cases import cases

SETTINGS = Settings.small(n_topics=8, n_test=12, n_iter=20, n_passes=1, n_jobs=1)
DENSE = ("OPE", "VB", "CVB", "CVB0", "CGS", "FW")


@pytest.fixture(scope="module")
def data():
    made = generate(150, n_words=40, n_topics=8, n_tokens=30)
    return prepare(made.X, SETTINGS, label="generated")


@pytest.fixture(scope="module")
def reached(data):
    return quality_reached(data, SETTINGS, lambda share: None, seed=3, documents=5, repeats=1)


def test_methods_have_the_settings_iterations():
    X, topics = [[3, 1, 2]], [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]
    assert {*NAMES.values(), *OTHERS} == set(METHODS)
    for name in (*DENSE, UNSCREENED, FLAT, PLAIN):
        method = new_method(name, Settings(n_iter=7))
        if "tol" in method.get_params():
            method.set_params(tol=0.0)
        assert infer(X, topics, method=method).n_iter[0] == 7
    assert {name for name in NAMES if is_compiled(name)} == set(DENSE)
    assert not is_compiled(PLAIN)


@given(
    n_topics=st.integers(1, 6),
    n_words=st.integers(1, 30),
    times=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_documents_have_the_requested_size(n_topics, n_words, times, seed):
    size = Size(n_topics, n_words, times, 30)
    topics, X = draw_documents(4, size, seed)
    np.testing.assert_allclose(topics.components.sum(axis=1), 1, rtol=1e-4)
    assert (np.diff(X.indptr) == n_words).all()
    assert (X.sum(axis=1) == size.n_tokens).all()
    once = draw_documents(4, size._replace(times=1), seed)[1]
    assert (X.toarray() == times * once.toarray()).all()
    other = draw_documents(4, size._replace(n_words=1), seed)[0]
    assert (
        other.components == topics.components
    ).all()  # sizes of documents are compared by the same topics


class Recorded(Problem):
    """A problem that notes its turn, and advances a clock."""

    def solve(self, method, seed):
        name, calls, clock, takes = method
        calls.append((name, self.X.shape[0]))
        if self.X.shape[0] > 1:
            clock[0] += next(takes)


def recorded(monkeypatch, takes):
    topics, X = draw_documents(3, Size(2, 5, 1, 9), 0)
    problem = Recorded(topics, X, None)
    calls, clock = [], [0.0]
    monkeypatch.setattr(measuring, "CLOCK", lambda: clock[0])
    work = {name: ((name, calls, clock, iter(own)), problem) for name, own in takes.items()}
    shares = []
    found = best_seconds(work, 3, 0, shares.append)
    assert shares[-1] == 1
    return calls, {name: seconds for name, (seconds, _) in found.items()}


def test_methods_alternate_and_the_minimum_time_counts(monkeypatch):
    calls, found = recorded(monkeypatch, {"a": [3.0, 1.0, 2.0], "b": [0.5, 4.0, 0.75]})
    assert found == {"a": 1.0, "b": 0.5}
    assert calls == [("a", 1), ("b", 1)] + 3 * [("a", 3), ("b", 3)]


def test_times_of_one_size():
    arguments = {"part": "n", "documents": [4, 1], "repeats": 1}
    sizes = [[3, 8, 2, 30], [3, 16, 2, 30]]
    rows = iteration_times(None, SETTINGS, lambda share: None, sizes=sizes, **arguments)
    assert [row["method"] for row in rows] == 2 * [*NAMES, UNSCREENED]
    for place, row in enumerate(rows):
        size = (row["part"], row["n_topics"], row["n_words"], row["n_tokens"])
        assert size == (("n", 3, 8, 32) if place < len(rows) / 2 else ("n", 3, 16, 64))
        assert row["documents"] == (4 if row["compiled"] or row["method"] == "TLI" else 1)
        per_document = row["seconds_per_iteration"] * row["iterations"]
        assert row["seconds_per_document"] == pytest.approx(per_document)
        if row["method"] in DENSE:
            assert row["iterations"] == SETTINGS.n_iter  # every run is complete


def test_inverse_is_timed_without_its_cache():
    topics = draw_documents(1, Size(12, 30, 1, 300), 12345)[0]
    first, again = seconds_to_invert(topics), seconds_to_invert(topics)
    assert first > 10 * again >= 0  # linear programs, and none


def test_tli_is_left_out_if_too_slow(monkeypatch):
    monkeypatch.setattr(measuring, "MOST_PROGRAMS", 100)
    arguments = {"part": "K", "sizes": [[5, 4, 1, 9]], "documents": [2, 1], "repeats": 1}
    rows = iteration_times(None, SETTINGS, lambda share: None, **arguments)
    tli = next(row for row in rows if row["method"] == "TLI")
    assert "seconds_per_iteration" not in tli
    assert "linear programs" in tli["note"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_memory_is_the_size_of_the_arrays():
    n_topics, n_words = 64, 40_000
    shares = []
    names = ["FW", "CVB", "TLI", "no such method"]
    rows = peaks(
        None, SETTINGS, shares.append, methods=names, sizes=[[n_topics, n_words, 2 * n_words]]
    )
    found = {row["method"]: row["peak_bytes"] for row in rows}
    q = 4 * n_topics * n_words  # CVB keeps a number per topic and word, in single precision
    assert q < found["CVB"] < 1.5 * q
    assert found["FW"] < q / 2
    assert [row["note"] for row in rows] == [None, None, INVERSE, NOT_HERE]
    assert found["TLI"] is None
    assert shares[-1] == 1


@cases("name", ["VB", "OPE", FLAT, "CCCP", "TLI"])
def test_quality_equals_explicit_arithmetic(name, data, reached):
    row = next(row for row in reached if row["method"] == name)
    topics = new_learner("Online-OPE", SETTINGS, 3, n_passes=1).fit(data.train).components_
    topics = np.asarray(topics, float)
    chosen = [0, 2, 5, 8, 11]  # of 12, evenly spread
    alpha, method = 1 / 8, new_method(name, SETTINGS)

    def mixtures(X):
        prior = 1.0 if name == FLAT else alpha
        return infer(X, topics, method=method, doc_topic_prior=prior, random_state=3).theta

    whole = data.test[chosen].toarray()
    with np.errstate(divide="ignore", invalid="ignore"), measuring.one_thread():
        theta = mixtures(whole).astype(float)
        x = theta @ topics
        likelihood = np.where(whole > 0, whole * np.log(x), 0).sum()
        slope = (whole / x) @ topics.T
        loss = slope.max(axis=1) - whole.sum(axis=1)
        entropy = -np.where(theta > 0, theta * np.log(theta), 0).sum(axis=1)
        scores = []
        for observed, held in data.splits:
            p = np.log(mixtures(observed[chosen]).astype(float) @ topics)
            d = held[chosen].toarray()
            scores.append((d * p).sum(axis=1) / d.sum(axis=1))
    assert row["log_likelihood_per_token"] == pytest.approx(likelihood / whole.sum(), rel=1e-5)
    assert row["likelihood_gap"] == pytest.approx(loss.mean(), rel=1e-3, abs=1e-3)
    assert row["effective_topics"] == pytest.approx(np.exp(entropy).mean(), rel=1e-4)
    if name in ("VB", "CCCP", "TLI"):  # other methods' splits have separate seeds
        assert row["lpp"] == pytest.approx(np.mean(scores), rel=1e-4)
    assert (row["documents"], row["vocabulary"], row["seed"]) == (5, 40, 3)


def test_every_method_is_compared_on_the_same_documents(reached):
    assert [row["method"] for row in reached] == [*NAMES, FLAT]
    assert len({(row["documents"], row["n_words"], row["n_tokens"]) for row in reached}) == 1
    for row in reached:
        for value in row.values():
            assert not isinstance(value, float) or np.isfinite(value)


def test_note_states_how_often_tli_fell_back():
    topics, X = draw_documents(3, Size(2, 5, 1, 9), 0)
    note = quality_module._complaint(TLI(threshold=1e6), Problem(topics, X, None), 0)
    row = new_row("quality", "TLI", 0, lpp=-7.0, documents=3, note=note)
    assert fallen_back([row]) == 1
    assert fallen_back([row, row | {"note": None}]) == 0.5
    assert fallen_back([new_row("quality", "TLI", 0, note=measuring.LEFT_OUT)]) == 0


def test_tli_uses_frequent_words_of_large_vocabularies(data, monkeypatch):
    n_frequent = 8
    for module in (measuring, quality_module):
        monkeypatch.setattr(module, "MOST_PROGRAMS", 8**3 * n_frequent)

    def rows():
        return quality_reached(data, SETTINGS, lambda share: None, seed=0, documents=5, repeats=1)

    everywhere = rows()  # without the small vocabulary
    assert {row["vocabulary"] for row in everywhere} == {40}
    assert {row["method"] for row in everywhere if row.get("lpp") is None} == {"TLI"}
    monkeypatch.setattr(quality_module, "LEAST_WORDS", n_frequent)
    frequent = [row for row in rows() if row["vocabulary"] == n_frequent]
    assert {row["method"] for row in frequent} == {*DENSE, "TLI", FLAT}
    assert all(row["lpp"] is not None for row in frequent)
    assert frequent[0]["n_tokens"] < everywhere[0]["n_tokens"]
