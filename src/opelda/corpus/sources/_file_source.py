"""Files of one format as a source, read one after the other."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from opelda.corpus._block import Block, BlockJoiner
from opelda.corpus.formats import Format, Input, Options
from opelda.corpus.formats._input import printable
from opelda.corpus.sources._source import Source
from opelda.errors import InputError


class Files(Source):
    """Files of one format, read in their order; a block may end in another file than it began."""

    def __init__(self, inputs: list[Input], format: Format, options: Options) -> None:
        self.inputs = inputs
        self.format = format
        self.options = options
        self.problems = options.problems
        self.label = inputs[0].label if len(inputs) == 1 else f"{len(inputs)} files"
        self.words = _common_words(inputs, format, options)
        self.reopens = all(input.reopens for input in inputs)
        texts = format.kind == "text"
        self.pretokenised = texts and self.words is not None and options.column_words is None
        self.has_words = texts or self.words is not None
        # the files of LDA-C do not say how many words there are
        self.may_lack_columns = format.name == "ldac"
        self._current = 0

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        first, at = self.split(position)
        joiner = BlockJoiner(block_size)
        where: dict[str, Any] = {}
        for number in range(first, len(self.inputs)):
            self._current = number
            for block in as_wanted(self.inputs[number], self.format, self.options, at, joiner):
                where = self.position(number, block.position)
                if joiner.add(block):
                    yield joiner.take(where)
            at = None
        if joiner:
            yield joiner.take(where)

    def position(self, number: int, at: Any) -> dict[str, Any]:
        """Return the position in the source of a position in a file."""
        # the name is there to notice that the files are others than those it was taken from
        return {"file": number, "name": self._name(number), "at": at}

    def split(self, position: Any) -> tuple[int, Any]:
        """Return the number of the file that a position is in, and the position in the file."""
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
