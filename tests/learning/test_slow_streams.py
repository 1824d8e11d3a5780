"""Slow streams: received documents are learned and committed without waiting for more."""

import os
import threading

import pytest

import opelda
from opelda import OnlineOPE, TopicModel
from opelda.corpus import stream
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE
from tests.cases import cases

TEXTS = [f"{a} {b} {c}" for a in ("tea", "cup", "pot") for b in "opqr" for c in "abcdef"]
SECONDS = 60  # then the source ends, and a test that waits for something fails


def seen(folder):
    """Return how many documents the checkpoint has learned from."""
    return opelda.load(folder).n_docs_seen_ if (folder / FILE).exists() else 0


class Slow:
    """Lines through a pipe, some at a time, each as soon as those before are in the checkpoint."""

    def __init__(self, folder, parts):
        read, write = os.pipe()
        self.source = os.fdopen(read, "rb", buffering=0)
        self.sink = os.fdopen(write, "w")
        self.folder, self.parts = folder, list(parts)
        self.n_written, self.missed = 0, False
        self.patience = threading.Timer(SECONDS, self.miss)
        self.patience.start()

    def miss(self):
        self.missed = True
        self.sink.close()

    def __call__(self, report=None):
        """Be called now and then; end the source when all that it gave is committed, or never."""
        if self.sink.closed or seen(self.folder) < self.n_written:
            return
        if not self.parts:
            self.patience.cancel()
            self.sink.close()
            return
        part = self.parts.pop(0)
        self.sink.write("".join(text + "\n" for text in part))
        self.sink.flush()
        self.n_written += len(part)


class Watched:
    """A stream that calls something whenever it waits."""

    def __init__(self, stream, called):
        self._stream, self._called = stream, called

    def __getattr__(self, name):
        return getattr(self._stream, name)

    def wait_at_most(self, seconds, meanwhile):
        self._stream.wait_at_most(seconds, lambda: (meanwhile(), self._called()))

    def batches(self, vocabulary=None, n_words=None):
        return self._stream.batches(vocabulary, n_words)


@pytest.mark.parametrize("learner", [TopicModel, OnlineOPE])
@pytest.mark.parametrize("sizes", [(7, 1, 5), (30, 3), (21, 20)])
def test_pending_documents_are_committed_while_idle(tmp_path, learner, sizes):
    """Documents below a batch, and full batches that came soon after a checkpoint."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    parts = [TEXTS[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    slow = Slow(tmp_path, parts)
    with slow.source:
        opened = Watched(stream(slow.source, batch_size=10, format="lines"), slow)
        slow()
        model = learner(2, random_state=0).fit_stream(opened, checkpoint=tmp_path, every="0.3s")
    assert not slow.missed
    assert model.n_docs_seen_ == seen(tmp_path) == sum(sizes)


def test_idle_stream_commits_once(tmp_path, monkeypatch):
    commits, waited, commit = [], [], Checkpoint.commit
    monkeypatch.setattr(Checkpoint, "commit", lambda *given: commits.append(commit(*given)))
    slow = Slow(tmp_path, [TEXTS[:7]])

    def called():
        waited.append(seen(tmp_path))
        if waited.count(7) == 10:  # a second
            slow()

    with slow.source:
        opened = Watched(stream(slow.source, batch_size=10, format="lines"), called)
        slow()
        OnlineOPE(2).fit_stream(opened, checkpoint=tmp_path, every="0.05s")
    assert not slow.missed
    assert len(commits) == 2  # after the update, and at the end


def test_updates_alone_close_no_batch(tmp_path):
    """With checkpoints every N updates, learning does not depend on time."""
    slow = Slow(tmp_path, [TEXTS[:25]])
    slow()
    slow.patience.cancel()
    slow.sink.close()
    with slow.source:
        opened = stream(slow.source, batch_size=10, format="lines")
        opened.wait_at_most = None
        model = OnlineOPE(2).fit_stream(opened, checkpoint=tmp_path, every=2)
    assert model.n_batch_iter_ == 3


@cases("documents", [TEXTS, [text.split() for text in TEXTS], iter(TEXTS)])
def test_default_number_of_columns_is_bounded(documents):
    assert OnlineOPE(2).fit_stream(documents).vocabulary_.max_features == 100_000
    assert stream(TEXTS).vocabulary.max_features == 100_000
    assert stream(TEXTS, max_features=None).vocabulary.max_features is None


def test_columns_are_reused_beyond_the_bound(monkeypatch):
    monkeypatch.setattr("opelda.corpus._stream.MAX_FEATURES", 12)
    texts = ([f"word{i}", f"word{i + 1}"] for i in range(300))
    model = OnlineOPE(2, batch_size=10).fit_stream(texts)
    assert model.n_features_in_ == len(model.vocabulary_) == 12
    assert "word295" in model.vocabulary_
    assert "word0" not in model.vocabulary_
