"""A file that grows as a source, through every rotation.

Only full blocks are given, so that what is learned does not depend on when one looked.
"""

import os
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from opelda.corpus._block import Block, BlockJoiner
from opelda.corpus._problems import Problems
from opelda.corpus.formats import Format, Input, Options
from opelda.corpus.formats._compression import CHUNK, Stream
from opelda.corpus.formats._input import ChangedError
from opelda.corpus.formats._line_reader import LARGEST_BLOCK
from opelda.corpus.sources._file_source import Files, as_wanted
from opelda.corpus.sources._rotation import goes_on, is_where, put_aside
from opelda.errors import InputError

# Seconds between two looks; a file that was not written to for so long has arrived, or is left.
POLL, SETTLED = 0.5, 1.0

# A file, and the position to go on from in it.
Part = tuple[Input, Any]


class Held(Input):
    """A file that is held open: it stays itself when its name goes to another."""

    reopens = True

    def __init__(self, input: Input) -> None:
        super().__init__(input.label, input.path)
        self._handle = os.open(input.path or "", os.O_RDONLY)

    @property
    def size(self) -> int:
        """Bytes on disk."""
        return self.stat().st_size

    @property
    def seekable(self) -> bool:
        """Whether one can go to a byte: what is followed is not compressed."""
        return True

    def stat(self) -> os.stat_result:
        """Return its status."""
        return os.fstat(self._handle)

    def ends_line(self, offset: int) -> bool:
        """Whether the last line before an offset has its end."""
        return os.pread(self._handle, 1, max(offset - 1, 0)) == b"\n"

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def _stored(self, offset: int = 0) -> Stream:
        return Stream(self._guarded(self._bytes(offset)))

    def _bytes(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes from an offset on; several readers do not disturb each other."""
        while data := os.pread(self._handle, CHUNK, offset):
            offset += len(data)
            yield data


class GrowingFile(Files):
    """A file of lines that somebody writes to.

    It is held open: when its name goes to another file, what is still written to it is read, until
    nobody writes any more, and then the other. When it was cut short, the copy is read first.
    """

    def __init__(self, input: Input, format: Format, options: Options) -> None:
        if not input.seekable or not format.in_lines:
            raise InputError(
                f"{input.label} cannot be followed; only plain files of lines can: uncompressed "
                "text, JSON Lines, CSV, TSV, MALLET or Vowpal Wabbit."
            )
        if options.encoding not in ("utf-8", "ascii"):
            raise InputError(
                f"{input.label} cannot be followed in {options.encoding}, only in UTF-8; convert "
                "what is written to it, as with iconv in a pipe."
            )
        super().__init__([input], format, options)
        self.input = input
        self._left: list[os.stat_result] = []  # files that were read to their end

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks for ever."""
        joiner = BlockJoiner(block_size)
        left = [(input, at) for _, input, at in self.left(position)]
        while True:
            for input, at in left:
                if input is self.input:
                    left = yield from self._grown(at, joiner)
                    break
                rest = as_wanted(input, self.format, self.options, at, joiner)
                yield from self._given(rest, joiner)

    def progress(self) -> None:
        """Return None: nobody knows how much is still to come."""

    def _given(self, blocks: Iterator[Block], joiner: BlockJoiner) -> Iterator[Block]:
        """Yield blocks of the wanted size."""
        for block in blocks:
            if joiner.add(block):
                yield joiner.take(self.position(0, block.position))

    def _grown(self, at: Any, joiner: BlockJoiner) -> Generator[Block, None, list[Part]]:
        """Yield full blocks until the file is another one; return what is to be read after it."""
        while not (held := self._held()):
            time.sleep(POLL)
        looked_at, since = (-1, -1), time.monotonic()
        try:
            while True:
                found = held.stat()
                if (state := (found.st_size, found.st_mtime_ns)) != looked_at:
                    looked_at, since = state, time.monotonic()
                    try:
                        for block in self._full(held, at, joiner):
                            at = block.position
                            yield from self._given(iter([block]), joiner)
                    except ChangedError:
                        return goes_on(self.input, self.options, at)
                elif self._is_left(found) and time.monotonic() - since >= SETTLED:
                    rest = as_wanted(held, self.format, self.options, at, joiner)
                    yield from self._given(rest, joiner)
                    self._left = [*self._left[-100:], found]
                    between = put_aside(self.input, found.st_mtime_ns)
                    new = [path for path in between if not self._was_read(path)]
                    return [*((Input.of(path), None) for path in new), (self.input, None)]
                time.sleep(POLL)
        finally:
            held.close()

    def _held(self) -> "Held | None":
        """Return the file, held open; None while there is none."""
        try:
            return Held(self.input)
        except FileNotFoundError:
            return None

    def _was_read(self, path: Path) -> bool:
        return any(os.path.samestat(path.stat(), found) for found in self._left)

    def _is_left(self, held: os.stat_result) -> bool:
        """Whether another file has the name."""
        try:
            found = os.stat(self.input.path or "")
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) != (held.st_dev, held.st_ino)

    def _full(self, held: Held, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield the blocks that are there for good, without waiting."""
        # what comes after them may be half a line: what seems to be wrong in it is forgotten
        found = Problems("skip")
        size = 0
        while size != joiner.missing:
            size = joiner.missing
            options = replace(self.options, block_size=size, problems=found)
            for block in self.format.blocks(held, options, at):
                n_bytes = _offset(block.position) - _offset(at)
                # readers end a block early if it is very long
                full = len(block) == size or n_bytes >= LARGEST_BLOCK
                if not (full and held.ends_line(_offset(block.position))):
                    return
                # it may have been cut short while it was read
                if not is_where(held, self.options, block.position):
                    raise ChangedError(f"{held.label} was cut short while it was read; look again.")
                self.problems.take(found)
                at = block.position
                yield block
                if joiner.missing != size:
                    break


def _offset(position: Any) -> int:
    value = position.get("offset", 0) if isinstance(position, dict) else 0
    return value if isinstance(value, int) else 0
