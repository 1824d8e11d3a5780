"""Documents that are still to come: a file that grows, a folder where files arrive.

Only full blocks are given, so that what is learned does not depend on when one looked.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from opelda.corpus._block import Block
from opelda.corpus._problems import Problems
from opelda.corpus.formats import Format, Input, Options, read_vocabulary
from opelda.corpus.formats._detect import is_vocabulary
from opelda.corpus.formats._lines import LARGEST_BLOCK
from opelda.corpus.formats.files import text_of
from opelda.corpus.sources._files import Files
from opelda.corpus.sources._joining import Gathered
from opelda.errors import InputError

# Seconds between two looks; a file that was not written to for so long has arrived.
POLL, SETTLED = 0.5, 1.0
OF_LINES = ("lines", "jsonl", "csv", "tsv", "mallet", "vw")


class GrowingFile:
    """A file of lines that somebody writes to.

    One that was cut short, or replaced by another, is read from its beginning.

    Positions are those of `Files` with this one file.
    """

    reopens = True

    def __init__(self, input: Input, format: Format, options: Options) -> None:
        if not input.seekable or format.name not in OF_LINES:
            raise InputError(
                f"{input.label} cannot be followed; only plain files of lines can: uncompressed "
                "text, JSON Lines, CSV, TSV, MALLET or Vowpal Wabbit."
            )
        if options.encoding not in ("utf-8", "ascii"):
            raise InputError(
                f"{input.label} cannot be followed in {options.encoding}, only in UTF-8; convert "
                "what is written to it, as with iconv in a pipe."
            )
        self.input = input
        self.format = format
        self.options = options
        self.problems = options.problems
        self.label = input.label
        self.words = format.words(input, options)
        self.written = self.words is not None and options.column_words is None
        self.has_words = True
        self._files = Files([input], format, options)

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks for ever."""
        _, at = self._files.place(position)
        looked_at: tuple[int, int] | None = None
        while True:
            which, size = self._state()
            if size < _offset(at) or (looked_at is not None and which != looked_at[0]):
                at = None
            if (which, size) != looked_at:
                looked_at = which, size
                for block in self._full(block_size, at):
                    at = block.position
                    yield Block(block.documents, self._files.position(0, at), block.names)
            time.sleep(POLL)

    def _state(self) -> tuple[int, int]:
        """Return which file it is, and its size; one that is being replaced has none."""
        try:
            found = os.stat(self.input.path or "")
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_size

    def _full(self, block_size: int, at: Any) -> Iterator[Block]:
        """Yield the blocks that are there for good, without waiting.

        What comes after them may be half a line: it is looked at all the same, and what seems to
        be wrong in it forgotten.
        """
        found = Problems("skip")
        options = replace(self.options, block_size=block_size, problems=found)
        for block in self.format.blocks(self.input, options, at):
            n_bytes = _offset(block.position) - _offset(at)
            # readers end a block early if it is very long
            full = len(block) == block_size or n_bytes >= LARGEST_BLOCK
            if not (full and self._is_whole(block.position)):
                return
            self.problems.confirm(found)
            found.clear()
            at = block.position
            yield block

    def _is_whole(self, position: Any) -> bool:
        """Whether the last line before a position has its end."""
        if self.input.path is None:
            return True
        with self.input.path.open("rb") as file:
            file.seek(max(_offset(position) - 1, 0))
            return file.read(1) == b"\n"

    def progress(self) -> None:
        """Return None: there is no end."""


class ArrivingFiles:
    """A folder; every file that appears in it is read once, in the order of the names.

    `format_of` says what format a file is in; None: it is one document. Folders in it and
    vocabularies are not looked at. A file must appear whole, as by renaming, or be written without
    a pause of a second.

    A position is ``{"done": names, "file": the one being read or None, "at": the place in it}``.
    """

    reopens = True

    def __init__(
        self, folder: Path, options: Options, format_of: Callable[[Input], Format | None]
    ) -> None:
        self.folder = folder
        self.options = options
        self.problems = options.problems
        self.label = str(folder)
        self.words = (
            read_vocabulary(Input.of(options.column_words)) if options.column_words else None
        )
        self.written = False
        self.has_words = True
        self._format_of = format_of

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks for ever."""
        done, begun, at = _read_place(position)
        gathered = Gathered(block_size)
        while True:
            for name in [begun] if begun else self._arrived(done):
                if not (self.folder / name).is_file():  # it is gone again
                    done.add(name)
                    continue
                for block in self._of(name, at, gathered):
                    if gathered.add(block):
                        over = block.position is None
                        place = {
                            "done": sorted(done | {name} if over else done),
                            "file": None if over else name,
                            "at": block.position,
                        }
                        yield gathered.take(place)
                done.add(name)
                at = None
            begun = None
            time.sleep(POLL)

    def _of(self, name: str, at: Any, gathered: Gathered) -> Iterator[Block]:
        """Yield one file's documents, as many at a time as are wanted just then."""
        input = Input.of(self.folder / name)
        format = self._format_of(input)
        if format is None:
            text = text_of(input, self.options)
            if text is not None:
                yield Block(pl.Series([text], dtype=pl.String), None, [name])
            return
        while True:
            size = gathered.missing
            for block in format.blocks(input, replace(self.options, block_size=size), at):
                at = block.position
                yield block
                if gathered.missing != size:
                    break
            else:
                return

    def _arrived(self, done: set[str]) -> list[str]:
        """Return the new files that nobody is writing to any more."""
        now, names = time.time(), []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    if entry.name in done or entry.name.startswith(".") or not entry.is_file():
                        continue
                    if is_vocabulary(entry.name):
                        continue
                    if now - entry.stat().st_mtime >= SETTLED:
                        names.append(entry.name)
        except OSError as error:
            raise InputError(
                f"The folder {self.folder} cannot be read: {error.strerror}; check it, and go on."
            ) from None
        return sorted(names)

    def progress(self) -> None:
        """Return None: there is no end."""


def _offset(position: Any) -> int:
    value = position.get("offset", 0) if isinstance(position, dict) else 0
    return value if isinstance(value, int) else 0


def _read_place(position: Any) -> tuple[set[str], str | None, Any]:
    if position is None:
        return set(), None, None
    done = position.get("done") if isinstance(position, dict) else None
    if not isinstance(done, list) or not all(isinstance(name, str) for name in done):
        raise InputError(f"{position!r} is not a place in a folder; begin again without it.")
    return set(done), position.get("file"), position.get("at")
