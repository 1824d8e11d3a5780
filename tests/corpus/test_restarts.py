"""Restarts: every row of the table in docs/streams.md, as a test of the same name.

Every document is one word of its own, so that what was learned says which documents were.
"""

import gzip
import io
import json
import os
import re
import shutil
from itertools import islice
from pathlib import Path

import polars as pl
import pytest

from opelda.corpus import Vocabulary, mini_batches, stream
from opelda.corpus.sources import _followed
from opelda.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "streams.md"
SIZE = 10
WORDS = Vocabulary([f"w{i}" for i in range(400)])
ROWS = {}


def row(name):
    return lambda test: ROWS.setdefault(name, test)


def lines(first, after):
    return "".join(f"w{i}\n" for i in range(first, after))


class Once(io.RawIOBase):
    """A pipe: it cannot go back."""

    def __init__(self, text):
        self.file = io.BytesIO(text.encode())

    def readable(self):
        return True

    def readinto(self, buffer):
        return self.file.readinto(buffer)


class Clock:
    """Time that passes by sleeping alone; things may happen meanwhile."""

    def __init__(self):
        self.now, self.events = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        while self.events and self.events[0][0] <= self.now:
            self.events.pop(0)[1]()

    def after(self, seconds, event):
        self.events.append((self.now + seconds, event))


class Learner:
    """Learns as a process does: it is killed, begins again with the position, and goes on."""

    def __init__(self, folder):
        self.folder, self.path = folder, folder / "log"
        self.position, self.batches = None, []

    def write(self, first, after, name="log", mode="w"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode) as file:
            file.write(lines(first, after))
        return path

    def run(self, source=None, n_batches=None, **options):
        """Begin, learn so many batches, and end; all that there are if none is named."""
        source = stream(
            self.path if source is None else source,
            **{"batch_size": SIZE, "vocabulary": WORDS, "n_jobs": 1} | options,
        )
        source.seek(self.position)
        batches = iter(source)
        return self.learn(batches if n_batches is None else islice(batches, n_batches))

    def learn(self, batches):
        for batch in batches:
            self.batches.append(batch.X.indices.tolist())
            self.position = json.loads(json.dumps(batch.position))
        return self

    def follow(self):
        """Begin to follow the file; return what gives its batches."""
        source = stream(self.path, batch_size=SIZE, vocabulary=WORDS, follow=True, n_jobs=1)
        source.seek(self.position)
        return iter(source)

    def has(self, *numbers, same=True):
        """Check that these documents were learned, each once; in full batches if it is the same."""
        expected = [i for part in numbers for i in part]
        learned = [i for batch in self.batches for i in batch]
        assert sorted(learned) == sorted(expected)
        if same:
            parts = [expected[i : i + SIZE] for i in range(0, len(expected), SIZE)]
            assert self.batches == parts


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(_followed, "time", clock)
    return clock


@row("a file: the same")
def _(learner, clock):
    learner.write(0, 95)
    for _ in range(4):
        learner.run(n_batches=2)
    learner.run().has(range(95))


@row("a file: it has grown")
def _(learner, clock):
    learner.write(0, 50)
    learner.run()
    learner.write(50, 95, mode="a")
    learner.run().has(range(95))


@row("a file: renamed, or moved")
def _(learner, clock):
    learner.write(0, 95)
    learner.run(n_batches=3)
    (learner.folder / "old").mkdir()
    learner.path = learner.path.rename(learner.folder / "old" / "other")
    learner.run().has(range(95))


@row("a file: rotated")
def _(learner, clock):
    learner.write(0, 95)
    learner.run(n_batches=3)
    learner.path.rename(learner.folder / "log.1")
    learner.write(95, 200)
    learner.run().has(range(200))


@row("a file: rotated and compressed")
def _(learner, clock):
    learner.write(0, 95)
    learner.run(n_batches=3)
    (learner.folder / "log-20260101.gz").write_bytes(gzip.compress(learner.path.read_bytes()))
    learner.write(95, 200)
    learner.run().has(range(200))


@row("a file: rotated twice")
def _(learner, clock):
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
def _(learner, clock):
    learner.write(0, 95)
    learner.run(n_batches=3)
    shutil.copy(learner.path, learner.folder / "log.1")
    learner.write(95, 300)
    learner.run().has(range(300))


@row("a file: replaced by another")
def _(learner, clock):
    learner.write(0, 40)
    learner.run(n_batches=3)
    learner.write(100, 255)  # in the same inode, and longer
    learner.run().has(range(30), range(100, 255))


@row("a compressed file: the same, or grown")
def _(learner, clock):
    learner.path = learner.folder / "log.gz"
    learner.path.write_bytes(gzip.compress(lines(0, 50).encode()))
    learner.run(n_batches=2)
    learner.run(n_batches=3)
    with learner.path.open("ab") as file:
        file.write(gzip.compress(lines(50, 95).encode()))
    learner.run().has(range(95))


@row("a Parquet file: the same")
def _(learner, clock):
    learner.path = learner.folder / "log.parquet"
    pl.DataFrame({"text": lines(0, 95).split()}).write_parquet(learner.path)
    learner.run(n_batches=4)
    learner.run().has(range(95))


@row("a Parquet file: replaced by another")
def _(learner, clock):
    learner.path = learner.folder / "log.parquet"
    pl.DataFrame({"text": lines(0, 95).split()}).write_parquet(learner.path)
    learner.run(n_batches=4)
    pl.DataFrame({"text": lines(100, 300).split()}).write_parquet(learner.path)
    learner.run().has(range(40), range(100, 300))


@row("several files: more of them")
def _(learner, clock):
    learner.write(0, 15, "b.txt")
    learner.write(15, 40, "d.txt")
    learner.run(learner.folder / "*.txt", 3)
    learner.write(40, 70, "a.txt")
    learner.write(70, 95, "e.txt")
    learner.run(learner.folder / "*.txt").has(range(95), same=False)


@row("several files: renamed, or in another order")
def _(learner, clock):
    for number in range(4):
        learner.write(25 * number, 25 * number + 25, f"{number}.txt")
    learner.run(learner.folder / "*.txt", 6)
    for number in range(4):
        (learner.folder / f"{number}.txt").rename(learner.folder / f"{9 - number}.txt")
    learner.run(learner.folder / "*.txt").has(range(100), same=False)


@row("several files: one that was read has grown")
def _(learner, clock):
    learner.write(0, 15, "a.txt")
    learner.write(15, 40, "b.txt")
    learner.run(learner.folder / "*.txt", 3)
    learner.write(40, 55, "a.txt", mode="a")
    learner.run(learner.folder / "*.txt").has(range(55), same=False)


@row("a folder: the same")
def _(learner, clock):
    for number in range(35):
        learner.write(number, number + 1, f"{number % 4}/{number:02}")
    learner.run(learner.folder, 2)
    learner.run(learner.folder).has(range(35), same=False)


@row("a folder: more files, also in its folders")
def _(learner, clock):
    for number in range(25):
        learner.write(number, number + 1, f"m/{number:02}")
    learner.run(learner.folder, 2)
    learner.write(25, 26, "a")
    learner.write(26, 27, "m/inner/z")
    (learner.folder / "m/03").unlink()
    learner.run(learner.folder).has(range(27), same=False)


@row("a folder: a file was written to again")
def _(learner, clock):
    for number in range(25):
        learner.write(number, number + 1, f"{number:02}")
    learner.run(learner.folder)
    learner.write(100, 102, "03")
    learner.run(learner.folder)
    assert learner.batches[-1] == [100, 101]


@row("a pipe: the same from its beginning")
def _(learner, clock):
    for n_batches in (2, 5, 7):
        learner.run(Once(lines(0, 95)), n_batches - len(learner.batches))
    learner.run(Once(lines(0, 95))).has(range(95))


@row("a pipe: the lines after those")
def _(learner, clock):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(50, 95))).has(range(95))


@row("a pipe: the last lines again, as by tail -F")
def _(learner, clock):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(43, 60)))
    learner.run(Once(lines(50, 95))).has(range(95))


@row("a pipe: others that begin alike")
def _(learner, clock):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(0, 30) + lines(100, 120))).has(range(50), range(100, 120))


@row("a pipe: anything else")
def _(learner, clock):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(100, 300))).has(range(50), range(100, 300))


@row("a pipe: a bad line")
def _(learner, clock):
    def records(first, after):
        return "".join(json.dumps({"text": f"w{i}"}) + "\n" for i in range(first, after))

    with pytest.raises(InputError, match="line 26"):
        learner.run(Once(records(0, 25) + "{bad\n" + records(25, 30)), format="jsonl")
    learner.run(Once(records(25, 40)), format="jsonl").has(range(40), same=False)


@row("a pipe: Ctrl-C, SIGTERM, or a closed terminal")
def _(learner, clock):
    read, write = os.pipe()
    with os.fdopen(read, "rb", buffering=0) as source, os.fdopen(write, "w") as sink:
        sink.write(lines(0, 25))
        sink.flush()
        opened = stream(source, batch_size=SIZE, vocabulary=WORDS)
        opened.end_when(lambda: len(learner.batches) == 2)
        learner.learn(opened)
    learner.has(range(25), same=False)


@row("an iterable: the same from its beginning")
def _(learner, clock):
    for n_batches in (2, 3, None):
        source = ({f"w{i}": 1} for i in range(95))
        batches = mini_batches(source, batch_size=SIZE, vocabulary=WORDS, position=learner.position)
        learner.learn(islice(batches, n_batches))
    learner.has(range(95))


@row("an iterable: other items")
def _(learner, clock):
    learner.run(iter(lines(0, 50).split()))
    learner.run(iter(lines(100, 195).split()))
    learner.run(iter(lines(190, 200).split())).has(range(50), range(100, 200), same=False)


@row("an iterable: it fails")
def _(learner, clock):
    def source():
        yield from lines(0, 25).split()
        raise ConnectionError

    with pytest.raises(ConnectionError):
        learner.learn(mini_batches(source(), batch_size=SIZE, vocabulary=WORDS))
    items = lines(25, 50).split()
    learner.learn(mini_batches(items, batch_size=SIZE, vocabulary=WORDS, position=learner.position))
    learner.has(range(50), same=False)


@row("a column or a matrix: the same, or longer")
def _(learner, clock):
    learner.run(pl.Series(lines(0, 50).split()), 3)
    learner.run(pl.Series(lines(0, 95).split())).has(range(95))


@row("a column or a matrix: another")
def _(learner, clock):
    learner.run(pl.Series(lines(0, 50).split()))
    learner.run(pl.Series(lines(100, 195).split())).has(range(50), range(100, 195))


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

    def late():  # whoever writes has the old file open still
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
    learner.write(25, 90)  # longer than it was at the next look
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


@pytest.mark.parametrize("name", ROWS)
def test_restart(name, tmp_path, clock):
    ROWS[name](Learner(tmp_path), clock)


def test_the_table_of_the_docs_has_these_rows():
    table = re.findall(r"^\| (an? [^|]+|several files) \| ([^|]+) \|", PAGE.read_text(), re.M)
    assert [f"{source}: {restart}" for source, restart in table] == list(ROWS)
