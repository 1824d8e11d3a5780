"""Counts in lines, read in runs of lines and cut into blocks.

Memory is constant, and reading goes on from any position that a block had.
"""

import io
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import threads
from opelda.corpus._block import Block
from opelda.corpus.formats._input import Input, check_position
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

LEAST, CHUNK = 2**16, 4 * 2**20  # bytes at a time: first, and later on
MOST_THREADS = 4  # more wait for memory
LONGEST_LINE = 64 * 2**20  # several million words of one document


@dataclass(frozen=True)
class Position:
    """The point where a file of lines goes on, and totals of all before it.

    The next document, and the offset and line, from 1, where it begins; entries of the documents
    before, those of bad lines with them; columns so far.
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


def chunks(
    file: io.BufferedReader, input: Input, offset: int
) -> Iterator[tuple[NDArray[np.uint8], int]]:
    """Yield runs of whole lines, ``data[:end]`` each, from where the file stands, at `offset`.

    While a run is worked on the next one is read, unless one might have to wait for it. The data
    are overwritten later.
    """
    buffer = spare = bytearray(LEAST)
    with ThreadPoolExecutor(1) as ahead:
        filled = _fill(file, buffer, 0)
        while filled == len(buffer):
            end = buffer.rfind(b"\n") + 1
            if not end and len(buffer) >= LONGEST_LINE:
                raise InputError(
                    f"{input.label} has a line of more than {LONGEST_LINE:,} bytes (it begins at "
                    f"byte {offset}); check that the file is of this format."
                )
            # the line that is cut off goes to the front of the other buffer, which is filled up
            kept = filled - end
            room = max(2 * kept, min(4 * len(buffer), CHUNK))
            if spare is buffer or len(spare) < room:
                spare = bytearray(room)
            spare[:kept] = buffer[end:filled]
            if end and input.size is not None:  # reading ahead from a pipe could wait for ever
                coming = ahead.submit(_fill, file, spare, kept)
                yield np.frombuffer(buffer, np.uint8), end
                filled = coming.result()
            else:
                if end:
                    yield np.frombuffer(buffer, np.uint8), end
                filled = _fill(file, spare, kept)
            offset += end
            buffer, spare = spare, buffer
        if filled:
            yield np.frombuffer(buffer, np.uint8), filled


def _fill(file: io.BufferedReader, buffer: bytearray, filled: int) -> int:
    """Fill the buffer as far as the content goes; return up to where."""
    with memoryview(buffer) as view:
        while filled < len(buffer) and (n := file.readinto(view[filled:])):
            filled += n
    return filled


class Entries:
    """Entries of documents that are in no block yet: those from `first` to `end` of two arrays."""

    def __init__(self) -> None:
        self.words = np.empty(0, np.int32)
        self.counts = np.empty(0, np.float32)
        self.first = self.end = 0

    def make_room(self, n: int) -> None:
        """See to it that there is room for `n` entries behind the end."""
        if self.end + n > len(self.words):
            n_held = self.end - self.first
            self._move(n_held + max(n, n_held))

    def take(self, n: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Hand out the first `n` entries."""
        taken = slice(self.first, self.first + n)
        words, counts = self.words[taken], self.counts[taken]
        self.first += n
        if n < self.end - self.first or 2 * n < self.end:  # not to be kept alive by these few
            return words.copy(), counts.copy()
        self._move(len(self.words))
        return words, counts

    def _move(self, size: int) -> None:
        """Let the entries begin new arrays; memory that is not written to costs nothing."""
        words, counts = np.empty(size, np.int32), np.empty(size, np.float32)
        n = self.end - self.first
        words[:n] = self.words[self.first : self.end]
        counts[:n] = self.counts[self.first : self.end]
        self.words, self.counts, self.first, self.end = words, counts, 0, n


class Piece(NamedTuple):
    """The part of the entries that a run of lines has added.

    Rows are a document's number, its first new entry, offset and line of its first line here; bad
    lines, which were passed over, a kind, offset, line and value. Words may rise within every
    document, also from piece to piece: then it is `sorted`.
    """

    rows: NDArray[np.int64]
    n_entries: int
    bad: NDArray[np.int64]
    sorted: bool


class Reader:
    """One file of lines, from a position on; a grammar adds `parse` and `report`."""

    least = 1  # bytes of the shortest entry
    expected = 0  # entries, where one block holds them all

    def __init__(
        self, file: io.BufferedReader, input: Input, options: Options, start: Position
    ) -> None:
        self.file, self.input, self.options = file, input, options
        self.offset, self.line, self.document = start.offset, start.line, start.document
        self.n_threads = min(threads(None), MOST_THREADS)

    def pieces(self, entries: Entries) -> Generator[Piece]:
        """Add the file's entries piece by piece. Documents ascend; those left out are empty."""
        for data, end in chunks(self.file, self.input, self.offset):
            room = end // self.least + 1
            entries.make_room(max(room, self.expected + room - entries.end))
            places = data, 0, end, entries.words, entries.counts, entries.end
            rows, n_entries, bad, n_lines, rising = self.parse(places)
            entries.end += n_entries
            self.offset += end
            self.line += n_lines
            yield Piece(rows, n_entries, bad, rising)

    def parse(self, places: tuple[Any, ...]) -> tuple[Any, ...]:
        """Parse a run of lines."""
        raise NotImplementedError

    def report(self, kind: int, line: int, value: int) -> None:
        """Take notice of a bad line, before the block that follows it."""
        what, remedy, advice = self.problem(kind, value)
        self.options.problems.add(f"{self.input.label}, line {line}", what, remedy, **advice)

    def problem(self, kind: int, value: int) -> tuple[str, str, dict[str, Any]]:
        """Return what is wrong with a line, the remedy, and the advice of `Problems.add`."""
        raise NotImplementedError

    def finish(self, position: Position) -> tuple[int, Position]:
        """Return how many documents there are in all, and where the file ends."""
        return position.document, replace(position, offset=self.offset, line=self.line)


def cut(
    reader: Reader, position: Position, block_size: int, *, growing: bool = False
) -> Iterator[Block]:
    """Yield blocks of `block_size` documents from a position on, the last one smaller.

    They have `position.width` columns; if they are `growing`, more as soon as larger numbers are
    met.
    """
    entries = Entries()
    block = _Growing(position.document, position.width, growing)
    n_before, successor = position.entries, position.document
    with closing(reader.pieces(entries)) as pieces:
        for rows, n_entries, bad, rising in pieces:
            starts = np.append(rows[:, 1], n_entries)
            reported = done = 0
            block.rising = block.rising and rising
            while True:
                stop = int(np.searchsorted(rows[:, 0], block.first + block_size))
                block.add(rows[done:stop, 0], starts[done : stop + 1])
                done = stop
                # bad lines are told of before the block that comes after them
                n_bad = len(bad)
                if done < len(rows):
                    n_bad = int(np.searchsorted(bad[:, 1], rows[done, 2]))
                for kind, _, line, value in bad[reported:n_bad].tolist():
                    reader.report(kind, line, value)
                reported = n_bad
                if done == len(rows):
                    break
                X = block.finish(entries, block_size)
                after = Position(
                    document=block.first + block_size,
                    offset=int(rows[done, 2]),
                    line=int(rows[done, 3]),
                    entries=n_before + int(starts[done]) + n_bad,
                    width=X.shape[1],
                )
                yield Block(X, asdict(after))
                block = _Growing(after.document, after.width, growing, rising)
            if len(rows):
                successor = int(rows[-1, 0]) + 1
            n_before += n_entries + len(bad)
    # documents without entries may follow the last one that has some
    n_documents, after = reader.finish(Position(successor, entries=n_before))
    while block.first < n_documents:
        size = min(block_size, n_documents - block.first)
        X = block.finish(entries, size)
        after = replace(after, document=block.first + size, width=X.shape[1])
        yield Block(X, asdict(after))
        block = _Growing(after.document, after.width, growing)


@dataclass
class _Growing:
    """A block that is being put together."""

    first: int
    width: int
    growing: bool
    rising: bool = True
    rows: list[NDArray[np.int64]] = field(default_factory=list)
    lengths: list[NDArray[np.int64]] = field(default_factory=list)

    def add(self, documents: NDArray[np.int64], starts: NDArray[np.int64]) -> None:
        self.rows.append(documents - self.first)
        self.lengths.append(np.diff(starts))

    def finish(self, entries: Entries, n_documents: int) -> sparse.csr_array:
        ends = np.zeros(n_documents + 1, np.int64)
        for rows, lengths in zip(self.rows, self.lengths, strict=True):
            ends[rows + 1] += lengths  # a document may go on in the next piece
        np.cumsum(ends, out=ends)
        words, counts = entries.take(int(ends[-1]))
        width = self.width
        if self.growing and len(words):
            width = max(width, int(words.max()) + 1)
        if len(words) < 2**31:
            ends = ends.astype(np.int32)
        shape = (n_documents, width)
        if not self.rising:
            X = sparse.csr_array((counts.astype(np.float64), words, ends), shape=shape)
            X.sum_duplicates()
            return X.astype(np.float32)
        X = sparse.csr_array((counts, words, ends), shape=shape)
        X.has_sorted_indices = X.has_canonical_format = True
        return X
