"""Counts in lines: UCI's bags of words and Blei's LDA-C, read in constant memory.

UCI's ``docword.NAME.txt`` has ``vocab.NAME.txt`` beside it: three lines, the numbers of documents,
words and counts, then a line ``document word count`` for every word of every document, numbers from
1, documents in ascending order. LDA-C has a line ``M word:count word:count ...`` for every
document: M is the number of pairs; words are numbers from 0, or from 1 with ``first_id=1``; empty
lines are skipped, as by LDA-C; a document without words is the line ``0``.
"""

import io
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda._validation import threads
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._vocabulary import MOST_WORDS
from opelda.corpus.formats import Options, _vocab
from opelda.corpus.formats._input import Input, check_position
from opelda.corpus.formats.count_matrices import (
    SLACK,
    check_documents,
    check_whole,
    check_width,
    ready,
    triples,
    write_counts,
)
from opelda.errors import InputError

CHUNK = 4 * 2**20  # bytes that are parsed at a time
LONGEST_LINE = 64 * 2**20  # several million words of one document
TOO_MUCH = "counts {value}, which is outside 1 to 10,000,000,000,000"


@dataclass(frozen=True)
class Position:
    """The next document, its offset and line (from 1), and totals before it.

    Entries include those of malformed lines; the width is the columns so far.
    """

    document: int = 0
    offset: int = 0
    line: int = 1
    entries: int = 0
    width: int = 0

    @classmethod
    def of(cls, position: Any, label: str) -> "Position":
        """Return a block's position, checked."""
        good = (
            isinstance(position, dict)
            and position.keys() == asdict(cls()).keys()
            and all(type(value) is int and 0 <= value < 2**62 for value in position.values())
            and position["width"] < 2**31
        )
        check_position(good, position, label)
        return cls(**position)


class _Run(NamedTuple):
    """The documents of some lines.

    Rows are a document's number, its first entry, offset and line of its first line here; bad
    lines, which were skipped, a kind, offset, line and value. It is `sorted` if words rise within
    every document, also from run to run.
    """

    rows: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    bad: NDArray[np.int64]
    sorted: bool

    def entries_before(self, row: int) -> int:
        """Return the number of entries before a row."""
        return int(self.rows[row, 1]) if row < len(self.rows) else len(self.words)


class _Reader:
    """A file of lines from a position on; a grammar adds `parse` and `problem`.

    Blocks have `start.width` columns, or more as soon as larger numbers occur.
    """

    least = 1  # bytes of the shortest entry

    def __init__(
        self, file: io.BufferedReader, input: Input, options: Options, start: Position
    ) -> None:
        self.file, self.label, self.options, self.start = file, input.label, options, start
        self.offset, self.line, self.document = start.offset, start.line, start.document
        self.n_threads = min(threads(None), 4)  # more wait for memory

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        """Parse a run of lines."""
        raise NotImplementedError

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        """Return the problem of a line, the remedy, and the advice of `Problems.add`."""
        raise NotImplementedError

    def finish(self, n_documents: int, n_entries: int) -> int:
        """Return the number of documents at the end of the file, with empty ones at the end."""
        return n_documents

    def runs(self) -> Iterator[_Run]:
        """Yield the file's documents in ascending order; missing numbers are empty documents."""
        while data := self.file.read(CHUNK):
            rest = b"" if data.endswith(b"\n") else self.file.readline(LONGEST_LINE)
            if len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                begin = self.offset + data.rfind(b"\n") + 1
                raise InputError(
                    f"{self.label} has a line of more than {LONGEST_LINE:,} bytes (starting "
                    f"at byte {begin}); check the format of the file."
                )
            data += rest
            room = len(data) // self.least + 1
            words, counts = np.empty(room, np.int32), np.empty(room, np.float32)
            places = np.frombuffer(data, np.uint8), 0, len(data), words, counts, 0
            rows, n, bad, n_lines, rising = self.parse(places)
            self.offset += len(data)
            self.line += n_lines
            yield _Run(rows, words[:n], counts[:n], bad, rising)

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of the wanted size, the last one smaller."""
        block_size = self.options.block_size
        block = _PartialBlock(self.start.document, self.start.width)
        n_before, n_documents = self.start.entries, self.start.document
        for run in self.runs():
            rows, bad = run.rows, run.bad
            reported = done = 0
            block.rising = block.rising and run.sorted
            while True:
                stop = int(np.searchsorted(rows[:, 0], block.first + block_size))
                block.add(run, done, stop)
                done, n_bad = stop, len(bad)
                if done < len(rows):
                    n_bad = int(np.searchsorted(bad[:, 1], rows[done, 2]))
                # bad lines are reported before the block that follows them
                for kind, _, line, value in bad[reported:n_bad].tolist():
                    what, remedy, advice = self.problem(kind, value)
                    self.options.problems.add(f"{self.label}, line {line}", what, remedy, **advice)
                reported = n_bad
                if done == len(rows):
                    break
                X = block.finish(block_size)
                after = Position(
                    document=block.first + block_size,
                    offset=int(rows[done, 2]),
                    line=int(rows[done, 3]),
                    entries=n_before + run.entries_before(done) + n_bad,
                    width=X.shape[1],
                )
                yield Block(X, asdict(after))
                block = _PartialBlock(after.document, after.width, run.sorted)
            if len(rows):
                n_documents = int(rows[-1, 0]) + 1
            n_before += len(run.words) + len(bad)
        n_documents = self.finish(n_documents, n_before)
        while block.first < n_documents:
            size = min(block_size, n_documents - block.first)
            X = block.finish(size)
            after = Position(block.first + size, self.offset, self.line, n_before, X.shape[1])
            yield Block(X, asdict(after))
            block = _PartialBlock(after.document, after.width)


class _PartialBlock:
    """A block under construction; a document may continue in the next run."""

    def __init__(self, first: int, width: int, rising: bool = True) -> None:
        self.first, self.width = first, width
        self.rising = rising  # whether words rise within every document
        self._rows: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._words, self._counts = [np.empty(0, np.int32)], [np.empty(0, np.float32)]

    def add(self, run: _Run, first: int, after: int) -> None:
        """Add some rows of a run."""
        if first < after:
            ends = np.append(run.rows[first:after, 1], run.entries_before(after))
            self._rows.append((run.rows[first:after, 0] - self.first, np.diff(ends)))
            self._words.append(run.words[ends[0] : ends[-1]])
            self._counts.append(run.counts[ends[0] : ends[-1]])

    def finish(self, n_documents: int) -> sparse.csr_array:
        """Return the counts, sorted and without duplicates."""
        ends = np.zeros(n_documents + 1, np.int64)
        for rows, lengths in self._rows:
            ends[rows + 1] += lengths
        np.cumsum(ends, out=ends)
        words, counts = np.concatenate(self._words), np.concatenate(self._counts)
        shape = n_documents, max(self.width, int(words.max(initial=-1)) + 1)
        if len(words) < 2**31:
            ends = ends.astype(np.int32)
        if not self.rising:
            X = sparse.csr_array((counts.astype(np.float64), words, ends), shape=shape)
            X.sum_duplicates()
            return X.astype(np.float32)
        X = sparse.csr_array((counts, words, ends), shape=shape)
        X.has_sorted_indices = X.has_canonical_format = True
        return X


def uci_blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on."""
    number = rb"[ \t\r]*(\d{1,18})[ \t\r]*"
    # `peek` takes nothing: a pipe is opened once, at the first count
    header = re.match(rb"%b\n%b\n%b(?:\n|\Z)" % (number, number, number), input.peek())
    if header is None:
        raise InputError(
            f"{input.label} has no UCI header: documents, words and counts on one line each; "
            "check the format of the file."
        )
    n_documents, n_words, n_entries = map(int, header.groups())
    if n_words > MOST_WORDS:
        raise InputError(
            f"{input.label}, line 2 declares {n_words} words; at most {MOST_WORDS} are "
            "supported; check the file."
        )
    check_width(n_words, input, options)
    if input.seekable:
        check_documents(n_documents, input.size or 0, input.label)
    start = Position(0, header.end(), 4, 0, n_words)
    if position is not None:
        start = replace(Position.of(position, input.label), width=n_words)
    with input.open(start.offset) as file:
        reader = _UciReader(file, input, options, start)
        reader.n_documents, reader.n_entries = n_documents, n_entries
        yield from reader.blocks()


def write_uci(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its words in ``vocab.NAME.txt``."""
    check_whole(corpus, "UCI's format")
    X = ready(corpus)
    header = "".join(f"{number}\n" for number in (*X.shape, X.nnz))
    write_counts(corpus, path, triples, header=header.encode(), format="uci")


class _UciReader(_Reader):
    n_documents = n_entries = 0  # in the header
    least = _text.LEAST_TRIPLE
    word = 0

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        rows, n_entries, bad, n_lines, rising, self.word = _text.parse_triples(
            *places,
            offset=self.offset,
            line=self.line,
            n_documents=self.n_documents,
            n_words=self.start.width,
            slack=SLACK,
            document=self.document + 1,  # documents ascend
            word=self.word,
            n_threads=self.n_threads,
        )
        if len(rows):
            self.document = int(rows[-1, 0])
        return rows, n_entries, bad, n_lines, rising

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        what = {
            1: "is not 'document word count' in whole numbers",
            2: f"has document {value}, but the header declares {self.n_documents} documents",
            3: f"has word {value}, but the header declares {self.start.width} words",
            4: TOO_MUCH.format(value=value),
            5: f"has document {value} after a later document",
            6: f"has document {value}, more documents than a file of this size can hold",
        }[kind]
        remedies = {5: "sort the lines by document", 3: "correct the line or the header"}
        return what, remedies.get(kind, "correct the line"), {}

    def finish(self, n_documents: int, n_entries: int) -> int:
        if n_entries != self.n_entries:
            what = f"declares {self.n_entries} counts but has {n_entries}"
            self.options.problems.add(self.label, what, "check whether the file is truncated")
        check_documents(self.n_documents, self.offset, self.label)
        return self.n_documents


def ldac_blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on.

    Without a vocabulary the columns are the numbers up to the largest in the file, in a pipe the
    largest so far.
    """
    start = Position() if position is None else Position.of(position, input.label)
    vocabulary = _vocab.locate(input, options)
    if vocabulary is not None:
        n_words = len(_vocab.read_vocabulary(vocabulary, options.encoding))
        start = replace(start, width=n_words)
    elif position is None and input.size is not None:
        with input.open() as file:
            runs = _LdacReader(file, input, options, start).runs()
            width = max((int(run.words.max(initial=-1)) + 1 for run in runs), default=0)
            start = Position(width=width)
    with input.open(start.offset) as file:
        reader = _LdacReader(file, input, options, start)
        if vocabulary is not None:
            reader.vocabulary, reader.n_words = vocabulary.label, start.width
        yield from reader.blocks()


def write_ldac(corpus: Corpus, path: str) -> None:
    """Write a corpus with words from 0, and its vocabulary beside it."""
    check_whole(corpus, "LDA-C's format")
    write_counts(corpus, path, lambda *entries: _text.write_pairs(*entries[:3]))


class _LdacReader(_Reader):
    least = _text.LEAST_PAIR
    n_words = MOST_WORDS
    vocabulary: str | None = None

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        rows, *found, _ = _text.parse_pairs(
            *places,
            offset=self.offset,
            line=self.line,
            first_id=self.options.first_id or 0,
            n_words=self.n_words,
            n_threads=self.n_threads,
        )
        rows[:, 0] = np.arange(self.document, self.document + len(rows))
        self.document += len(rows)
        return rows, *found

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        n_words, first_id = self.n_words, self.options.first_id or 0
        remedy = "correct the line"
        advice: dict[str, Any] = {}
        if kind == 4:
            what = TOO_MUCH.format(value=value)
        elif kind == 7:
            what = f"has {value} pairs, a different number than declared at its start"
        elif kind != 3:
            what = "is not 'M word:count word:count ...' in whole numbers"
        elif value < first_id:
            what = "has the word 0, but words are numbered from 1"
            remedy, advice = "read it with {first_id}", {"first_id": 0}
        elif self.vocabulary is None:
            what = f"has the word {value}, but at most {n_words} words are supported"
        else:
            known = f"{self.vocabulary} has {n_words} words, numbered from {first_id}"
            what = f"has the word {value}, but {known}"
            remedy = "pass the matching vocabulary with {column_words}"
            advice = {"column_words": ...}
            if first_id == 0 and value == n_words:
                remedy, advice = "if words are numbered from 1, pass {first_id}", {"first_id": 1}
        return what, remedy, advice
