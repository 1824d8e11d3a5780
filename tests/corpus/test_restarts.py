"""Restarts of files and folders: each row of the table in docs/streams.md has a test."""

import gzip
import os
import re
import shutil
import threading
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest

from opelda.corpus.sources import _files
from tests.corpus.restarts import Learner, Rows, lines

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"
row = Rows()


@row("a file: the same")
def _(learner):
    learner.write(0, 95)
    for _ in range(4):
        learner.run(n_batches=2)
    learner.run().has(range(95))


@row("a file: it has grown")
def _(learner):
    learner.write(0, 50)
    learner.run()
    learner.write(50, 95, mode="a")
    learner.run().has(range(95))


@row("a file: renamed, or moved")
def _(learner):
    learner.write(0, 95)
    learner.run(n_batches=3)
    (learner.folder / "old").mkdir()
    learner.path = learner.path.rename(learner.folder / "old" / "other")
    learner.run().has(range(95))


@row("a file: rotated")
def _(learner):
    learner.write(0, 95)
    learner.run(n_batches=3)
    learner.path.rename(learner.folder / "log.1")
    learner.write(95, 200)
    learner.run().has(range(200))


@row("a file: rotated and compressed")
def _(learner):
    learner.write(0, 95)
    learner.run(n_batches=3)
    (learner.folder / "log-20260101.gz").write_bytes(gzip.compress(learner.path.read_bytes()))
    learner.write(95, 200)
    learner.run().has(range(200))


@row("a file: rotated twice")
def _(learner):
    learner.write(0, 95)
    learner.run(n_batches=3)
    learner.path.rename(learner.folder / "log.2")
    learner.write(95, 125, "log.1")
    learner.write(125, 200)
    learner.write(300, 310, "log-errors")  # another log
    for number, name in enumerate(("log.2", "log.1", "log")):
        os.utime(learner.folder / name, (number, number))
    learner.run().has(range(200))


@row("a file: copied and truncated")
def _(learner):
    learner.write(0, 95)
    learner.run(n_batches=3)
    shutil.copy(learner.path, learner.folder / "log.1")
    learner.write(95, 300)
    learner.run().has(range(300))


@row("a file: replaced by another")
def _(learner):
    learner.write(0, 40)
    learner.run(n_batches=3)
    learner.write(100, 255)  # in the same inode, and longer
    learner.run().has(range(30), range(100, 255))


@row("a compressed file: the same, or grown")
def _(learner):
    learner.path = learner.folder / "log.gz"
    learner.path.write_bytes(gzip.compress(lines(0, 50).encode()))
    learner.run(n_batches=2)
    learner.run(n_batches=3)
    with learner.path.open("ab") as file:
        file.write(gzip.compress(lines(50, 95).encode()))
    learner.run().has(range(95))


@row("a Parquet file: the same")
def _(learner):
    learner.path = learner.folder / "log.parquet"
    pl.DataFrame({"text": lines(0, 95).split()}).write_parquet(learner.path)
    learner.run(n_batches=4)
    learner.run().has(range(95))


@row("a Parquet file: replaced by another")
def _(learner):
    learner.path = learner.folder / "log.parquet"
    pl.DataFrame({"text": lines(0, 95).split()}).write_parquet(learner.path)
    learner.run(n_batches=4)
    pl.DataFrame({"text": lines(100, 300).split()}).write_parquet(learner.path)
    learner.run().has(range(40), range(100, 300))


@row("several files: more of them")
def _(learner):
    learner.write(0, 15, "b.txt")
    learner.write(15, 40, "d.txt")
    learner.run(learner.folder / "*.txt", 3)
    learner.write(40, 70, "a.txt")
    learner.write(70, 95, "e.txt")
    learner.run(learner.folder / "*.txt").has(range(95), same=False)


@row("several files: renamed, or in another order")
def _(learner):
    for number in range(4):
        learner.write(25 * number, 25 * number + 25, f"{number}.txt")
    learner.run(learner.folder / "*.txt", 6)
    for number in range(4):
        (learner.folder / f"{number}.txt").rename(learner.folder / f"{9 - number}.txt")
    learner.run(learner.folder / "*.txt").has(range(100), same=False)


def test_renamed_file_is_recognized_by_its_key(tmp_path, monkeypatch):
    """Most file ends are forgotten."""
    monkeypatch.setattr(_files, "N_ENDS", 1)
    learner = Learner(tmp_path)
    for number in range(8):
        learner.write(10 * number, 10 * number + 10, f"{number}.txt")
    for _ in range(4):
        learner.run(tmp_path / "*.txt", 2)
    (tmp_path / "3.txt").rename(tmp_path / "9.txt")
    learner.run(tmp_path / "*.txt").has(range(80))


def test_rotated_logs_matched_by_a_pattern(tmp_path):
    learner = Learner(tmp_path)
    learner.write(0, 25)
    learner.run(tmp_path / "log*", 2)
    learner.path.rename(tmp_path / "log.1")
    learner.write(25, 60)
    learner.run(tmp_path / "log*").has(range(60), same=False)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes")
def test_named_pipe_restarts_like_a_pipe(tmp_path):
    learner = Learner(tmp_path)
    os.mkfifo(learner.path)
    for first in (0, 25):
        text = lines(first, first + 35)
        writer = threading.Thread(target=learner.path.write_text, args=(text,))
        writer.start()
        learner.run()
        writer.join()
    learner.has(range(60), same=False)


@row("several files: one that was read has grown")
def _(learner):
    learner.write(0, 15, "a.txt")
    learner.write(15, 40, "b.txt")
    learner.run(learner.folder / "*.txt", 3)
    learner.write(40, 55, "a.txt", mode="a")
    learner.run(learner.folder / "*.txt").has(range(55), same=False)


@row("a folder: the same")
def _(learner):
    for number in range(35):
        learner.write(number, number + 1, f"{number % 4}/{number:02}")
    learner.run(learner.folder, 2)
    learner.run(learner.folder).has(range(35), same=False)


@row("a folder: more files, also in its folders")
def _(learner):
    for number in range(25):
        learner.write(number, number + 1, f"m/{number:02}")
    learner.run(learner.folder, 2)
    learner.write(25, 26, "a")
    learner.write(26, 27, "m/inner/z")
    (learner.folder / "m/03").unlink()
    learner.run(learner.folder).has(range(27), same=False)


@row("a folder: a file was written to again")
def _(learner):
    for number in range(25):
        learner.write(number, number + 1, f"{number:02}")
    learner.run(learner.folder)
    learner.write(100, 102, "03")
    learner.run(learner.folder)
    assert learner.batches[-1] == [100, 101]


@pytest.mark.parametrize("name", row)
def test_restart(name, tmp_path):
    row[name](Learner(tmp_path))


def test_documented_restarts_are_all_tested():
    table = re.findall(
        r"^\| (an? [^|]+|several files) \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE
    )
    rows = [f"{source}: {restart}" for source, cell in table for restart in cell.split("; ")]
    modules = [
        import_module(f"tests.corpus.test_restarts{name}") for name in ("", "_once", "_followed")
    ]
    tests = [name for module in modules for name in module.row]
    assert sorted(rows) == sorted(tests)
