"""Files of one format as a source, identified by content when they are moved or rotated."""

import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from opelda.corpus._block import Block, BlockJoiner, Patience, Source
from opelda.corpus._replay import report, unpacked
from opelda.corpus.formats import Format, Options
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._input import Input, printable
from opelda.corpus.formats._line_reader import LineReader
from opelda.errors import InputError

N_ENDS = 100  # files whose last positions are kept, in case they grow; others have a digest
END = 1 << 12  # bytes at either end of a file that identify it

# A file, and the position in it where reading resumes.
Part = tuple[Input, Any]


class Files(Source):
    """Files of one format, read in their order; a block may continue in the next file.

    A position has the number and name of the file, the position in it, keys of the files that are
    "done", and the last positions in some of these ("ends").
    """

    def __init__(self, inputs: list[Input], format: Format, options: Options) -> None:
        self.inputs, self.format, self.options = inputs, format, options
        self.problems = options.problems
        self.label = inputs[0].label if len(inputs) == 1 else f"{len(inputs)} files"
        self.words = format.words(inputs[0], options)
        for input in inputs[1:] if options.column_words is None else ():
            if format.words(input, options) != self.words:
                raise InputError(
                    f"{input.label} has a different vocabulary file than {inputs[0].label}; "
                    f"read the files separately, or pass one vocabulary with {{column_words}}.",
                    column_words=...,
                )
        self.reopens = all(input.reopens for input in inputs)
        self.waits = not self.reopens
        self.has_words = format.kind == "text" or self.words is not None
        # LDA-C's files do not contain the number of words
        self.may_lack_columns = format.name == "ldac"
        self._current = 0
        self._done: list[bytes] = []
        self._ends: list[Any] = []

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        joiner = BlockJoiner(block_size)
        where: dict[str, Any] = {}
        try:
            for number, input, at in self.left(position):
                self._current = number
                for block in as_wanted(input, self.format, self.options, at, joiner):
                    at = block.position
                    where = self.position(number, at)
                    yield from self.joined(block, joiner, where)
                if input.is_file and len(self.inputs) > 1:
                    size = input.n_read if self.format.in_lines else input.size or 0
                    self._done.append(key_of(input, size))
                    self._note_end(input, at)
        except InputError:
            if joiner and not self.reopens:  # a pipe cannot give these documents again
                yield joiner.take(where)
            raise
        if joiner:
            yield joiner.take(where)

    def joined(self, block: Block, joiner: BlockJoiner, where: Any) -> Iterator[Block]:
        """Yield a block when it has the wanted size, or patience runs out."""
        is_full = len(block) > 0 and joiner.add(block)
        if is_full or self.patience.paused:
            self.patience.given()
            if joiner:
                yield joiner.take(where)

    def left(self, position: Any) -> Iterator[tuple[int, Input, Any]]:
        """Yield the unread files, their numbers, and the position in each."""
        self._done, self._ends = [], []
        if position is None:
            for number, input in enumerate(self.inputs):
                input.report(None)
                yield number, input, None
            return
        reached = self._restored(position)
        ends = [reached, *reversed(self._ends)]
        # a pipe can be opened only once
        keys = [key_of(one, one.size) if one.size is not None else b"" for one in self.inputs]
        known = Counter(self._done) & Counter(keys)
        self._done = list(known.elements())
        for number, (input, key) in enumerate(zip(self.inputs, keys, strict=True)):
            if known[key]:
                known[key] -= 1
                ends = [end for end in ends if end is reached or end[0] != _name(input)]
                continue
            found = next((end for end in ends if self._was_reached(input, end)), None)
            # a file of that name in which the position was not reached: it was rotated
            is_named = reached[0] == _name(input) and self.format.in_lines and input.is_file
            if found is None and reached in ends and is_named:
                others = any(self._was_reached(other, reached) for other in self.inputs)
                found = None if others else reached
            if found is None:
                input.report("is new and is read from the start")
                yield number, input, None
                continue
            ends.remove(found)
            given = {other.path for other in self.inputs if other is not input}
            for other, start in goes_on(input, self.options, found[1], self._ends):
                if other.path not in given:
                    yield number, other, start

    def position(self, number: int, at: Any) -> dict[str, Any]:
        """Return the position in the source for a position in a file."""
        input = self.inputs[number]
        where = {
            "file": number,
            "name": _name(input),
            "at": at,
            "done": b64encode(b"".join(sorted(self._done))).decode(),
            "ends": self._ends,
        }
        if not self.format.in_lines and input.is_file and input.size is not None:
            where["id"] = [input.size, key_of(input, input.size).hex()]
        return where

    def _restored(self, position: Any) -> list[Any]:
        """Restore a position; return the name of its file, the position there, and its key."""
        try:
            self._done = unpacked(position["done"])
            self._ends = [[str(name), at] for name, at in position["ends"]]
            return [str(position["name"]), position["at"], position.get("id")]
        except (KeyError, TypeError, ValueError):
            raise InputError(
                f"{str(position)[:80]!r} is not a valid position in {self.label}; start "
                "without a position."
            ) from None

    def _was_reached(self, input: Input, end: list[Any]) -> bool:
        """Whether a position was reached in this file."""
        if not input.is_file or input.is_folder:
            return bool(end[0] == _name(input))
        if self.format.in_lines:
            return has_tail(end[1]) and was_reached(input, self.options, end[1])
        match end[2]:
            case [int(size), str(key)]:
                return key_of(input, size).hex() == key
        return False

    def _note_end(self, input: Input, at: Any) -> None:
        if at is not None and self.format.in_lines:
            self._ends = [*self._ends, [_name(input), at]][-N_ENDS:]

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """Let a pipe end as soon as this is true."""
        for input in self.inputs:
            input.is_ended = None if input.reopens else is_ended

    def wait_at_most(self, patience: Patience) -> None:
        """Bound the time that lines of a pipe wait."""
        super().wait_at_most(patience)
        for input in self.inputs:
            if not input.reopens and self.format.in_lines:
                input.patience = patience

    def progress(self) -> tuple[int, int] | None:
        """Return the bytes read and the bytes in all; None if unknown."""
        sizes = [size for input in self.inputs if (size := input.size) is not None]
        if len(sizes) < len(self.inputs):
            return None
        return sum(sizes[: self._current]) + self.inputs[self._current].n_read, sum(sizes)


def as_wanted(
    input: Input, format: Format, options: Options, at: Any, joiner: BlockJoiner
) -> Iterator[Block]:
    """Yield a file's documents in blocks of the size that the joiner lacks."""
    while True:
        size = joiner.missing
        for block in format.blocks(input, replace(options, block_size=size), at):
            at = block.position
            yield block
            # a reader gives blocks of one size: for another size the file is opened again
            if joiner.missing != size and len(block) >= size and input.reopens:
                break
        else:
            return


def key_of(input: Input, size: int) -> bytes:
    """Return a digest of the first `size` bytes of a stored file: of both their ends."""
    digest = blake2b(str(size).encode(), digest_size=8)
    try:
        with open(input.path or "", "rb") as file:
            digest.update(file.read(min(END, size)))
            file.seek(max(size - END, 0))
            digest.update(file.read(min(END, size)))
    except OSError:  # the file was removed
        pass
    return digest.digest()


def has_tail(at: Any) -> bool:
    """Whether a position identifies a file of lines by the bytes before it."""
    return isinstance(at, dict) and "tail" in at


def was_reached(input: Input, options: Options, at: Any) -> bool:
    """Whether the bytes before a position are those in this file."""
    try:
        with LineReader(input, options, at):
            return True
    except InputError:  # another or damaged file
        return False


def goes_on(input: Input, options: Options, at: Any, ends: Sequence[Any] = ()) -> list[Part]:
    """Return the files to read after a position, oldest first, and the position in each.

    If the position was not reached in the file, these are the file beside it where it was, the
    files of later rotations that were not read to one of the `ends`, and the whole file.
    """
    if not (has_tail(at) and input.is_file):
        if input.is_file:
            input.report("is read from the last position")
        return [(input, at)]
    if was_reached(input, options, at):
        input.report(f"is read from line {at['line'] + 1:,}")
        return [(input, at)]
    other = f"than the file that was read up to line {at['line']:,}"
    for path in _beside(input.path or Path()):
        former = Input.of(path)
        if was_reached(former, options, at):
            report(f"{input.label} is another file {other}; {former.label} is read to its end.")
            aside = put_aside(input, path.stat().st_mtime_ns, options, ends)
            return [(former, at), *(part for part in aside if part[0].path != path), (input, None)]
    report(f"{input.label} is another file {other}, which is missing; all lines are read as new.")
    return [(input, None)]


def put_aside(input: Input, since: int, options: Options, ends: Sequence[Any]) -> list[Part]:
    """Return the unread files that a log was rotated into after a time (ns)."""
    path = input.path or Path()
    stem, suffix = re.escape(path.stem), re.escape(path.suffix)
    number = r"[._-]\d[\d._T-]*"
    rotated = re.compile(f"{stem}{suffix}{number}|{stem}{number}{suffix}")
    names = (other for other in _beside(path) if rotated.fullmatch(without_suffix(other.name)[0]))
    times = sorted((other.stat().st_mtime_ns, other) for other in names)
    found = [Input.of(other) for time, other in times if time >= since]
    return [
        (one, None) for one in found if not any(was_reached(one, options, at) for _, at in ends)
    ]


def _beside(path: Path) -> list[Path]:
    """Return up to 100 other files in the folder with the same stem, newest first."""
    with os.scandir(path.parent) as entries:
        found = [
            (entry.stat().st_mtime_ns, path.parent / entry.name)
            for entry in entries
            if entry.name.startswith(path.stem) and entry.name != path.name and entry.is_file()
        ]
    return [other for _, other in sorted(found, reverse=True)[:100]]


def _name(input: Input) -> str:
    return "-" if input.path is None else printable(input.path.name)
