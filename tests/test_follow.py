"""Readers of a model that is replaced while they look: they see whole models, and the newest."""

import os
import shutil
import threading
import time

import pytest

import opelda
from opelda import OnlineOPE
from opelda.corpus import generate
from opelda.errors import InputError, ModelFileError
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE
from tests.cases import cases

X = generate(60, n_words=40, n_topics=3).X


def model(n_docs):
    return OnlineOPE(3, random_state=0).fit(X[:n_docs])


MODELS = [model(n_docs) for n_docs in (10, 20, 30, 40)]


def streamed(folder, n_docs):
    batches = (X[at : at + 10] for at in range(0, n_docs, 10))
    return OnlineOPE(3, random_state=0).fit_stream(batches, checkpoint=folder)


def checksums(models):
    return [as_parts(one)[1]["checksum"] for one in models]


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_checkpoint_folder_loads_like_its_file():
    made = streamed("live", 50)
    whole, file = opelda.load("live"), opelda.load(os.path.join("live", FILE))
    assert checksums([whole]) == checksums([file]) == checksums([made])
    os.mkdir("empty")
    with pytest.raises(ModelFileError, match=r"^empty is a folder without a checkpoint; pass"):
        opelda.load("empty")


def test_concurrent_readers_see_whole_models_only():
    """Each model is read as saved; a mixture of two would fail both checksums."""
    large = [OnlineOPE(4, random_state=seed).fit(X) for seed in range(2)]
    opelda.save(large[0], "model")
    allowed, done = set(checksums(large)), threading.Event()

    def write():
        for number in range(100):
            opelda.save(large[number % 2], "model")
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    try:
        while not done.is_set():
            seen.update(checksums([opelda.load("model")]))
    finally:
        writer.join()
    assert seen <= allowed


def test_requested_versions_come_once_and_superseded_ones_never():
    opelda.save(MODELS[0], "model")
    found = opelda.follow("model", poll=0.001, timeout=0)
    assert checksums([next(found)]) == checksums(MODELS[:1])
    opelda.save(MODELS[1], "model")
    opelda.save(MODELS[2], "model")
    assert checksums([next(found)]) == checksums(MODELS[2:3])
    opelda.save(MODELS[2], "model")  # an unchanged file is not new
    assert list(found) == []


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_missing_file_is_awaited(kind):
    path = "place/live"
    assert list(opelda.follow(path, timeout=0)) == []

    def write():
        time.sleep(0.05)
        os.mkdir("place")
        if kind == "file":
            opelda.save(MODELS[0], path)
        else:
            streamed(path, 30)

    writer = threading.Thread(target=write)
    writer.start()
    first = next(opelda.follow(path, poll=0.001))
    writer.join()
    assert first.n_docs_seen_ in ((10,) if kind == "file" else (10, 20, 30))
    shutil.rmtree("place")
    assert list(opelda.follow(path, timeout=0)) == []


def test_follower_ends_with_the_last_model():
    writer = threading.Thread(target=streamed, args=("live", 60))
    writer.start()
    docs = []
    for newest in opelda.follow("live", poll=0.001):
        docs.append(newest.n_docs_seen_)
        if docs[-1] == 60:
            break
    writer.join()
    assert docs == sorted(set(docs))


def test_incomplete_file_is_skipped_and_damaged_file_rejected(monkeypatch):
    opelda.save(MODELS[0], "source")
    with open("source", "rb") as file:
        content = file.read()
    with open("model", "wb") as file:
        file.write(content[:-100])
    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", lambda seconds: opelda.save(MODELS[1], "model"))
        first = next(opelda.follow("model"))
    assert checksums([first]) == checksums(MODELS[1:2])
    with open("model", "wb") as file:
        file.write(content[:-100])
    with pytest.raises(ModelFileError, match="corrupted"):
        list(opelda.follow("model", poll=0.001))


@cases("wrong", [{"poll": 0}, {"poll": "1"}, {"timeout": -1}])
def test_bad_times_are_rejected_at_once(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        opelda.follow("model", **wrong)
    with pytest.raises(InputError, match="path"):
        opelda.follow(3)
