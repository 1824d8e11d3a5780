"""Restarts of pipes and iterables: rows of the table in docs/streams.md."""

import json
import os
from itertools import islice

import polars as pl
import pytest

from opelda.corpus import mini_batches, stream
from opelda.errors import InputError
from tests.corpus.restarts import SIZE, WORDS, Learner, Once, Rows, lines

row = Rows()


@row("a pipe: the same from its beginning")
def _(learner):
    for n_batches in (2, 5, 7):
        learner.run(Once(lines(0, 95)), n_batches - len(learner.batches))
    learner.run(Once(lines(0, 95))).has(range(95))


@row("a pipe: the lines after those")
def _(learner):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(50, 95))).has(range(95))


@row("a pipe: the last lines again, as by tail -F")
def _(learner):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(43, 60)))
    learner.run(Once(lines(50, 95))).has(range(95))


@row("a pipe: others that begin alike")
def _(learner):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(0, 30) + lines(100, 120))).has(range(50), range(100, 120))


@row("a pipe: anything else")
def _(learner):
    learner.run(Once(lines(0, 50)))
    learner.run(Once(lines(100, 300))).has(range(50), range(100, 300))


@row("a pipe: a bad line")
def _(learner):
    def records(first, after):
        return "".join(json.dumps({"text": f"w{i}"}) + "\n" for i in range(first, after))

    with pytest.raises(InputError, match="line 26"):
        learner.run(Once(records(0, 25) + "{bad\n" + records(25, 30)), format="jsonl")
    learner.run(Once(records(25, 40)), format="jsonl").has(range(40), same=False)


@row("a pipe: Ctrl-C, SIGTERM, or a closed terminal")
def _(learner):
    read, write = os.pipe()
    with os.fdopen(read, "rb", buffering=0) as source, os.fdopen(write, "w") as sink:
        sink.write(lines(0, 25))
        sink.flush()
        opened = stream(source, batch_size=SIZE, vocabulary=WORDS)
        opened.end_when(lambda: len(learner.batches) == 2)
        learner.learn(opened)
    learner.has(range(25), same=False)


@row("an iterable: the same from its beginning")
def _(learner):
    for n_batches in (2, 3, None):
        source = ({f"w{i}": 1} for i in range(95))
        batches = mini_batches(source, batch_size=SIZE, vocabulary=WORDS, position=learner.position)
        learner.learn(islice(batches, n_batches))
    learner.has(range(95))


@row("an iterable: other items")
def _(learner):
    learner.run(iter(lines(0, 50).split()))
    learner.run(iter(lines(100, 195).split()))
    learner.run(iter(lines(190, 200).split())).has(range(50), range(100, 200), same=False)


@row("an iterable: it fails")
def _(learner):
    def source():
        yield from lines(0, 25).split()
        raise ConnectionError

    with pytest.raises(ConnectionError):
        learner.learn(mini_batches(source(), batch_size=SIZE, vocabulary=WORDS))
    items = lines(25, 50).split()
    learner.learn(mini_batches(items, batch_size=SIZE, vocabulary=WORDS, position=learner.position))
    learner.has(range(50), same=False)


@row("a column or a matrix: the same, or longer")
def _(learner):
    learner.run(pl.Series(lines(0, 50).split()), 3)
    learner.run(pl.Series(lines(0, 95).split())).has(range(95))


@row("a column or a matrix: another")
def _(learner):
    learner.run(pl.Series(lines(0, 50).split()))
    learner.run(pl.Series(lines(100, 195).split())).has(range(50), range(100, 195))


@pytest.mark.parametrize("name", row)
def test_restart(name, tmp_path):
    row[name](Learner(tmp_path))
