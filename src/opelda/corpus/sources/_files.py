"""Documents in files, one after the other."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opelda.corpus._block import Block
from opelda.corpus.formats import Format, Input, Options
from opelda.corpus.formats._streams import printable
from opelda.corpus.sources._joining import Gathered
from opelda.errors import InputError


class Files:
    """Files of one format, read in their order; a block may end in another file than it began.

    A position is ``{"file": number, "name": its name, "at": the place in it}``: the name is there
    to notice that the files are others than those the position was taken from.
    """

    def __init__(self, inputs: list[Input], format: Format, options: Options) -> None:
        self.inputs = inputs
        self.format = format
        self.options = options
        self.problems = options.problems
        self.label = inputs[0].label if len(inputs) == 1 else f"{len(inputs)} files"
        self.words = _common_words(inputs, format, options)
        self.reopens = all(input.reopens for input in inputs)
        texts = format.kind == "text"
        self.written = texts and self.words is not None and options.column_words is None
        self.has_words = texts or self.words is not None
        self._current = 0

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        first, at = self.place(position)
        gathered = Gathered(block_size)
        where: dict[str, Any] = {}
        for number in range(first, len(self.inputs)):
            self._current = number
            for block in self._of(self.inputs[number], at, gathered):
                where = self.position(number, block.position)
                if gathered.add(block):
                    yield gathered.take(where)
            at = None
        if gathered:
            yield gathered.take(where)

    def _of(self, input: Input, at: Any, gathered: Gathered) -> Iterator[Block]:
        """Yield one file's documents, as many at a time as are wanted just then.

        A reader gives blocks of one size. Where another size is wanted it is opened again, unless
        it was at the end, or cannot be.
        """
        size = gathered.missing
        reader = self.format.blocks(input, replace(self.options, block_size=size), at)
        block = next(reader, None)
        while block is not None:
            yield block
            if gathered.missing == size or len(block) < size or not input.reopens:
                block = next(reader, None)
                continue
            size = gathered.missing
            options = replace(self.options, block_size=size)
            reader = self.format.blocks(input, options, block.position)
            block = next(reader, None)

    def position(self, number: int, at: Any) -> dict[str, Any]:
        """Return the position that a place in a file is."""
        return {"file": number, "name": self._name(number), "at": at}

    def place(self, position: Any) -> tuple[int, Any]:
        """Return the number of the file that a position is in, and the place in it."""
        if position is None:
            return 0, None
        number = position.get("file") if isinstance(position, dict) else None
        if not isinstance(number, int) or not 0 <= number < len(self.inputs):
            raise InputError(f"{position!r} is not a place in {self.label}; begin again without.")
        if position.get("name") != self._name(number):
            raise InputError(
                f"The place was taken in {position.get('name')!r}, but file {number} is "
                f"{self._name(number)!r} now; give the same files, in the same order."
            )
        return number, position.get("at")

    def _name(self, number: int) -> str:
        path = self.inputs[number].path
        return "-" if path is None else printable(path.name)

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read, where that is known."""
        sizes = [input.size for input in self.inputs]
        if any(size is None for size in sizes):
            return None
        known = [size or 0 for size in sizes]
        return sum(known[: self._current]) + self.inputs[self._current].n_read, sum(known)


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
