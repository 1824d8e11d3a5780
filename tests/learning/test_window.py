"""Streams learned by sweeps: contents of the window, evictions and guarantees."""

from contextlib import suppress
from copy import deepcopy
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import normalize

import opelda
from opelda import TopicModel
from opelda.corpus import Vocabulary, generate, generate_stream
from opelda.engines import CPUEngine
from opelda.errors import ModelFileError
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.learning.streaming import _window
from opelda.learning.streaming import _window_sweeps as _stream_sweeps
from opelda.learning.streaming._window import Window
from opelda.metrics import log_predictive_probability
from tests.cases import cases
from tests.learning.test_kept import listed

COMMON = {"n_components": 3, "batch_size": 8, "random_state": 0, "n_sweeps": 6}
STREAM = list(generate_stream(160, batch_size=8, n_words=20, n_topics=3, new_words_per_batch=5))


def made(seed):
    return generate(200, n_words=30, n_topics=3, n_tokens=8, random_state=seed).X


X = made(0)


@pytest.fixture
def small_window(monkeypatch):
    """A window that documents leave soon."""
    monkeypatch.setattr(_window, "MOST_DOCS", 40)
    monkeypatch.setattr(_window, "MOST_TOKENS", 900)


def words():
    return Vocabulary(growing=True, max_features=25)


def same(one, other):
    """Whether two models would be the same file."""
    return as_parts(one)[1] == as_parts(other)[1]  # with a checksum of the arrays


@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_every_token_is_counted_once(small_window, monkeypatch, engine):
    monkeypatch.setattr(_window, "kept_of_past", lambda *given: np.ones(3))
    n_docs = 60 if engine == "reference" else 200
    model = TopicModel(**COMMON, engine=engine).partial_fit(X[:n_docs])
    window, weights = model._state.window, model._state.weights
    assert window.n_docs <= 40 + 8
    runs_on = model._plan(model._state).engine
    total = window.outside + _window.count(runs_on, weights, window.kept.tokens(runs_on, weights))
    found = total.cells.sum(axis=1) * 2.0**-total.shift
    assert np.array_equal(found, X[:n_docs].toarray().sum(axis=0))
    # the topics are an average of such counts
    assert weights.scale * weights.sums.sum() == pytest.approx(X[:n_docs].sum(), rel=1e-5)


@pytest.mark.parametrize("seed", range(1))
def test_documents_outside_the_window_fade(small_window, seed):
    X = made(seed)
    model = TopicModel(**COMMON | {"random_state": seed}).partial_fit(X)
    outside = model._state.window.outside.sums.sum()
    assert outside < 0.5 * (X.sum() - model._state.window.n_tokens)
    assert outside > 0


def test_round_compares_new_documents_with_earlier_ones(small_window, monkeypatch):
    found = []

    def seen(new, *others):
        found.append(new.cells.sum(axis=1) * 2.0**-new.shift)
        return np.ones(3)

    monkeypatch.setattr(_window, "kept_of_past", seen)
    TopicModel(**COMMON).partial_fit(X)
    batches = [X[first : first + 8].sum(axis=0) for first in range(0, 200, 8)]
    assert 0 < len(found) < len(batches)
    np.testing.assert_array_equal(found, batches[-len(found) :])


@pytest.mark.parametrize(("n_new", "due"), [(9, False), (10, True)])
def test_round_is_due_after_a_tenth_more_documents(n_new, due):
    assert Window.is_due.fget(SimpleNamespace(n_docs=100 + n_new, n_new=n_new)) is due


def test_result_does_not_depend_on_threads_and_parts(small_window):
    one = TopicModel(**COMMON, n_jobs=1).partial_fit(X)
    two = TopicModel(**COMMON, n_jobs=2).partial_fit(X[:80]).partial_fit(X[80:])
    assert same(one, two)


@pytest.mark.parametrize("seed", range(1))
def test_engines_agree(small_window, seed):
    options = COMMON | {"random_state": seed}
    cpu, reference = (
        TopicModel(**options, engine=engine).partial_fit(made(seed)[:48])
        for engine in ("cpu", "reference")
    )
    window, other = cpu._state.window, reference._state.window
    assert (window.kept.topics == other.kept.topics).mean() > 0.99
    np.testing.assert_allclose(cpu.components_, reference.components_, atol=1e-3)


@pytest.mark.parametrize("every", [1, 3])
def test_stopped_stream_resumes_with_identical_bytes(small_window, tmp_path, every):
    class StoppedError(Exception):
        pass

    def until(stop):
        yield from STREAM[:stop]
        if stop < len(STREAM):
            raise StoppedError

    whole = TopicModel(**COMMON)
    whole.fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path / "whole")
    assert whole.n_words_dropped_ > 0  # whose columns went to others
    assert whole._state.window.outside.cells.nnz
    for stop in (1, 4, 9, 13, len(STREAM)):
        model = TopicModel(**COMMON)
        with suppress(StoppedError):
            model.fit_stream(
                until(stop), vocabulary=words(), checkpoint=tmp_path / "stopped", every=every
            )
    files = [(tmp_path / name / "checkpoint.opelda").read_bytes() for name in ("whole", "stopped")]
    assert files[0] == files[1]


def test_evicted_words_are_forgotten(small_window):
    model = TopicModel(**COMMON).fit_stream(STREAM, vocabulary=words())
    assert model.n_words_dropped_ > 0
    window = model._state.window
    last = [document for batch in STREAM for document in batch][-window.n_docs :]
    rows = window.kept.rows
    held = np.bincount(rows.words, rows.counts, 25)
    for word, n in zip(model.vocabulary_.words, held, strict=True):
        assert n <= sum(document.get(word, 0) for document in last)
    assert held.sum() > 0


@pytest.mark.parametrize("seed", range(1))
@cases("n_sweeps", [0, 6])
@cases("learning", ["online", "ml"])  # whose weights are probabilities
def test_fitted_model_keeps_its_topics(learning, n_sweeps, seed):
    X = made(seed)
    model = TopicModel(3, learning=learning, n_sweeps=n_sweeps, random_state=seed).fit(X)
    before = normalize(model.components_, "l1")
    after = normalize(model.set_params(n_sweeps=6).partial_fit(X[:2]).components_, "l1")
    assert np.abs(after - before).sum(axis=1).max() < 0.5
    assert model._state.window.outside.sums.sum() >= 199


def test_running_average_continues_from_a_start():
    model = TopicModel(**COMMON).partial_fit(X[:8])
    assert model._state.window.n_averaged == COMMON["n_sweeps"]


@given(st.integers(0, 2**32 - 1))
def test_topics_keep_their_numbers(seed):
    rng = np.random.default_rng(seed)
    now = rng.integers(0, 5, 2000).astype(np.uint16)
    order = rng.permutation(5)  # the new number of each former topic
    before = np.argsort(order)[now].astype(np.uint16)
    before[rng.random(2000) < 0.3] = 0
    assert np.array_equal(_stream_sweeps._numbers(before, now, 5)[0], order)


@pytest.mark.parametrize("seed", range(1))
def test_topic_numbers_survive_a_refit(seed):
    """Of documents that each have one of three topics, which share no words."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(3), np.ones((1, 5)))[rng.integers(0, 3, 1300)]
    documents = sparse.csr_array(rng.poisson(topics * 1.5).astype(np.float32))
    model, tops = TopicModel(3, random_state=seed, n_sweeps=10, batch_size=20), []
    for first in range(0, 1300, 20):
        model.partial_fit(documents[first : first + 20])
        tops.append(np.argmax(model.components_, axis=1) // 5)
    at = model._state.window.started * _window.STARTED * _window.MOST_DOCS
    assert 20 < at < 1300  # not at first only
    # now and then a start merges two; numbers stay where there are three before and after it
    for before, after in pairwise(tops[10:]):
        told_apart = sorted(before) == sorted(after) == [0, 1, 2]
        assert not told_apart or (before == after).all()


@pytest.mark.parametrize("seed", range(3))
def test_short_texts_are_predicted_better_than_by_frequencies(seed):
    made = generate(
        6000, n_words=300, n_topics=8, n_tokens=5, doc_topic_prior=0.05, random_state=seed
    )
    new = made.X[5000:]
    model = TopicModel(8, random_state=seed).partial_fit(made.X[:5000])
    frequencies = np.tile(made.X[:5000].sum(axis=0) + 0.1, (2, 1))
    found, plain = (
        float(log_predictive_probability(normalize(topics, "l1"), new, random_state=0))
        for topics in (model.components_, frequencies)
    )
    assert found > plain + 0.2


def test_file_without_documents(tmp_path):
    model = TopicModel(**COMMON).partial_fit(X)
    for name, documents in (("with", True), ("without", False)):
        opelda.save(model, tmp_path / name, documents=documents)
    loaded = opelda.load(tmp_path / "without")
    assert np.array_equal(loaded.components_, model.components_)
    assert loaded._state.window is None
    assert same(opelda.load(tmp_path / "with"), model)
    loaded.partial_fit(X[:20])


def test_copies_learn_independently():
    model = TopicModel(**COMMON).partial_fit(X[:96])
    copied = deepcopy(model)
    copied.partial_fit(X[96:])
    straight = TopicModel(**COMMON).partial_fit(X)
    assert same(copied, straight)
    assert same(model.partial_fit(X[96:]), straight)


DAMAGES = [
    ("indptr", lambda a: a[::-1]),
    ("words", lambda a: a + 100),
    ("counts", lambda a: -a),
    ("topics", lambda a: a[:-1]),
    ("topics", lambda a: a + np.uint16(1)),
    ("alpha", lambda a: a[:-1]),
    ("outside.indptr", lambda a: a + 1),
    ("outside.topics", lambda a: a + 3),
    ("outside.counts", lambda a: -a),
]


@pytest.fixture
def parts_with_window(small_window):
    return as_parts(TopicModel(**COMMON).partial_fit(X))


@cases(("name", "damage"), DAMAGES)
def test_damaged_documents_are_rejected(tmp_path, parts_with_window, name, damage):
    arrays, header = deepcopy(parts_with_window)
    path = tmp_path / "model.opelda"
    arrays[f"window.{name}"] = np.ascontiguousarray(damage(arrays[f"window.{name}"]))
    header["checksum"] = checksum(arrays, header)
    opelda._store.write(path, arrays, header, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match=r"its (former )?documents"):
        opelda.load(path)


def test_damaged_numbers_are_rejected():
    arrays, good = TopicModel(**COMMON).partial_fit(X)._state.window.to_arrays()
    Window.from_arrays(arrays, good, (30, 3))

    @cases("numbers", [{}, {"n_new": 10**6}, {"started": -1.0}, {"n_sweeps": 0.5}])
    def check(numbers):
        with pytest.raises(ValueError, match=r".+"):
            Window.from_arrays(arrays, (good | numbers) if numbers else {}, (30, 3))

    check()


def test_an_interrupted_sweep_loses_no_documents(small_window, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    model = TopicModel(**COMMON).partial_fit(X[:80])
    before = deepcopy(model._state.window)
    with monkeypatch.context() as patch:
        patch.setattr(CPUEngine, "histogram", interrupted)  # when all is drawn
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X[80:88])
    window = model._state.window
    assert model.n_docs_seen_ == 88
    assert window.n_docs == before.n_docs + 8
    assert window.n_new == before.n_new + 8
    assert (window.outside.cells != before.outside.cells).nnz == 0
    assert listed(window.kept)[:-8] == listed(before.kept)
    model.partial_fit(X[88:])
