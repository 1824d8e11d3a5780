"""Files of one format as a source, read one after the other."""

from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from opelda.corpus._block import Block, BlockJoiner
from opelda.corpus._replay import unpacked
from opelda.corpus._timeout import Patience
from opelda.corpus.formats import Format, Input, Options
from opelda.corpus.formats._input import printable
from opelda.corpus.sources._rotation import goes_on, is_where, key_of
from opelda.corpus.sources._source import Source
from opelda.errors import InputError

# Files whose ends are remembered, should they grow; of those before them it is known what they are.
N_ENDS = 100


class Files(Source):
    """Files of one format, read in their order; a block may end in another file than it began.

    A position has the number of the file, its name, the position in it, keys of the contents of
    those that were read to their end ("done") and the last positions in some of these ("ends").
    """

    def __init__(self, inputs: list[Input], format: Format, options: Options) -> None:
        self.inputs = inputs
        self.format = format
        self.options = options
        self.problems = options.problems
        self.label = inputs[0].label if len(inputs) == 1 else f"{len(inputs)} files"
        self.words = _common_words(inputs, format, options)
        self.reopens = all(input.reopens for input in inputs)
        self.waits = not self.reopens
        self.has_words = format.kind == "text" or self.words is not None
        # the files of LDA-C do not say how many words there are
        self.may_lack_columns = format.name == "ldac"
        self._current = 0
        self._done: list[bytes] = []
        self._ends: list[Any] = []

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        joiner = BlockJoiner(block_size)
        where: dict[str, Any] = {}
        failure = None
        try:
            for number, input, at in self.left(position):
                self._current = number
                for block in as_wanted(input, self.format, self.options, at, joiner):
                    at = block.position
                    where = self.position(number, at)
                    if joiner.add(block) or self.patience.paused:
                        self.patience.given()
                        yield joiner.take(where)
                self._finish(input, at)
        except InputError as error:
            if self.reopens:
                raise
            failure = error  # what was read before it will not come again
        if joiner:
            yield joiner.take(where)
        if failure is not None:
            raise failure

    def left(self, position: Any) -> Iterator[tuple[int, Input, Any]]:
        """Yield the files that are left to read, their numbers, and the position in each."""
        self._done, self._ends = [], []
        first, at = (0, None) if position is None else self._split(position)
        if position is None or "done" not in position:  # a former version's knows the order alone
            for number in range(first, len(self.inputs)):
                self.inputs[number].report(None)
                yield number, self.inputs[number], at if number == first else None
            return
        reached = [position.get("name"), at, position.get("id")]
        ends = [reached, *reversed(self._ends)]
        # a pipe must not be opened only to look at it
        keys = [key_of(one, one.size) if one.size is not None else b"" for one in self.inputs]
        known = Counter(self._done) & Counter(keys)
        self._done = list(known.elements())  # files that are gone are forgotten
        for number, input in enumerate(self.inputs):
            name = self._name(number)
            if known[keys[number]]:
                known[keys[number]] -= 1
                ends = [end for end in ends if end is reached or end[0] != name]
                continue
            found = next((end for end in ends if self._is(number, end)), None)
            if found is None and reached in ends and self._is_rotated(number, reached):
                found = reached
            if found is None:
                input.report("is new: all of it is read")
                yield number, input, None
                continue
            ends.remove(found)
            given = {other.path for other in self.inputs if other is not input}
            for other, start in goes_on(input, self.options, found[1], self._ends):
                if other.path not in given:
                    yield number, other, start

    def position(self, number: int, at: Any) -> dict[str, Any]:
        """Return the position in the source of a position in a file."""
        where = {
            "file": number,
            "name": self._name(number),
            "at": at,
            "done": b64encode(b"".join(sorted(self._done))).decode(),
            "ends": self._ends,
        }
        input = self.inputs[number]
        if not self.format.in_lines and input.is_file and input.size is not None:
            where["id"] = [input.size, key_of(input, input.size).hex()]
        return where

    def _split(self, position: Any) -> tuple[int, Any]:
        """Return the number of the file that a position is in, and the position in the file."""
        number: Any = position.get("file") if isinstance(position, dict) else None
        good = isinstance(number, int) and number >= 0
        if good and "done" in position:
            try:
                self._done = unpacked(position["done"])
                self._ends = [[str(name), at] for name, at in position["ends"]]
            except (KeyError, TypeError, ValueError):
                good = False
        elif good and number >= len(self.inputs):
            good = False
        if not good:
            raise InputError(f"{position!r} is not a place in {self.label}; begin again without.")
        if "done" not in position and position.get("name") != self._name(number):
            raise InputError(
                f"The place was taken in {position.get('name')!r}, but file {number} is "
                f"{self._name(number)!r} now; give the same files, in the same order."
            )
        return number, position.get("at")

    def _is(self, number: int, end: list[Any]) -> bool:
        """Whether a position was reached in this file."""
        input, (name, at) = self.inputs[number], end[:2]
        if not input.is_file or input.is_folder:
            return bool(name == self._name(number))
        if self.format.in_lines:
            return isinstance(at, dict) and "tail" in at and is_where(input, self.options, at)
        match end[2]:
            case [int(size), str(key)]:
                return key_of(input, size).hex() == key
        return False

    def _is_rotated(self, number: int, end: list[Any]) -> bool:
        """Whether a position was reached in a file of that name, which is none of those given."""
        if end[0] != self._name(number) or not (
            self.format.in_lines and self.inputs[number].is_file
        ):
            return False
        return not any(self._is(other, end) for other in range(len(self.inputs)))

    def _finish(self, input: Input, at: Any) -> None:
        """Note that a file was read to its end."""
        if not input.is_file or len(self.inputs) == 1:
            return
        size = input.n_read if self.format.in_lines else input.size or 0
        self._done.append(key_of(input, size))
        self._note_end(input, at)

    def _note_end(self, input: Input, at: Any) -> None:
        if at is not None and self.format.in_lines:
            self._ends = [*self._ends, [self._name_of(input), at]][-N_ENDS:]

    def _name(self, number: int) -> str:
        return self._name_of(self.inputs[number])

    def _name_of(self, input: Input) -> str:
        return "-" if input.path is None else printable(input.path.name)

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """Let a pipe end as soon as this is true."""
        for input in self.inputs:
            input.is_ended = None if input.reopens else is_ended

    def wait_at_most(self, patience: Patience) -> None:
        """Give lines of a pipe so long after they came at the latest."""
        super().wait_at_most(patience)
        for input in self.inputs:
            if not input.reopens and self.format.in_lines:
                input.patience = patience

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read, where that is known."""
        sizes = [input.size for input in self.inputs]
        if any(size is None for size in sizes):
            return None
        known = [size or 0 for size in sizes]
        return sum(known[: self._current]) + self.inputs[self._current].n_read, sum(known)


def as_wanted(
    input: Input, format: Format, options: Options, at: Any, joiner: BlockJoiner
) -> Iterator[Block]:
    """Yield one file's documents, as many at a time as are wanted just then."""
    while True:
        size = joiner.missing
        for block in format.blocks(input, replace(options, block_size=size), at):
            at = block.position
            yield block
            # A reader gives blocks of one size: where another is wanted the file is opened again,
            # unless it was at its end, or cannot be.
            if joiner.missing != size and len(block) >= size and input.reopens:
                break
        else:
            return


def _common_words(inputs: list[Input], format: Format, options: Options) -> list[str] | None:
    """Return the words of the columns, which must be the same for all files."""
    words = format.words(inputs[0], options)
    for input in inputs[1:] if options.column_words is None else ():
        if format.words(input, options) != words:
            raise InputError(
                f"{input.label} has another vocabulary beside it than {inputs[0].label}; read them "
                "apart, or give one for both with {column_words}.",
                column_words=...,
            )
    return words
