"""Interrupts, errors and extreme inputs leave a usable model."""

import os
import warnings

import joblib
import numpy as np
import pytest

import opelda
from opelda import MLOPE, OnlineCGS, OnlineOPE, OnlineVB, StreamingOPE, StreamingVB, TopicModel
from opelda.corpus import Vocabulary, generate
from opelda.engines import CPUEngine
from opelda.engines.cpu import _updates as _cpu_updates
from opelda.errors import InputError, ModelFileError, OpeldaError
from opelda.inference import OPE
from opelda.learning import ML, Online
from opelda.learning.persistence._model_arrays import as_parts
from tests.cases import cases

X = generate(60, n_words=50, n_topics=4, random_state=0).X
SOME = [MLOPE, OnlineOPE, OnlineVB, StreamingOPE, StreamingVB]
every_learner = pytest.mark.parametrize("cls", SOME)


def fails_once(monkeypatch, when):
    """Let the adding of statistics be interrupted at a call, before or after its work."""
    real, calls = _cpu_updates.Explained.add, []

    def add(*arguments, **options):
        calls.append(1)
        if len(calls) == abs(when) and when > 0:
            raise KeyboardInterrupt
        grown = real(*arguments, **options)
        if len(calls) == abs(when):
            raise KeyboardInterrupt
        return grown

    monkeypatch.setattr(_cpu_updates.Explained, "add", add)


@every_learner
@cases("when", [1, -1])
def test_interrupted_first_update_can_be_repeated(monkeypatch, cls, when):
    fails_once(monkeypatch, when)
    model = cls(4, random_state=0, batch_size=20)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X)
    assert model.n_batch_iter_ == model.n_docs_seen_ == 0
    expected = cls(4, random_state=0, batch_size=20).partial_fit(X)
    assert np.array_equal(model.partial_fit(X).components_, expected.components_)


@every_learner
@cases("when", [2, -2])
def test_interrupted_later_update_leaves_distributions(monkeypatch, cls, when):
    fails_once(monkeypatch, when)
    model = cls(4, random_state=0, batch_size=20)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X)
    assert model.n_batch_iter_ == 1
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, atol=1e-5)
    model.partial_fit(X)
    assert model.n_docs_seen_ == model._state.population == 80


@cases("when", [1, -1])
@cases("where", ["inference", "statistics"])
def test_interrupted_first_update_keeps_the_document_start(monkeypatch, when, where):
    class Start:
        def begin(self, model):
            self.topics = model.components_.copy()

        def __call__(self, report):
            pass

    start = Start()
    model = TopicModel(
        4, learning=Online(init="documents"), n_sweeps=0, random_state=0, callbacks=start
    )
    if where == "statistics":
        fails_once(monkeypatch, when)
    else:
        monkeypatch.setattr(CPUEngine, "_explain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert model.n_batch_iter_ == model.n_docs_seen_ == 0
    assert np.array_equal(model.components_, start.topics)
    random = TopicModel(
        4, learning=Online(init="random"), n_sweeps=0, random_state=0, callbacks=start
    )
    monkeypatch.setattr(CPUEngine, "_explain", interrupted)
    with pytest.raises(KeyboardInterrupt):
        random.fit(X)
    assert not np.allclose(model.components_, start.topics)


def interrupted(*arguments, **options):
    raise KeyboardInterrupt


@cases("cls", [*SOME, TopicModel])
def test_interrupt_during_inference_changes_nothing(monkeypatch, cls):
    model = cls(4, random_state=0, batch_size=20).partial_fit(X)
    before, header = as_parts(model)
    before = {name: array.tobytes() for name, array in before.items()}
    with monkeypatch.context() as patch:
        patch.setattr(CPUEngine, "sweep" if cls is TopicModel else "_explain", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.partial_fit(X)
    arrays, again = as_parts(model)
    assert again == header
    assert {name: array.tobytes() for name, array in arrays.items()} == before


def test_interrupt_during_inference_counts_no_documents(monkeypatch):
    docs = [{"a": 2, "b": 1}, {"b": 2, "c": 5}] * 10
    words = Vocabulary(["a", "b"])
    model = OnlineOPE(2, batch_size=10, random_state=0).fit_stream(docs[:10], vocabulary=words)
    counted = model.n_batch_iter_, model.n_docs_seen_, model.n_unknown_tokens_
    with monkeypatch.context() as patch:
        patch.setattr(CPUEngine, "_explain", interrupted)
        with pytest.raises(KeyboardInterrupt):
            model.fit_stream(docs[10:])
    assert counted == (model.n_batch_iter_, model.n_docs_seen_, model.n_unknown_tokens_)
    assert model.fit_stream(docs[10:]).n_unknown_tokens_ == 50


def test_interrupted_sweep_keeps_learned_topics(monkeypatch):
    real, calls = CPUEngine.sweep, []

    def sweep(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    # (priors that are learned depend on how many sweeps there are to be)
    given = {"n_passes": 1, "doc_topic_prior": 0.2, "topic_word_prior": 0.1, "random_state": 0}
    two = TopicModel(4, n_sweeps=2, **given).fit(X)
    monkeypatch.setattr(CPUEngine, "sweep", sweep)
    model = TopicModel(4, n_sweeps=9, **given)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert np.array_equal(model.components_, two.components_)
    assert (model.n_batch_iter_, model.n_docs_seen_) == (two.n_batch_iter_, two.n_docs_seen_)


@cases(
    ("parameters", "options"),
    [
        ({"topic_word_prior": np.ones(7)}, {}),
        ({}, {"validation": X}),
        ({}, {"validation": np.eye(30)}),
        ({"callbacks": 5}, {}),
        ({"verbose": -1}, {}),
        ({"inference": OPE(schedule="literal", epsilon=1e-2), "n_components": 100}, {}),
        ({"n_components": 0}, {}),
        ({"doc_topic_prior": [1.0, 2.0]}, {}),
    ],
)
def test_failed_fit_leaves_the_model_unchanged(parameters, options):
    model = TopicModel(4, preset="paper", random_state=0, batch_size=20).fit(X)
    before, kept = model.transform(X), model.get_params(deep=False)
    model.set_params(**parameters)
    with pytest.raises(ValueError, match=r"\w"):
        model.fit(X[:, :30], **options)
    model.set_params(**kept)
    assert model.n_features_in_ == 50
    assert model.n_batch_iter_ == 3
    assert np.array_equal(model.transform(X), before)


def test_stream_continues_while_validation_cannot_be_scored():
    scores = []
    model = OnlineOPE(2, batch_size=10, callbacks=lambda report: scores.append(report))
    early, late = [{"a": 2, "b": 3}] * 40, [{"zzz": 5, "a": 1}] * 40
    words = Vocabulary(growing=True)
    model.fit_stream(early + late, vocabulary=words, validation=[{"zzz": 5}], validate_every=2)
    scored = [report.held_out_score is not None for report in scores]
    assert scored == [False, False, False, False, False, True, False, True]


def _more(model, more):
    return model.partial_fit(more).components_


def test_learning_continues_in_another_process_and_from_mapped_files(tmp_path):
    Y = np.random.default_rng(0).poisson(0.01, (60, 20_000)).astype(np.float32)
    model = OnlineOPE(64, batch_size=20, random_state=0).fit(Y)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(_more)(model, Y[:20]) for _ in range(2))
    joblib.dump(model, tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    expected = _more(model, Y[:20])
    assert all(np.array_equal(topics, expected) for topics in found)
    assert np.array_equal(_more(mapped, Y[:20]), expected)


@pytest.mark.parametrize("seed", range(5))
def test_weights_near_the_single_precision_limit(seed):
    tiny = np.array([[3.0, 0], [2.0, 0]]) * 6e-19
    model = OnlineCGS(
        15,
        batch_size=1,
        topic_word_prior=1e-30,
        doc_topic_prior=100.0,
        random_state=seed,
        learning_decay=0.5,
        learning_offset=0.0,
    )
    for _ in range(4):
        model.partial_fit(tiny)
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, atol=1e-5)


@cases("method", ["cgs", "vb", "cvb"])
def test_ml_with_nearly_unused_topics(method):
    rng = np.random.default_rng(0)
    Z = np.zeros((40, 20_000), np.float32)
    for row in Z:
        row[rng.integers(20_000, size=5)] = 1
    model = TopicModel(
        4,
        preset="paper",
        inference=method,
        learning=ML(decay=0.5),
        doc_topic_prior=1e-30,
        batch_size=1,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(Z)
    np.testing.assert_allclose(model.components_.sum(axis=1, dtype=float), 1, atol=1e-4)
    assert (model._state.weights.rows >= 0).all()


@pytest.mark.parametrize("seed", range(6))
def test_evicting_nearly_everything_keeps_the_sums(seed):
    rng = np.random.default_rng(seed)
    docs = [{f"w{j}": 1 for j in rng.integers(300, size=5)} for _ in range(60)]
    model = OnlineCGS(
        5,
        batch_size=3,
        topic_word_prior=1e-8,
        learning_decay=1.0,
        learning_offset=1e12,
        random_state=seed,
    )
    model.fit_stream(docs, vocabulary=Vocabulary(growing=True, max_features=3))
    np.testing.assert_allclose(model.components_.sum(axis=1), 1, atol=1e-4)


def test_bad_words_never_reach_the_kernels():
    model = OnlineOPE(3, batch_size=20, random_state=0).fit(X[:, :30])
    model.n_features_in_ = 50  # as if another's attribute had been changed
    with pytest.raises(InputError, match="the topics have 30 words"):
        model.transform(X)


def test_lock_that_is_not_a_file_is_rejected(tmp_path):
    os.mkfifo(tmp_path / ".lock")
    with pytest.raises(ModelFileError, match="not a regular file"):
        OnlineOPE(3, random_state=0).fit_stream([X], checkpoint=tmp_path)


def test_subclass_is_rejected_before_learning(tmp_path):
    class Mine(OnlineOPE):
        pass

    with pytest.raises(InputError, match="Mine"):
        Mine(3, random_state=0).fit_stream([X], checkpoint=tmp_path)


def test_inconsistent_model_is_not_saved(tmp_path):
    model = OnlineOPE(3, random_state=0).fit(X)
    model.n_features_in_ = 49
    with pytest.raises(InputError, match="have different sizes"):
        opelda.save(model, tmp_path / "model.opelda")
    assert list(tmp_path.iterdir()) == []


@cases(
    ("options", "message"),
    [
        ({"engine": "reference", "n_jobs": 0}, "n_jobs must be"),
        ({"engine": CPUEngine}, "engine must be a name or an engine"),
        ({"engine": OnlineOPE(2)}, "engine must be a name or an engine"),
        ({"engine": None}, "engine must be a name or an engine"),
        ({"engine": "abacus"}, "Unknown engine 'abacus'"),
    ],
)
def test_bad_engines_are_rejected(options, message):
    with pytest.raises(OpeldaError, match=message):
        OnlineOPE(2, **options).fit(X)
