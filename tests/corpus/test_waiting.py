"""Mini-batches of pipes that close by time."""

import io
import json
import os
import threading
from itertools import islice, product

import pytest

from opelda.corpus import stream
from opelda.corpus.formats._detect import detect
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.restarts import SIZE, WORDS, Learner, Once, lines, waiting

SOON = 0.2
FORMATS = {
    "lines": lambda i: f"w{i}\n",
    "jsonl": lambda i: json.dumps({"text": f"w{i}"}) + "\n",
    "csv": lambda i: ("number,text\n" if i == 0 else "") + f'{i},"a ""quoted"" line\nw{i}"\n',
    "tsv": lambda i: ("number\ttext\n" if i == 0 else "") + f"{i}\tw{i}\n",
    "mallet": lambda i: f"name{i}\tlabel\tw{i}\n",
}


class Bytewise(Once):
    """A pipe that is read byte by byte."""

    def readinto(self, buffer):
        buffer[:1] = byte = self.file.read(1) or buffer[:0]
        return len(byte)


class Trickle(Once):
    """A pipe that is read line by line."""

    def readinto(self, buffer):
        line = self.file.readline(len(buffer))
        buffer[: len(line)] = line
        return len(line)


class Pipe:
    """A pipe that the test writes while it reads; a timer closes it after 60 seconds."""

    def __init__(self):
        read, write = os.pipe()
        self.source = os.fdopen(read, "rb", buffering=0)
        self.sink = os.fdopen(write, "wb", buffering=0)
        self.patience = threading.Timer(60, self.sink.close)
        self.patience.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.patience.cancel()
        self.sink.close()
        self.source.close()


@pytest.fixture
def learner(tmp_path):
    return Learner(tmp_path)


@pytest.mark.parametrize(
    ("format", "encoding"),
    [*((format, "utf-8") for format in FORMATS), ("lines", "utf-16"), ("csv", "utf-16")],
)
def test_batch_of_a_stalled_pipe_closes_after_max_wait(learner, format, encoding):
    """The pipe stalls within a document and within a character."""
    data = "".join(map(FORMATS[format], range(40))).encode(encoding)
    ends = [len("".join(map(FORMATS[format], range(n))).encode(encoding)) for n in (14, 15, 16)]
    cut = (ends[1] + ends[2]) // 2 | 1
    with Pipe() as pipe:
        pipe.sink.write(data[:cut])
        batches = iter(waiting(pipe.source, SOON, format=format, encoding=encoding))
        learner.learn(islice(batches, 2))
        assert [len(batch) for batch in learner.batches] == [SIZE, 5]
        pipe.sink.write(data[cut : ends[1] + 2 * (ends[2] - ends[1])])
        learner.learn(islice(batches, 1))
        assert len(learner.batches[2]) in (1, 2)
        pipe.sink.write(data[ends[1] + 2 * (ends[2] - ends[1]) :])
        pipe.sink.close()
        learner.learn(batches)
    learner.has(range(40), same=False)


def test_partial_table_row_of_a_pipe_waits_for_its_end(learner):
    for header in ("text\n", '"the\ntext"\n'):
        with Pipe() as pipe:
            opened = waiting(pipe.source, SOON, format="csv", text_column=header.strip('"\n'))
            begin, rest = (header + 'w0\n"w1\n', 'w2"\nw3\n')
            later = threading.Timer(2 * SOON, pipe.sink.write, [(begin[7:] + rest[:3]).encode()])
            last = threading.Timer(4 * SOON, pipe.sink.write, [rest[3:].encode()])
            pipe.sink.write(begin[:7].encode())
            later.start()
            last.start()
            batches = iter(opened)
            while not learner.batches or learner.batches[-1][-1] != 3:
                learner.learn(islice(batches, 1))
        learner.has(range(4), same=False)
        learner.batches = []


def test_characters_that_arrive_byte_by_byte(learner):
    opened = waiting(
        Bytewise(lines(0, 25).encode("utf-32")), SOON, encoding="utf-32", format="lines"
    )
    learner.learn(opened).has(range(25))


def test_blank_lines_do_not_end_a_pipe(learner):
    with Pipe() as pipe:
        pipe.sink.write(b"\n\n")
        output = []

        def more():
            if not output and pipe.sink.write(FORMATS["jsonl"](0).encode()):
                output.append(True)

        opened = stream(pipe.source, batch_size=SIZE, vocabulary=WORDS, format="jsonl")
        opened.wait_at_most(SOON, lambda: threading.Timer(3 * SOON, more).start())
        learner.learn(islice(opened, 1))
    learner.has([0])


def test_restarted_pipe_closes_batches_after_max_wait(learner):
    for first, after in ((0, 15), (8, 22), (0, 33)):
        with Pipe() as pipe:
            pipe.sink.write(lines(first, after).encode())
            opened = waiting(pipe.source, SOON, format="lines")
            opened.seek(learner.position)
            batches = iter(opened)
            learner.learn(islice(batches, 1 + (after == 15)))
            pipe.sink.write(lines(after, after + 4).encode())
            learner.learn(islice(batches, 1))
    learner.has(range(37), same=False)
    assert [len(batch) for batch in learner.batches] == [10, 5, 4, 3, 4, 7, 4]


@cases("kind", ["buffer", "file", "folder", "list", "matrix"])
def test_sources_without_waiting_give_full_batches(kind, tmp_path):
    """Even with a wait of 0 seconds."""
    learner = Learner(tmp_path)
    learner.write(0, 95)
    source = {
        "buffer": io.BytesIO(learner.path.read_bytes()),
        "file": learner.path,
        "folder": learner.folder,
        "list": learner.path.read_text().split(),
        "matrix": WORDS.count(learner.path.read_text().split()),
    }[kind]
    options = {"format": "lines"} if kind in ("file", "folder") else {}
    learner.learn(waiting(source, 0.0, **options)).has(range(95))


def test_full_pipe_gives_full_batches(learner):
    with Pipe() as pipe:
        pipe.sink.write(lines(0, 95).encode())
        pipe.sink.close()
        learner.learn(waiting(pipe.source, 0.0, format="lines"))
    learner.has(range(95))


FIRST = [b"plain text", b"", b"  ", b"5", b"5 cups", b"2 1:3 4:5", b"1 1:3", b"1 2 3", b"1 |x tea",
         b"'a |x tea", b"|x tea:2", b'{"text": "tea"}', b'["tea"]', b"{tea", b"[1, 2]",
         b"\xef\xbb\xbf5", b"\xef\xbb\xbftea", b"%%MatrixMarket matrix"]  # fmt: skip


@cases("first", FIRST)
def test_pipe_and_file_have_the_same_format(first):
    """The pipe is read line by line."""

    def found(file):
        try:
            return detect(Input.of(file)).name
        except InputError as error:
            return str(error)

    for others in product(FIRST, FIRST):
        text = b"\n".join((first, *others)) + b"\n"
        assert found(Trickle(text)) == found(io.BytesIO(text))


def test_one_line_of_a_pipe_opens_a_stream():
    with Pipe() as pipe:
        pipe.sink.write(b"tea for two\n")
        opened = stream(pipe.source)
        assert not pipe.sink.closed
        assert opened.label


def test_bad_line_after_a_pause_is_named(learner):
    with Pipe() as pipe:
        pipe.sink.write("".join(map(FORMATS["jsonl"], range(5))).encode())
        batches = iter(waiting(pipe.source, SOON, format="jsonl"))
        learner.learn(islice(batches, 1))
        pipe.sink.write((FORMATS["jsonl"](5) + "{bad\n" + FORMATS["jsonl"](6)).encode())
        with pytest.raises(InputError, match="line 7"):
            learner.learn(batches)
    learner.has(range(6), same=False)
