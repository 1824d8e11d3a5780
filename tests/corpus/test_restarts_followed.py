"""Restarts of followed files and folders: rows of the table in docs/streams.md."""

import os
import shutil
from itertools import islice

import pytest

from opelda.corpus.sources import _followed
from tests.corpus.restarts import Clock, Learner, Rows, lines

row = Rows()


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_followed, "time", clock)
    return clock


@row("a followed file: the same")
def _(learner, clock):
    learner.write(0, 95)
    learner.learn(islice(learner.follow(), 3))
    clock.after(1, lambda: learner.write(95, 120, mode="a"))
    learner.learn(islice(learner.follow(), 9)).has(range(120))


@row("a followed file: rotated while it runs")
def _(learner, clock):
    old = learner.write(0, 15).open("a")
    batches = learner.follow()
    learner.learn(islice(batches, 1))
    learner.path.rename(learner.folder / "log.1")
    learner.write(35, 38)

    def late():  # the writer still has the old file open
        with old:
            old.write(lines(15, 35))

    clock.after(0.9, late)
    clock.after(5, lambda: learner.write(38, 70, mode="a"))
    learner.learn(islice(batches, 6)).has(range(70))


@row("a followed file: rotated while it does not run")
def _(learner, clock):
    learner.write(0, 25)
    learner.learn(islice(learner.follow(), 2))
    learner.path.rename(learner.folder / "log.1")
    learner.write(25, 60)
    learner.learn(islice(learner.follow(), 4)).has(range(60))


@row("a followed file: copied and truncated, at any time")
def _(learner, clock):
    learner.write(0, 25)
    batches = learner.follow()
    learner.learn(islice(batches, 2))
    shutil.copy(learner.path, learner.folder / "log.1")
    learner.write(25, 90)  # longer than at the previous poll
    learner.learn(islice(batches, 6))
    (learner.folder / "log.1").rename(learner.folder / "log.2")
    shutil.copy(learner.path, learner.folder / "log.1")
    learner.write(90, 180)
    learner.learn(islice(learner.follow(), 10)).has(range(180))


@row("a followed file: removed and made anew, at any time")
def _(learner, clock):
    learner.write(0, 25)
    batches = learner.follow()
    learner.learn(islice(batches, 2))
    learner.path.unlink()
    learner.write(25, 60)
    learner.learn(islice(batches, 4)).has(range(60))
    learner.path.unlink()
    learner.write(100, 300)  # the inode may be the same
    learner.learn(islice(learner.follow(), 20)).has(range(60), range(100, 300))


@row("a followed folder: the same, and more files")
def _(learner, clock):
    def follow(n_batches):
        learner.run(learner.folder, n_batches, follow=True, format="lines")

    learner.write(0, 15, "b")
    learner.write(15, 40, "inner/d")
    for path in ("b", "inner/d"):
        os.utime(learner.folder / path, (1, 1))
    follow(1)
    follow(1)
    (learner.folder / "b").unlink()
    os.utime(learner.write(40, 70, "a"), (1, 1))
    follow(5)
    learner.has(range(70))


def test_partly_read_file_of_a_folder_may_have_grown(tmp_path, clock):
    learner = Learner(tmp_path)
    for first, after, n_batches in ((0, 15, 1), (15, 40, 3)):
        os.utime(learner.write(first, after, "b", mode="a"), (after, after))
        learner.run(learner.folder, n_batches, follow=True, format="lines")
    learner.has(range(40))


def test_copied_and_truncated_files_shorter_than_a_batch(tmp_path, clock):
    """The file was truncated before any read, to a shorter or longer file."""
    learner = Learner(tmp_path)

    def rotate(number, first, after):
        shutil.copy(learner.path, tmp_path / f"log-{number}")
        os.utime(tmp_path / f"log-{number}", (4e9 + number, 4e9 + number))
        learner.write(first, after)

    learner.write(0, 7)
    clock.after(2, lambda: rotate(1, 7, 9))
    clock.after(4, lambda: rotate(2, 9, 18))
    clock.after(6, lambda: rotate(3, 18, 40))
    learner.learn(islice(learner.follow(), 4)).has(range(40))


FUTURE = (4e9, 4e9)  # access and modification time, in seconds since 1970


def test_files_with_future_timestamps_are_read(tmp_path, clock):
    """In a folder, and in a rotated file; a file that still grows is read later."""
    learner = Learner(tmp_path)
    os.utime(learner.write(0, 15, "in/a"), FUTURE)
    clock.after(0.8, lambda: os.utime(learner.write(15, 20, "in/a", mode="a"), FUTURE))
    learner.run(tmp_path / "in", 2, follow=True, format="lines").has(range(20))
    learner = Learner(tmp_path / "logs")
    learner.write(0, 15)
    learner.learn(islice(learner.follow(), 1))
    learner.path.rename(tmp_path / "logs" / "log.1")
    os.utime(tmp_path / "logs" / "log.1", FUTURE)
    learner.write(15, 20)
    learner.learn(islice(learner.follow(), 1)).has(range(20))


@pytest.mark.parametrize("name", row)
def test_restart(name, tmp_path, clock):
    row[name](Learner(tmp_path), clock)
