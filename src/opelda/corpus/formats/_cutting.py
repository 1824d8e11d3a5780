"""Parsed lines to blocks of documents, with the places to go on from."""

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._block import Block
from opelda.errors import InputError


@dataclass(frozen=True)
class Place:
    """Where a file of lines goes on: what is known of all before.

    Attributes
    ----------
    document, offset, line : int
        The next document, and where its lines begin. Lines count from 1.
    entries : int
        Entries of the documents before, those of bad lines with them.
    width : int
        Columns so far.
    """

    document: int = 0
    offset: int = 0
    line: int = 1
    entries: int = 0
    width: int = 0

    @classmethod
    def of(cls, position: Any) -> "Place":
        """Return the place that a block's position stands for.

        Raises
        ------
        InputError
            When it is none.
        """
        names = {entry.name for entry in fields(cls)}
        if (
            not isinstance(position, dict)
            or position.keys() != names
            or not all(type(value) is int and 0 <= value < 2**62 for value in position.values())
            or position["width"] >= 2**31
        ):
            raise InputError(
                f"The position {position!r} is none of this format; give one that a block had."
            )
        return cls(**position)


class Entries:
    """Entries of documents that are in no block yet: those from `first` to `end` of two arrays."""

    def __init__(self) -> None:
        self.words = np.empty(0, np.int32)
        self.counts = np.empty(0, np.float32)
        self.first = self.end = 0

    def make_room(self, n: int) -> None:
        """See to it that there is room for `n` entries behind the end."""
        if self.end + n > len(self.words):
            self._move(max(self.end - self.first + n, 2 * (self.end - self.first)))

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
    """What a chunk of lines has added to the entries.

    Attributes
    ----------
    rows : int64 array (documents, 4)
        Number of the document, its first new entry, offset and line of its first line here.
    n_entries : int
    bad : int64 array (lines, 4)
        Lines that were passed over: kind, offset, line, value.
    sorted : bool
        Whether words rise within every document, also from piece to piece.
    """

    rows: NDArray[np.int64]
    n_entries: int
    bad: NDArray[np.int64]
    sorted: bool


class Reader(Protocol):
    """One file of lines."""

    def pieces(self, entries: Entries) -> Generator[Piece]:
        """Add the file's entries piece by piece. Documents ascend; those left out are empty."""

    def report(self, kind: int, line: int, value: int) -> None:
        """Take notice of a bad line, before the block that follows it."""

    def finish(self, place: Place) -> tuple[int, Place]:
        """Return how many documents there are in all, and where the file ends.

        `place` is what was there; its document is the last one's successor.
        """


def cut(reader: Reader, place: Place, block_size: int, *, growing: bool = False) -> Iterator[Block]:
    """Yield blocks of `block_size` documents from a place on, the last one smaller.

    They have `place.width` columns; if they are `growing`, more as soon as larger numbers are met.
    """
    entries = Entries()
    block = _Growing(place.document, place.width, growing)
    n_before, successor = place.entries, place.document
    with closing(reader.pieces(entries)) as pieces:
        for rows, n_entries, bad, rising in pieces:
            starts = np.append(rows[:, 1], n_entries)
            reported = done = 0
            block.rising = block.rising and rising
            while True:
                stop = int(np.searchsorted(rows[:, 0], block.first + block_size))
                block.add(rows[done:stop, 0], starts[done : stop + 1])
                done = stop
                if done == len(rows):
                    break
                n_bad = int(np.searchsorted(bad[:, 1], rows[done, 2]))
                _report(bad[reported:n_bad], reader)
                reported = n_bad
                X = block.finish(entries, block_size)
                there = Place(
                    document=block.first + block_size,
                    offset=int(rows[done, 2]),
                    line=int(rows[done, 3]),
                    entries=n_before + int(starts[done]) + n_bad,
                    width=X.shape[1],
                )
                yield Block(X, asdict(there))
                block = _Growing(there.document, there.width, growing, rising)
            _report(bad[reported:], reader)
            if len(rows):
                successor = int(rows[-1, 0]) + 1
            n_before += n_entries + len(bad)
    n_documents, there = reader.finish(Place(successor, entries=n_before))
    while block.first < n_documents:
        size = min(block_size, n_documents - block.first)
        X = block.finish(entries, size)
        there = replace(there, document=block.first + size, width=X.shape[1])
        yield Block(X, asdict(there))
        block = _Growing(there.document, there.width, growing)


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


def _report(bad: NDArray[np.int64], reader: Reader) -> None:
    for kind, _, line, value in bad.tolist():
        reader.report(kind, line, value)
