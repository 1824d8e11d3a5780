"""Sources that are followed: a file that grows, a folder where files arrive.

Only full blocks are given, so that what is learned does not depend on when one looked.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from opelda.corpus._block import Block, BlockJoiner
from opelda.corpus._problems import Problems
from opelda.corpus.formats import Format, Input, Options, read_vocabulary
from opelda.corpus.formats._detect import is_vocabulary
from opelda.corpus.formats._line_reader import LARGEST_BLOCK
from opelda.corpus.formats.folder import text_of
from opelda.corpus.sources._file_source import Files, as_wanted
from opelda.corpus.sources._source import Source
from opelda.errors import InputError

# Seconds between two looks; a file that was not written to for so long has arrived.
POLL, SETTLED = 0.5, 1.0


class GrowingFile(Files):
    """A file of lines that somebody writes to."""

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

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks for ever."""
        _, at = self.split(position)
        looked_at: tuple[int, int] | None = None
        while True:
            which, size = self._state()
            # cut short, or replaced by another: from the beginning
            if size < _offset(at) or (looked_at is not None and which != looked_at[0]):
                at = None
            if (which, size) != looked_at:
                looked_at = which, size
                for block in self._full(block_size, at):
                    at = block.position
                    yield replace(block, position=self.position(0, at))
            time.sleep(POLL)

    def progress(self) -> None:
        """Return None: nobody knows how much is still to come."""

    def _state(self) -> tuple[int, int]:
        """Return which file it is, and its size; one that is being replaced has none."""
        try:
            found = os.stat(self.input.path or "")
        except FileNotFoundError:
            return 0, 0
        return found.st_ino, found.st_size

    def _full(self, block_size: int, at: Any) -> Iterator[Block]:
        """Yield the blocks that are there for good, without waiting."""
        # what comes after them may be half a line: what seems to be wrong in it is forgotten
        found = Problems("skip")
        options = replace(self.options, block_size=block_size, problems=found)
        for block in self.format.blocks(self.input, options, at):
            n_bytes = _offset(block.position) - _offset(at)
            # readers end a block early if it is very long
            full = len(block) == block_size or n_bytes >= LARGEST_BLOCK
            if not (full and self._is_whole(block.position)):
                return
            self.problems.take(found)
            at = block.position
            yield block

    def _is_whole(self, position: Any) -> bool:
        """Whether the last line before a position has its end."""
        with open(self.input.path or "", "rb") as file:
            file.seek(max(_offset(position) - 1, 0))
            return file.read(1) == b"\n"


class ArrivingFiles(Source):
    """A folder; every file that appears in it is read once, in the order of the names.

    A file must appear whole, as by renaming, or be written without a pause of a second.
    """

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
        self._format_of = format_of  # None: the file is one document

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield full blocks for ever."""
        done, begun, at = _split(position)
        joiner = BlockJoiner(block_size)
        while True:
            for name in [begun] if begun else self._arrived(done):
                if not (self.folder / name).is_file():  # it is gone again
                    done.add(name)
                    continue
                for block in self._of(name, at, joiner):
                    if joiner.add(block):
                        over = block.position is None
                        after = {
                            "done": sorted(done | {name} if over else done),
                            "file": None if over else name,
                            "at": block.position,
                        }
                        yield joiner.take(after)
                done.add(name)
                at = None
            begun = None
            time.sleep(POLL)

    def _of(self, name: str, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        input = Input.of(self.folder / name)
        format = self._format_of(input)
        if format is not None:
            yield from as_wanted(input, format, self.options, at, joiner)
        elif (text := text_of(input, self.options)) is not None:
            yield Block(pl.Series([text], dtype=pl.String), None, [name])

    def _arrived(self, done: set[str]) -> list[str]:
        """Return the new files that nobody is writing to any more."""
        now, names = time.time(), []
        try:
            with os.scandir(self.folder) as entries:
                for entry in entries:
                    new = entry.name not in done and not entry.name.startswith(".")
                    if not new or not entry.is_file() or is_vocabulary(entry.name):
                        continue
                    if now - entry.stat().st_mtime >= SETTLED:
                        names.append(entry.name)
        except OSError as error:
            raise InputError(
                f"The folder {self.folder} cannot be read: {error.strerror}; check it, and go on."
            ) from None
        return sorted(names)


def _offset(position: Any) -> int:
    value = position.get("offset", 0) if isinstance(position, dict) else 0
    return value if isinstance(value, int) else 0


def _split(position: Any) -> tuple[set[str], str | None, Any]:
    if position is None:
        return set(), None, None
    done = position.get("done") if isinstance(position, dict) else None
    if not isinstance(done, list) or not all(isinstance(name, str) for name in done):
        raise InputError(f"{position!r} is not a place in a folder; begin again without it.")
    return set(done), position.get("file"), position.get("at")
