"""Topic quality recorded by `fit` and streams: coherence and a learning curve."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda import OnlineOPE, StreamingOPE, TopicModel, _store
from opelda.corpus import Corpus, generate
from opelda.engines import ReferenceEngine
from opelda.errors import ModelFileError
from opelda.learning import _curve, _learner
from opelda.learning._curve import BEFORE, LEARNED_FROM, VALIDATION, Curve, Sample
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import FORMAT, KIND, checksum
from opelda.learning.streaming._watch import Watch
from opelda.metrics import coherence as npmi


def collection(seed):
    return generate(900, n_words=120, n_topics=4, n_tokens=30, separated=True, random_state=seed).X


X = collection(0)
KEYS = ReferenceEngine().documents(X).keys


def made(cls=OnlineOPE, **options):
    return cls(**{"n_components": 4, "batch_size": 100, "random_state": 0, "n_jobs": 1} | options)


@pytest.fixture
def frequent_scores(monkeypatch):
    """Score at the rate of large collections."""
    monkeypatch.setattr(_curve, "VIEWS_PER_SCORE", 100)


# coherence


@pytest.mark.parametrize("options", [{}, {"cls": TopicModel}, {"n_passes": 3}])
def test_coherence_is_npmi_of_the_training_documents(options, tmp_path):
    model = made(**options).fit(X)
    np.testing.assert_array_equal(model.coherence_, npmi(model, X, n_words=10))
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert loaded.coherence_.tobytes() == model.coherence_.tobytes()
    assert loaded.partial_fit(X[:100]).coherence_ is None  # of topics that are others now
    assert made().fit_stream([X[:300], X[300:]]).coherence_ is None
    assert made().partial_fit(X).coherence_ is None


def test_coherence_of_a_stopped_fit_is_of_its_topics():
    model = made(TopicModel, callbacks=lambda report: report.n_updates == 3).fit(X)
    np.testing.assert_array_equal(model.coherence_, npmi(model, X))
    for_sweeps = made(TopicModel, callbacks=lambda report: report.n_pass == report.n_passes - 50)
    np.testing.assert_array_equal(for_sweeps.fit(X).coherence_, npmi(for_sweeps, X))


def test_coherence_of_one_word_and_no_words():
    assert made(n_components=2).fit(np.ones((5, 3))).coherence_.tolist() == [1.0, 1.0]
    assert made(n_components=2).fit(np.ones((5, 1))).coherence_ is None
    assert made(n_components=2).fit(np.zeros((5, 3))).coherence_.tolist() == [-1.0, -1.0]


def test_coherence_of_a_single_pass_uses_a_sample(monkeypatch):
    monkeypatch.setattr(_learner, "LEAST_COUNTED", 90)
    for n_passes, n in ((1, 225), (3, 675), (4, 900)):
        model = made(n_passes=n_passes).fit(X)
        part = X[np.argsort(KEYS)[:n]]
        np.testing.assert_array_equal(model.coherence_, npmi(model, part))
    monkeypatch.setattr(_learner, "LEAST_COUNTED", 500)
    model = made().fit(X)
    part = X[np.argsort(KEYS)[:500]]
    np.testing.assert_array_equal(model.coherence_, npmi(model, part))


# the learning curve


@given(st.integers(1, 700))
def test_curve_is_bounded_and_keeps_the_last_score(n):
    curve = Curve(VALIDATION)
    for number in range(n):
        curve = curve.added(10 * number, -float(number))
    numbers = [n_docs // 10 for n_docs, _ in curve.points]
    assert [-score for _, score in curve.points] == numbers
    assert numbers[0] == 0
    assert numbers[-1] == n - 1
    assert len(numbers) <= _curve.MOST_POINTS + 1
    assert len(numbers) >= min(n, _curve.MOST_POINTS // 2)
    steps = set(np.diff(numbers[:-1]).tolist())
    assert len(steps) <= 1  # evenly
    again = Curve.from_arrays(*curve.to_arrays(), (1, 1))
    assert again == curve
    assert again.added(9999999, 0.0) == curve.added(9999999, 0.0)


@pytest.mark.usefixtures("frequent_scores")
def test_fit_scores_a_sample_of_documents():
    model = made(TopicModel, n_sweeps=20, n_passes=4).fit(X)
    assert model.learning_curve_of_ == LEARNED_FROM
    seen = [n_docs for n_docs, _ in model.learning_curve_]
    assert seen[-1] == model.n_docs_seen_ == 24 * 900
    assert [n_docs // 900 for n_docs in seen if n_docs >= 3600] == [4, 5, 6, 7, 9, 14, 24]
    assert len(seen) <= 11
    documents = X[np.argsort(KEYS)[:20]]
    assert model.learning_curve_[-1][1] == model.score(documents, n_splits=1)
    assert made(TopicModel, n_sweeps=20, n_passes=4).fit(X).learning_curve_ == model.learning_curve_


@pytest.mark.usefixtures("frequent_scores")
@pytest.mark.parametrize("seed", range(1))
def test_scores_end_near_the_best(seed):
    model = made(TopicModel, n_sweeps=20, n_passes=4, random_state=seed).fit(collection(seed))
    scores = [score for _, score in model.learning_curve_]
    assert scores[-1] > max(scores) - 0.2


@pytest.mark.usefixtures("frequent_scores")
@pytest.mark.parametrize("options", [{}, {"cls": TopicModel, "n_sweeps": 5}, {"n_passes": 7}])
def test_scoring_changes_nothing_and_ignores_threads(monkeypatch, tmp_path, options):
    files = set()
    for n_jobs in (1, 2, 3):
        opelda.save(made(**options, n_jobs=n_jobs).fit(X), tmp_path / "m")
        files.add((tmp_path / "m").read_bytes())
    assert len(files) == 1
    topics = opelda.load(tmp_path / "m").components_
    assert opelda.load(tmp_path / "m").learning_curve_
    monkeypatch.setattr(_curve, "VIEWS_PER_SCORE", 10**12)
    plain = made(**options).fit(X)
    assert plain.learning_curve_ == []
    assert plain.learning_curve_of_ == ""
    np.testing.assert_array_equal(plain.components_, topics)


def test_small_collection_is_scored_rarely_and_an_empty_one_never():
    assert made().fit(X).learning_curve_ == []
    assert len(made(TopicModel, n_sweeps=48).fit(X).learning_curve_) == 2  # 50 x 900 views
    assert made(TopicModel, n_sweeps=30).fit(X * 0).learning_curve_ == []
    counts = np.zeros((900, 120))
    counts[:, 0] = 1  # one-token documents cannot be split
    assert made(TopicModel, n_sweeps=30).fit(counts).learning_curve_ == []


def test_scored_documents_are_a_small_share_of_all_views():
    for n_docs, n_passes, n_sweeps in ((500, 20, 80), (5000, 20, 80), (60_000, 2, 0), (900, 5, 0)):
        documents = ReferenceEngine().documents(X[np.arange(n_docs) % 900])
        sample = Sample(documents, 100, n_passes, n_sweeps)
        steps = n_passes * -(-n_docs // 100) + n_sweeps
        n_scores = sum(sample.is_due() for _ in range(steps))
        scored = n_scores * (250 + 7 * sample.documents.shape[0]) if n_scores else 0
        assert scored <= 0.03 * n_docs * (n_passes + n_sweeps)


def test_validation_makes_the_curve_with_or_without_callbacks():
    curves = []
    for callbacks in (None, lambda report: None):
        model = made(callbacks=callbacks, n_passes=3)
        model.fit(X[100:], validation=X[:100], validate_every=4)
        assert model.learning_curve_of_ == VALIDATION
        assert [n_docs for n_docs, _ in model.learning_curve_] == [400, 800, 1200, 1600, 2000, 2400]
        assert model.learning_curve_[-1][1] == model.score(X[:100], n_splits=1)
        curves.append(model.learning_curve_)
    assert curves[0] == curves[1]


@pytest.mark.parametrize("seed", range(1))
def test_streams_record_automatic_and_requested_scores(seed):
    X = collection(seed)
    source = [X[first : first + 100] for first in range(0, 900, 100)] * 5
    plain = made(StreamingOPE).fit_stream(source)
    assert plain.learning_curve_ == []
    noticed = []

    def look(report):
        watch = report.model._state.watch
        if watch.n_blocks > len(noticed):
            noticed.append((report.model.n_docs_seen_, watch.block_score))

    swept = made(TopicModel, n_sweeps=3, callbacks=look, random_state=seed)
    swept.fit_stream(source * 2)
    assert swept.learning_curve_of_ == BEFORE
    assert swept.learning_curve_ == noticed
    assert len(noticed) >= 3
    # within half a nat of the same topics under another held-out split
    assert abs(noticed[-1][1] - swept.score(X)) < 0.5
    swept.set_params(callbacks=None)
    asked = made(StreamingOPE).fit_stream(source, validation=X[:50], validate_every=20)
    assert asked.learning_curve_of_ == VALIDATION
    assert [n_docs for n_docs, _ in asked.learning_curve_] == [2000, 4000]
    # another kind restarts the curve, the same kind continues
    asked.fit_stream(source, validation=X[:50], validate_every=45)
    assert [n_docs for n_docs, _ in asked.learning_curve_] == [2000, 4000, 9000]
    swept.fit_stream(source, validation=X[:50], validate_every=45)
    assert swept.learning_curve_of_ == VALIDATION
    assert [n_docs for n_docs, _ in swept.learning_curve_] == [13500]


def test_settling_keeps_the_current_block():
    watch = replace(Watch.of(4, 120), block_score=-7.0, n_blocks=1)
    assert watch.restarted(is_settled=True).block_score == -7.0


def test_resumed_stream_has_the_uninterrupted_curve(tmp_path):
    source = [X[first : first + 100] for first in range(0, 900, 100)] * 5
    whole = made(TopicModel, n_sweeps=3).fit_stream(source, checkpoint=tmp_path / "a", every=1)
    part = made(TopicModel, n_sweeps=3, callbacks=lambda report: report.n_updates == 20)
    part.fit_stream(source, checkpoint=tmp_path / "b", every=1)
    rest = made(TopicModel, n_sweeps=3).fit_stream(source, checkpoint=tmp_path / "b", every=1)
    assert rest.learning_curve_ == whole.learning_curve_ != []
    files = [(tmp_path / name / "checkpoint.opelda").read_bytes() for name in "ab"]
    assert files[0] == files[1]


def curved():
    model = made(n_passes=3).fit(X, validation=X[:100], validate_every=4)
    return as_parts(model)


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"of": "friends"}, {}),
        ({"of": 1}, {}),
        ({"n": 0}, {}),
        ({"n": 5}, {}),
        ({"n": 10**9}, {}),
        ({"n": "6"}, {}),
        ([], {}),
        (None, {}),
        ({}, {"documents": np.arange(5)}),
        ({}, {"documents": np.arange(6)[::-1].copy()}),
        ({}, {"documents": np.arange(6) - 1}),
        ({}, {"documents": np.arange(6.0)}),
        ({}, {"scores": np.full(6, np.nan)}),
        ({}, {"scores": np.full(6, -np.inf)}),
        ({}, {"scores": np.zeros(6, np.float32)}),
        ({}, {"scores": np.zeros((6, 1))}),
    ],
    ids=str,
)
def test_bad_curves_in_a_file_are_rejected(tmp_path, header, arrays):
    parts, said = curved()
    assert said["curve"] == {"of": VALIDATION, "n": 6}
    said["curve"] = said["curve"] | header if isinstance(header, dict) else header
    parts |= {f"curve.{name}": array for name, array in arrays.items()}
    said["checksum"] = checksum(parts, said)
    _store.write(tmp_path / "m", parts, said, kind=KIND, version=FORMAT)
    with pytest.raises(ModelFileError, match="is not a model this version can use"):
        opelda.load(tmp_path / "m")


def test_file_without_coherence_and_curve_loads(tmp_path):
    parts, said = curved()
    parts = {name: part for name, part in parts.items() if not name.startswith("c")}
    del said["curve"]
    said["checksum"] = checksum(parts, said)
    _store.write(tmp_path / "m", parts, said, kind=KIND, version=FORMAT)
    loaded = opelda.load(tmp_path / "m")
    assert loaded.coherence_ is None
    assert loaded.learning_curve_ == []
    assert loaded.learning_curve_of_ == ""
    assert isinstance(loaded.fit(Corpus(X)).coherence_, np.ndarray)
