"""Streams of every source, killed at random: each document once, identical bytes."""

import gzip
import json
import os
import random
import shutil
import threading
import time

import polars as pl
import pytest

import opelda
from opelda.learning.persistence._model_arrays import as_parts
from opelda.learning.persistence._stored_model import CHECKPOINT_FILE as FILE
from tests.cli.forking import KILLED, Server

N_DOCS = 1000
TEXTS = [f"d{i} a{i % 7} b{i % 5} a{i % 3}" for i in range(N_DOCS)]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork and SIGKILL")


@pytest.fixture(scope="module")
def server():
    with Server() as server:
        yield server


def written(texts):
    return "".join(text + "\n" for text in texts)


def several(folder):
    for number, first in enumerate(range(0, N_DOCS, 170)):
        (folder / f"{number}.txt").write_text(written(TEXTS[first : first + 170]))


def nested(folder):
    for number, text in enumerate(TEXTS):
        path = folder / "log" / f"{number // 100}" / f"{number:04}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def plain(folder):
    (folder / "log").write_text(written(TEXTS))


STILL = {
    "a file": plain,
    "a compressed file": lambda folder: (folder / "log.gz").write_bytes(
        gzip.compress(written(TEXTS).encode())
    ),
    "a Parquet file": lambda folder: pl.DataFrame({"text": TEXTS}).write_parquet(
        folder / "log.parquet"
    ),
    "several files": several,
    "a folder": nested,
    "a pipe": plain,
    "an iterable": plain,
    "a column or a matrix": plain,
}


class Log(threading.Thread):
    """Writes a log and rotates it randomly, while its reader is killed."""

    def __init__(self, folder, chance, checkpoint):
        super().__init__()
        self.path, self.chance, self.n_rotated = folder / "log", chance, 0
        self.checkpoint = checkpoint  # without a checkpoint the position is unknown
        self.path.touch()

    def run(self):
        first = 0
        while first < N_DOCS:
            after = min(first + self.chance.randint(1, 120), N_DOCS)
            with self.path.open("a") as file:
                file.write(written(TEXTS[first:after]))
            first = after
            time.sleep(self.chance.random() * 0.1)
            if self.chance.random() < 0.4 and self.checkpoint.exists():
                self.rotate()

    def rotate(self):
        self.n_rotated += 1
        aside = self.path.with_name(f"log-{self.n_rotated:04}")
        if self.chance.random() < 0.5:
            self.path.rename(aside)
            time.sleep(self.chance.random() * 0.01)
            self.path.touch()
        else:
            shutil.copy(self.path, aside)
            os.truncate(self.path, 0)


class Incoming(threading.Thread):
    """Adds files to nested folders, in the order of their names."""

    def __init__(self, folder, chance, checkpoint):
        super().__init__()
        self.folder, self.chance = folder / "log", chance
        self.folder.mkdir()

    def run(self):
        for number, first in enumerate(range(0, N_DOCS, 70)):
            path = self.folder / f"{number // 5}" / f"{number:03}.jsonl"
            path.parent.mkdir(exist_ok=True)
            texts = TEXTS[first : first + 70]
            hidden = path.with_name(f".{path.name}")
            hidden.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
            hidden.rename(path)
            time.sleep(self.chance.random() * 0.1)


MOVING = {"a followed file": Log, "a followed folder": Incoming}


def check(path):
    """Check that every document was learned once; return the parts of the model."""
    model = opelda.load(path)
    assert model.n_docs_seen_ == N_DOCS
    words = model.vocabulary_
    frequency = dict(zip(words, words.document_frequency.tolist(), strict=True))
    assert {frequency.get(f"d{i}") for i in range(N_DOCS)} == {1}
    arrays, header = as_parts(model)
    return {name: array.tobytes() for name, array in arrays.items()}, header


def killed_again_and_again(server, row, tmp_path, n_kills, chance, duration):
    """Yield the checkpoint of each stream that was killed several times and then finished."""
    n_killed = number = 0
    while n_killed < n_kills:
        number += 1
        folder, status = tmp_path / f"source {number}", KILLED
        writer = None
        if row in MOVING:
            folder.mkdir()
            seed = random.Random(chance.random())
            writer = MOVING[row](folder, seed, tmp_path / f"state {number}" / FILE)
            writer.start()
        else:
            folder = tmp_path / "source"
        request = {"row": row, "folder": str(folder), "n_docs": N_DOCS}
        request |= {"checkpoint": str(tmp_path / f"state {number}")}
        left = min(chance.randint(1, 8), n_kills - n_killed)
        while status == KILLED:
            kill_after = chance.uniform(0, duration) if left > 0 else None
            status, seconds, _ = server.run(kill_after, **request, every=chance.randint(1, 3))
            n_killed += status == KILLED
            left -= 1
        if row in STILL:  # most runs are killed, even if the first run was slow
            duration = min(duration, seconds)
        if writer is not None:
            writer.join()
        assert status == 0
        yield tmp_path / f"state {number}" / FILE
    print(f"{row}: {n_killed} kills in {number} streams")


@pytest.mark.parametrize("n_kills", [1, pytest.param(50, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("row", [*STILL, *MOVING])
def test_randomly_killed_stream_resumes_with_the_identical_model(server, row, tmp_path, n_kills):
    chance = random.Random(f"{row} {n_kills}")
    (tmp_path / "source").mkdir()
    STILL.get(row, plain)(tmp_path / "source")
    request = {"folder": str(tmp_path / "source"), "every": 2, "n_docs": N_DOCS}
    request["row"] = row if row in STILL else "a file"
    status, duration, _ = server.run(**request, checkpoint=str(tmp_path / "whole"))
    assert status == 0
    whole = check(tmp_path / "whole" / FILE)
    for path in killed_again_and_again(server, row, tmp_path, n_kills, chance, duration):
        assert check(path) == whole
        if row in STILL:  # including the position
            assert path.read_bytes() == (tmp_path / "whole" / FILE).read_bytes()
