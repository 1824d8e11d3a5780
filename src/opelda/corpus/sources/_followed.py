"""A file that grows, through every rotation, and a folder where files arrive, as sources.

They give full blocks, so that models do not depend on the time of polls, unless patience runs out.
"""

import io
import os
import time
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl

from opelda.corpus._block import Block, BlockJoiner, Source
from opelda.corpus._replay import digest, report, unpacked
from opelda.corpus.formats import FORMATS, Format, Options
from opelda.corpus.formats._compression import CHUNK, ByteStream
from opelda.corpus.formats._detect import detect, is_vocabulary, named_files
from opelda.corpus.formats._input import ChangedError, Input, NotTextError
from opelda.corpus.formats._line_reader import LARGEST_BLOCK
from opelda.corpus.formats._text_columns import require, wanted_columns
from opelda.corpus.formats.texts import METADATA, documents_block, file_document
from opelda.corpus.sources._files import (
    END,
    Files,
    as_wanted,
    goes_on,
    has_tail,
    put_aside,
    was_reached,
)
from opelda.errors import InputError

# Seconds between two polls, and without a change until a file is complete.
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
    """A growing file that is held open, even when another file gets its name.

    It is read like a pipe: at its end a reader waits for more, until another file has had its name
    for `SETTLED` seconds. A truncated file raises `ChangedError`.
    """

    reopens = True

    def __init__(self, input: Input) -> None:
        super().__init__(input.label, input.path)
        self._handle = os.open(input.path or "", os.O_RDONLY)

    @property
    def seekable(self) -> bool:
        """True: followed files are not compressed."""
        return True

    def stat(self) -> os.stat_result:
        """Return its status."""
        return os.fstat(self._handle)

    def is_left(self) -> bool:
        """Whether another file has its name."""
        try:
            return not os.path.samestat(os.stat(self.path or ""), self.stat())
        except FileNotFoundError:
            return False

    def open(self, offset: int = 0, encoding: str = "utf-8") -> io.BufferedReader:
        """Return the content from a byte on."""
        stream = ByteStream(self._guarded(self._bytes(offset)))
        file: io.BufferedReader = io.BufferedReader(stream, CHUNK)
        return file

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def _bytes(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes from an offset on; an empty piece says "no data yet".

        The last bytes are compared with the file before each piece.
        """
        tail = os.pread(self._handle, min(offset, END), max(offset - END, 0))
        since = time.monotonic()
        while True:
            data = os.pread(self._handle, len(tail) + CHUNK, offset - len(tail))
            if len(tail) < min(offset, END) or not data.startswith(tail):
                raise ChangedError(
                    f"{self.label} was truncated; lines that were not yet read "
                    "are lost unless a copy exists."
                )
            if len(data) > len(tail):
                yield data[len(tail) :]
                offset += len(data) - len(tail)
                tail = data[-END:]
                since = time.monotonic()
                continue
            if not self.is_left():
                since = time.monotonic()
            elif time.monotonic() - since >= SETTLED:
                return
            self.patience.meanwhile()
            self.patience.paused = self.patience.is_over
            if self.patience.paused:
                yield b""
            else:
                time.sleep(POLL)


class GrowingFile(Files):
    """A growing file of lines.

    When another file gets its name, the old one is read to its end first. When it is truncated, its
    copy is read first.
    """

    def __init__(self, input: Input, format: Format, options: Options) -> None:
        if not input.seekable or not format.in_lines:
            raise InputError(
                f"{input.label} cannot be followed; use an uncompressed file of lines: text, "
                "JSON Lines, CSV, TSV or MALLET."
            )
        if options.encoding not in ("utf-8", "ascii"):
            raise InputError(
                f"{input.label} cannot be followed in {options.encoding}, only in UTF-8; "
                "convert the lines, for example with iconv in a pipe."
            )
        super().__init__([input], format, options)
        self.input = input
        self.waits = True
        self._where: Any = None  # the position after the last document in the joiner
        self._at: Any = None  # in the file that is being read
        self._since: int | None = None  # files rotated before that time (ns) are ignored

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks without an end, smaller ones if patience runs out."""
        joiner = BlockJoiner(block_size)
        left = [(input, at) for _, input, at in self.left(position)]
        while True:
            *aside, (_, at) = left  # the last is the file itself
            settling = Settling()
            while len(settling.settled(_as_found(input) for input, _ in aside)) < len(aside):
                yield from self._sleep(joiner)
            for input, start in aside:
                yield from self._read(input, start, joiner)
                self._leave(os.stat(input.path or ""))
            while not os.path.exists(self.input.path or ""):
                yield from self._sleep(joiner)
            try:
                held = HeldFile(self.input)
            except FileNotFoundError:
                left = [(self.input, at)]
                continue
            left = self._aside()
            if self._since is None:
                self._leave(held.stat())
            elif at is None and len(left) > 1:  # it was truncated before it was opened
                held.close()
                continue
            try:
                yield from self._read(held, at, joiner)
                self._leave(held.stat())
                report(f"{held.label} was rotated; the old file was read to its end.")
                left = self._aside()
            except ChangedError:
                at = self._at
                left = goes_on(self.input, self.options, at, self._ends) if at else self._aside()
            finally:
                held.close()

    def progress(self) -> None:
        """Return None: the end is unknown."""

    def _read(self, input: Input, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield the documents of one file, in blocks of the wanted size."""
        input.patience, self._at = self.patience, at
        for block in as_wanted(input, self.format, self.options, at, joiner):
            self._at = block.position
            self._where = self.position(0, self._at)
            yield from self.joined(block, joiner, self._where)
        self._note_end(input, self._at)

    def _sleep(self, joiner: BlockJoiner) -> Iterator[Block]:
        """Sleep until the next poll; yield documents before if patience runs out."""
        self.patience.meanwhile()
        if self.patience.is_over:
            self.patience.given()
            if joiner:
                yield joiner.take(self._where)
        time.sleep(POLL)

    def _leave(self, status: os.stat_result) -> None:
        self._since = max(self._since or 0, status.st_mtime_ns)

    def _aside(self) -> list[tuple[Input, Any]]:
        """Return the unread files of rotations, and the file itself."""
        aside = put_aside(self.input, self._since or 0, self.options, self._ends)
        return [*aside, (self.input, None)]


def _as_found(input: Input) -> tuple[str, int, int]:
    status = os.stat(input.path or "")
    return input.label, status.st_size, status.st_mtime_ns


class FoundFile(NamedTuple):
    """A file of a folder."""

    name: str  # its path within the folder
    path: str
    key: bytes  # of name, size and time of change


class Folder(Source):
    """The files of a folder, in the order of their names, and later ones in the order of arrival.

    A file is identified by its name, size and time of change. A followed folder gives full blocks
    only, unless patience runs out; its files must appear whole, as by renaming, or be written
    without a pause of a second.
    """

    def __init__(
        self, folder: Input, options: Options, words: list[str] | None, *, follow: bool
    ) -> None:
        self.root, self.label = os.fspath(folder.path or ""), folder.label
        self.options, self.words, self.problems = options, words, options.problems
        self._follow = self.waits = follow
        self._begun = False

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the unread files; of a followed folder full blocks, without an end."""
        files = self._found()
        done, begun, at = self._restored(position, files)
        joiner, size, settling = BlockJoiner(block_size), 0, Settling()
        while True:
            done &= {file.key for file in files}
            new = sorted(file for file in files if file.key not in done)
            ready = settling.settled(new) if self._follow else new
            # a partly read file is first: the position holds one such file
            waits = begun in {file.name for file in new} - {file.name for file in ready}
            for file in () if waits else sorted(ready, key=lambda file: file.name != begun):
                at = at if file.name == begun else None
                for block in self._of(file, at, joiner):
                    over = block.position is None
                    done |= {file.key} if over else set()
                    if isinstance(block.documents, pl.Series):
                        size += int(block.documents.estimated_size())
                    self.patience.came()
                    if joiner.add(block) or size >= LARGEST_BLOCK:
                        size = 0
                        self.patience.given()
                        yield joiner.take(_position(done, None if over else file, block.position))
                done.add(file.key)
            begun = begun if waits else None
            if not self._follow:
                break
            self.problems.warn()
            self.patience.meanwhile()
            if joiner and self.patience.is_over:
                self.patience.given()
                yield joiner.take(_position(done, None, None))
            time.sleep(POLL)
            files = self._found()
        if joiner:
            yield joiner.take(_position(done, None, None))

    def _of(self, file: FoundFile, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield the documents of a file."""
        input = Input.of(file.path)
        try:
            format = self._format(input)
        except NotTextError:
            self.problems.skip_file(file.name)
            return
        if format is not None:
            if at is not None and format.in_lines and not was_reached(input, self.options, at):
                report(f"{input.label} was replaced and is read from the start.")
                at = None
            yield from as_wanted(input, format, self.options, at, joiner)
        elif (found := file_document(file.name, file.path, self.options)) is not None:
            require(METADATA, wanted_columns(self.options), self.label)
            yield documents_block([found], [file.name], None, self.options)

    def _format(self, input: Input) -> Format | None:
        """Return the format of a file; None for one document of plain text."""
        if not self._follow or self.options.format == "files":
            return None
        if self.options.format != "auto":
            return FORMATS[self.options.format]
        found = detect(input)
        if found.kind == "counts":
            raise InputError(
                f"{input.label} holds counts ({found.name}), which is unsupported in a "
                "followed folder; use files of texts."
            )
        return None if found.name in ("lines", "files") else found

    def _found(self) -> list[FoundFile]:
        """Return the existing files."""
        found = []
        for name, path in named_files(self.root):
            if self._follow and is_vocabulary(name):
                continue
            try:
                status = os.stat(path)
            except OSError:  # removed meanwhile, or a broken link
                continue
            key = digest(f"{name}\0{status.st_size}\0{status.st_mtime_ns}".encode())
            found.append(FoundFile(name, path, key))
        return found

    def _restored(
        self, position: Any, files: list[FoundFile]
    ) -> tuple[set[bytes], str | None, Any]:
        """Return the keys of the read files, and the partly read file and the position in it."""
        is_first, self._begun = not self._begun, True
        if position is None:
            return set(), None, None
        try:
            done = set(unpacked(position["done"]))
            begun, of, at = position["file"], position["key"], position["at"]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{str(position)[:80]!r} is not a valid position in a folder; start without a "
                "position."
            ) from None
        if is_first:
            n_known = sum(file.key in done for file in files)
            report(f"{self.label}: {n_known:,} of {len(files):,} files were read already.")
        same = of is None or any(file.name == begun and file.key.hex() == of for file in files)
        return done, begun, at if has_tail(at) or same else None


def _position(done: set[bytes], begun: FoundFile | None, at: Any) -> dict[str, Any]:
    return {
        "done": b64encode(b"".join(sorted(done))).decode(),
        "file": None if begun is None else begun.name,
        "key": None if begun is None else begun.key.hex(),
        "at": at,
    }
