"""A file that grows as a source, through every rotation.

Only full blocks are given, so that what is learned does not depend on when one looked; but for what
has waited for too long (`Patience`).
"""

import os
import time
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any

from opelda.corpus._block import Block, BlockJoiner
from opelda.corpus._problems import Problems
from opelda.corpus._replay import report
from opelda.corpus.formats import Format, Input, Options
from opelda.corpus.formats._compression import CHUNK, ByteStream
from opelda.corpus.formats._input import ChangedError
from opelda.corpus.formats._line_reader import LARGEST_BLOCK
from opelda.corpus.sources._files import END, Files, as_wanted, goes_on, put_aside, was_reached
from opelda.errors import InputError

# Seconds between two looks; a file that was not written to for so long has arrived, or is left.
POLL, SETTLED = 0.5, 1.0


class Settling:
    """Finds complete files: those unchanged for `SETTLED` seconds of the monotonic clock.

    Modification times are compared with each other only, as they may lie in the future.
    """

    def __init__(self) -> None:
        self._since: dict[Any, float] = {}

    def settled(self, files: Iterable[Any]) -> list[Any]:
        """Return the complete files; a changed file must differ from what it was."""
        now = time.monotonic()
        self._since = {file: self._since.get(file, now) for file in files}
        return [file for file, since in self._since.items() if now - since >= SETTLED]


class HeldFile(Input):
    """A file that is held open: it stays itself when its name goes to another."""

    reopens = True

    def __init__(self, input: Input) -> None:
        super().__init__(input.label, input.path)
        self._handle = os.open(input.path or "", os.O_RDONLY)
        self.end = 2**63  # nothing is read beyond it

    @classmethod
    def of_name(cls, input: Input) -> "HeldFile | None":
        """Return a file held open; None while there is none."""
        try:
            return cls(input)
        except FileNotFoundError:
            return None

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

    def is_left(self) -> bool:
        """Whether another file has its name."""
        try:
            found, own = os.stat(self.path or ""), self.stat()
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino)

    def before(self, offset: int) -> bytes:
        """Return some bytes before an offset."""
        first = max(offset - END, 0)
        return os.pread(self._handle, offset - first, first)

    def end_of_lines(self) -> int:
        """Return the offset of the end of the last line that has one."""
        at = self.size
        while at and not (found := self.before(at).rfind(b"\n") + 1):
            at = max(at - END, 0)
        return max(at - END, 0) + found if at else 0

    def close(self) -> None:
        """Let go of it."""
        os.close(self._handle)

    def _stored(self, offset: int = 0) -> ByteStream:
        return ByteStream(self._guarded(self._bytes(offset)))

    def _bytes(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes from an offset on; several readers do not disturb each other."""
        while data := os.pread(self._handle, max(min(CHUNK, self.end - offset), 0), offset):
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
                "text, JSON Lines, CSV, TSV or MALLET."
            )
        if options.encoding not in ("utf-8", "ascii"):
            raise InputError(
                f"{input.label} cannot be followed in {options.encoding}, only in UTF-8; convert "
                "what is written to it, as with iconv in a pipe."
            )
        super().__init__([input], format, options)
        self.input = input
        self.waits = True
        self._where: Any = None  # the position after the last document in hand
        self._at: Any = None  # in the file that is being read
        self._since: int | None = None  # what was put aside before that (ns) is no concern of ours

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield blocks for ever, full ones unless patience runs out."""
        joiner = BlockJoiner(block_size)
        left = [(input, at) for _, input, at in self.left(position)]
        while True:
            *aside, (_, self._at) = left  # the last is the file itself
            settling = Settling()
            while len(settling.settled(_as_found(input) for input, _ in aside)) < len(aside):
                yield from self._sleep(joiner)
            for input, at in aside:
                yield from self._rest(input, at, joiner)
                self._leave(os.stat(input.path or ""))
            while (held := HeldFile.of_name(self.input)) is None:
                yield from self._sleep(joiner)
            try:
                left = yield from self._grown(held, joiner)
            except ChangedError:
                at = self._at
                left = goes_on(self.input, self.options, at, self._ends) if at else self._aside()
            finally:
                held.close()

    def progress(self) -> None:
        """Return None: nobody knows how much is still to come."""

    def _grown(
        self, held: HeldFile, joiner: BlockJoiner
    ) -> Generator[Block, None, list[tuple[Input, Any]]]:
        """Yield full blocks until the file is another one; return what is to be read after it."""
        if self._since is None:
            self._leave(held.stat())
        elif self._at is None and len(left := self._aside()) > 1:
            return left  # it was copied and cut short before it was opened
        size, tail, looked_at, since = 0, b"", 0, time.monotonic()
        while True:
            found = held.stat()
            if found.st_mtime_ns != looked_at or found.st_size != size:
                if found.st_size < size or held.before(size) != tail:
                    raise ChangedError(f"{held.label} was cut short; look for its copy.")
                size, tail = found.st_size, held.before(found.st_size)
                looked_at, since = found.st_mtime_ns, time.monotonic()
                for block in self._full(held, joiner):
                    yield from self._given(block, joiner)
            elif held.is_left() and time.monotonic() - since >= SETTLED:
                yield from self._rest(held, self._at, joiner)
                self._leave(found)
                report(f"{held.label} was rotated; the old file was read to its end before.")
                return self._aside()
            if size > _offset(self._at):
                self.patience.came()
            if self.patience.is_over:
                for block in self._full(held, joiner, partly=True):
                    yield from self._given(block, joiner)
            yield from self._sleep(joiner)

    def _given(self, block: Block, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield a block of the wanted size as soon as there is one."""
        self._at, self._where = block.position, self.position(0, block.position)
        if joiner.add(block):
            self.patience.given()
            yield joiner.take(self._where)
        else:
            self.patience.came()

    def _sleep(self, joiner: BlockJoiner) -> Iterator[Block]:
        """Wait a little; yield before what has waited for long enough."""
        self.patience.meanwhile()
        if self.patience.is_over:
            self.patience.given()
            if joiner:
                yield joiner.take(self._where)
        time.sleep(POLL)

    def _rest(self, input: Input, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield what is left of a file that nobody writes to any more."""
        for block in as_wanted(input, self.format, self.options, at, joiner):
            at = block.position
            yield from self._given(block, joiner)
        self._note_end(input, at)

    def _leave(self, status: os.stat_result) -> None:
        self._since = max(self._since or 0, status.st_mtime_ns)

    def _aside(self) -> list[tuple[Input, Any]]:
        """Return the files that were put aside and not read, and then the file itself."""
        aside = put_aside(self.input, self._since or 0, self.options, self._ends)
        return [*aside, (self.input, None)]

    def _full(
        self, held: HeldFile, joiner: BlockJoiner, *, partly: bool = False
    ) -> Iterator[Block]:
        """Yield the blocks that are there for good, without waiting; the last one `partly` full."""
        # what comes after them may be half a line: what seems to be wrong in it is forgotten
        found = Problems("skip")
        size, at = 0, self._at
        held.end = held.end_of_lines() if partly else 2**63
        while size != joiner.missing:
            size = joiner.missing
            options = replace(self.options, block_size=size, problems=found)
            for block in self.format.blocks(held, options, at):
                n_bytes = _offset(block.position) - _offset(at)
                # readers end a block early if it is very long
                full = partly or len(block) == size or n_bytes >= LARGEST_BLOCK
                if not (full and held.before(_offset(block.position)).endswith(b"\n")):
                    return
                # it may have been cut short while it was read
                if not was_reached(held, self.options, block.position):
                    raise ChangedError(f"{held.label} was cut short while it was read; look again.")
                if partly and found.n_skipped and self.format.name == "csv":
                    return  # a row may have lines that are still to come
                self.problems.take(found)
                at = block.position
                yield block
                if joiner.missing != size:
                    break


def _as_found(input: Input) -> tuple[str, int, int]:
    status = os.stat(input.path or "")
    return input.label, status.st_size, status.st_mtime_ns


def _offset(position: Any) -> int:
    value = position.get("offset", 0) if isinstance(position, dict) else 0
    return value if isinstance(value, int) else 0
