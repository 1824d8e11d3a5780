"""A folder as a source: every file in it and in its folders is read once."""

import os
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from opelda.corpus._block import Block, BlockJoiner, Source
from opelda.corpus._replay import digest, report, unpacked
from opelda.corpus.formats import Format, Options
from opelda.corpus.formats._detect import is_vocabulary
from opelda.corpus.formats._input import Input, NotTextError, printable
from opelda.corpus.formats._line_reader import LARGEST_BLOCK
from opelda.corpus.formats._text_columns import as_series
from opelda.corpus.formats.texts import file_text, named_files
from opelda.corpus.sources import _followed
from opelda.corpus.sources._files import as_wanted, has_tail, was_reached
from opelda.errors import InputError


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
        self,
        folder: Path,
        options: Options,
        format_of: Callable[[Input], Format | None],  # None: the file is one document
        *,
        follow: bool,
        words: list[str] | None = None,
    ) -> None:
        self.root, self.options, self.words = os.fspath(folder), options, words
        self.problems = options.problems
        self.label = printable(self.root)
        self._format_of = format_of
        self._follow = self.waits = follow
        self._begun = False

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the unread files; of a followed folder full blocks, without an end."""
        files = self._found()
        done, begun, at = self._restored(position, files)
        joiner, size, settling = BlockJoiner(block_size), 0, _followed.Settling()
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
            time.sleep(_followed.POLL)
            files = self._found()
        if joiner:
            yield joiner.take(_position(done, None, None))

    def _of(self, file: FoundFile, at: Any, joiner: BlockJoiner) -> Iterator[Block]:
        """Yield the documents of a file."""
        input = Input.of(file.path)
        try:
            format = self._format_of(input)
        except NotTextError:
            self.problems.skip_binary(input.label)
            return
        if format is not None:
            if at is not None and format.in_lines and not was_reached(input, self.options, at):
                report(f"{input.label} is another file than before: it is read from its beginning.")
                at = None
            yield from as_wanted(input, format, self.options, at, joiner)
        elif (text := file_text(file.path, self.options)) is not None:
            yield Block(as_series([text]), None, {None: as_series([file.name])})

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
                f"{str(position)[:80]!r} is no position in a folder; start without one."
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
