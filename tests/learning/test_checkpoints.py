"""Checkpoints of streams: a stopped run resumes and ends with identical bytes."""

import os

import numpy as np
import pytest

import opelda
from opelda import MLOPE, OnlineOPE, OnlineVB, StreamingOPE, TopicModel
from opelda.corpus import Vocabulary, generate, generate_stream
from opelda.errors import InputError, ModelFileError
from opelda.inference import OPE, VB
from opelda.learning.persistence._model_arrays import as_parts
from tests.cases import cases

X = generate(40, n_words=20, n_topics=3, n_tokens=15).X
MATRICES = [X[at : at + 4] for at in range(0, 40, 4)]
STREAM = list(generate_stream(80, batch_size=8, n_words=20, n_topics=3, new_words_per_batch=5))
DOCUMENTS = [document for batch in STREAM for document in batch]
FILE = "checkpoint.opelda"


def made(cls=OnlineOPE, **parameters):
    return cls(**{"n_components": 3, "batch_size": 8, "random_state": 0} | parameters)


def words():
    return Vocabulary(growing=True, max_features=25)


class StoppedError(Exception):
    """The source gave up."""


class Seekable:
    """A seekable source whose position is not a plain number; it counts its reads."""

    def __init__(self, items, stop=None):
        self.items, self.stop, self.at, self.n_read = items, stop, 0, 0

    @property
    def position(self):
        return {"at": self.at}

    def seek(self, position):
        self.at = position["at"]

    def __iter__(self):
        while self.at < len(self.items):
            if self.at == self.stop:
                raise StoppedError
            self.at += 1
            self.n_read += 1
            yield self.items[self.at - 1]


def plain(items, stop):
    return iter(Seekable(items, stop))


class Again:
    """A source that can be gone through again, and knows no place."""

    def __init__(self, items, stop=None):
        self.items, self.stop = items, stop

    def __iter__(self):
        return plain(self.items, self.stop)


def run(folder, items, stops, kind=plain, every=1, cls=OnlineOPE, vocabulary=None):
    """Resume run after run, each stopped after `n` items; return the last model's bytes."""
    for n_items in [*stops, len(items)]:
        model = made(cls)
        source = kind(items, n_items)
        try:
            model.fit_stream(source, vocabulary=vocabulary, checkpoint=folder, every=every)
        except StoppedError:
            assert n_items < len(items)
    assert set(os.listdir(folder)) - {".times"} == {".lock", FILE}
    return (folder / FILE).read_bytes()


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("kind", [plain, Again, Seekable])
@pytest.mark.parametrize("items", [MATRICES, STREAM, DOCUMENTS], ids=["matrices", "lists", "docs"])
def test_run_stopped_after_any_item_resumes_with_identical_bytes(tmp_path, items, kind, every):
    vocabulary = None if items is MATRICES else words()
    whole = run(tmp_path / "whole", items, [], kind, 4, vocabulary=vocabulary)
    for stop in range(0, len(items), 1 if len(items) < 20 else 7):
        stops = [stop // 2, stop, stop]  # also twice in a row, and without having got any further
        stopped = run(tmp_path / str(stop), items, stops, kind, every, vocabulary=vocabulary)
        if kind is plain and items is DOCUMENTS:  # those below a batch were learned when it failed
            assert opelda.load(tmp_path / str(stop) / FILE).n_docs_seen_ == len(items)
        else:
            assert stopped == whole
    loaded = opelda.load(tmp_path / "whole" / FILE)
    model = made().fit_stream(items, vocabulary=vocabulary)
    assert as_parts(loaded)[1] == as_parts(model)[1]  # with a checksum of the arrays
    assert loaded.components_.tobytes() == model.components_.tobytes()
    assert vocabulary is None or loaded.vocabulary_ == model.vocabulary_


@pytest.mark.parametrize("cls", [MLOPE, StreamingOPE, OnlineVB, TopicModel])
def test_every_rule_can_be_interrupted(tmp_path, cls):
    whole = run(tmp_path / "whole", STREAM, [], cls=cls, vocabulary=words())
    stopped = run(tmp_path / "stopped", STREAM, [2, 3, 7], every=2, cls=cls, vocabulary=words())
    assert stopped == whole


def test_seekable_source_is_not_reread(tmp_path):
    run(tmp_path, MATRICES[:7], [])
    with pytest.raises(ModelFileError, match="source that cannot seek"):
        made().fit_stream(Seekable(MATRICES), checkpoint=tmp_path)
    (tmp_path / FILE).unlink()
    made().fit_stream(Seekable(MATRICES[:7]), checkpoint=tmp_path)
    source = Seekable(MATRICES)
    made().fit_stream(source, checkpoint=tmp_path)
    assert source.n_read == 3
    with pytest.raises(ModelFileError, match="source that can seek"):
        made().fit_stream(MATRICES, checkpoint=tmp_path)
    for odd in ((1, 2), {1: 2}, float("nan"), {3}):
        source = type("Odd", (Seekable,), {"position": odd})(MATRICES)
        with pytest.raises(InputError, match=r"position .* cannot be written as JSON"):
            made().fit_stream(source, checkpoint=tmp_path / "odd")
        assert os.listdir(tmp_path / "odd") == [".lock"]


def test_finished_stream_is_not_repeated_and_a_longer_one_resumes(tmp_path):
    whole = run(tmp_path, STREAM, [], vocabulary=words())
    model = made().fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path)
    assert (tmp_path / FILE).read_bytes() == whole
    assert model.n_batch_iter_ == len(STREAM)
    model.fit_stream(STREAM, checkpoint=tmp_path)
    assert (tmp_path / FILE).read_bytes() == whole
    longer = made().fit_stream(STREAM * 2, vocabulary=words(), checkpoint=tmp_path)
    assert longer.n_batch_iter_ == 2 * len(STREAM)
    shorter = made().fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path)
    assert shorter.n_batch_iter_ == 2 * len(STREAM)
    other = [STREAM[i] for i in (3, 1, 4)]
    other = made().fit_stream(other, vocabulary=words(), checkpoint=tmp_path)
    assert other.n_batch_iter_ == 2 * len(STREAM) + 3


def test_documents_before_a_source_error_are_learned(tmp_path):
    with pytest.raises(StoppedError):
        made().fit_stream(plain(DOCUMENTS, 21), checkpoint=tmp_path, every=100)
    assert opelda.load(tmp_path / FILE).n_docs_seen_ == 21
    model = made().fit_stream(iter(DOCUMENTS[21:]), checkpoint=tmp_path)
    assert model.n_docs_seen_ == len(DOCUMENTS)


def test_stopping_callback_leaves_a_resumable_checkpoint(tmp_path):
    whole = run(tmp_path / "whole", STREAM, [], vocabulary=words())
    model = made(callbacks=lambda report: report.n_updates % 4 == 0)
    for _ in range(3):
        model.fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path / "some", every=100)
    assert (tmp_path / "some" / FILE).read_bytes() == whole


OTHER = {
    "n_components": 4,
    "batch_size": 9,
    "learning_decay": 0.6,
    "population": 50.0,
    "random_state": 1,
    "doc_topic_prior": [0.1, 0.2, 0.31],
    "topic_word_prior": np.full(20, 0.11),
}


@cases("name", OTHER)
def test_changed_parameters_are_rejected_by_name(tmp_path, name):
    usual = {"doc_topic_prior": [0.1, 0.2, 0.3], "topic_word_prior": np.full(20, 0.1)}
    made(**usual).fit_stream(MATRICES[:5], checkpoint=tmp_path)
    before = (tmp_path / FILE).read_bytes()
    model = made(**usual | {name: OTHER[name]})
    with pytest.raises(ModelFileError, match=f"{name}.* choose another folder"):
        model.fit_stream(MATRICES, checkpoint=tmp_path)
    assert not hasattr(model, "_state")
    for value in (None, 0.3):  # an array is not a number either
        if name in usual:
            with pytest.raises(ModelFileError, match=name):
                made(**usual | {name: value}).fit_stream(MATRICES, checkpoint=tmp_path)
    assert (tmp_path / FILE).read_bytes() == before
    made(**usual, n_jobs=2, n_passes=2).fit_stream(MATRICES, checkpoint=tmp_path)


def test_checkpoint_of_another_learner_method_or_vocabulary_is_rejected(tmp_path):
    made(TopicModel).fit_stream(STREAM[:3], vocabulary=words(), checkpoint=tmp_path)
    with pytest.raises(ModelFileError, match="made by TopicModel, but this learner is OnlineOPE"):
        made().fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path)
    for method in (OPE(), "vb"):
        with pytest.raises(ModelFileError, match="inference=None"):
            made(TopicModel, inference=method).fit_stream(STREAM, checkpoint=tmp_path)
    larger = Vocabulary(growing=True, max_features=26)
    with pytest.raises(InputError, match="max_features=25"):
        made(TopicModel).fit_stream(STREAM, vocabulary=larger, checkpoint=tmp_path)


def test_unsavable_parameters_are_rejected_before_learning(tmp_path):
    class Mine(VB):
        pass

    model = made(TopicModel, inference=Mine())
    with pytest.raises(InputError, match="Mine"):
        model.fit_stream(MATRICES, checkpoint=tmp_path)
    assert not hasattr(model, "_state")


def test_missing_seed_is_taken_from_the_checkpoint(tmp_path):
    first = made(random_state=None).fit_stream(MATRICES[:4], checkpoint=tmp_path)
    for state in (None, np.random.RandomState(7), 5):
        model = made(random_state=state).fit_stream(MATRICES[:4], checkpoint=tmp_path)
        assert model._state.seed == first._state.seed
    on = made(random_state=None).fit_stream(MATRICES, checkpoint=tmp_path)
    whole = first.fit_stream(MATRICES[4:])
    assert on.components_.tobytes() == whole.components_.tobytes()


def test_n_jobs_may_change_between_runs(tmp_path):
    run(tmp_path / "one", STREAM, [], vocabulary=words())
    made(n_jobs=2).fit_stream(STREAM[:4], vocabulary=words(), checkpoint=tmp_path / "two")
    made(n_jobs=3).fit_stream(STREAM, vocabulary=words(), checkpoint=tmp_path / "two")
    one, two = (opelda.load(tmp_path / name / FILE) for name in ("one", "two"))
    assert one.components_.tobytes() == two.components_.tobytes()
