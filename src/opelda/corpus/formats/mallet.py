"""MALLET's text form: a line has a document's name, its label and its text."""

from collections.abc import Iterator, Sequence
from typing import Any

from opelda.corpus._block import Block
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import Values, text_blocks
from opelda.corpus.formats._registry import Options


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a file as ``mallet import-file`` takes it.

    The first field of a line is the name and the second the label, which is not looked at; white
    space ends them. The rest is the text. Blank lines are passed over.

    >>> import io
    >>> block, = blocks(Input.of(io.BytesIO(b"doc1\ten\ttea for two\ndoc2 en\n")), Options())
    >>> block.documents.to_list(), block.names
    (['tea for two', ''], ['doc1', 'doc2'])
    """

    def parse(lines: list[str], numbers: Sequence[int]) -> tuple[list[str], Values]:
        texts, names = [], []
        for line, number in zip(lines, numbers, strict=True):
            fields = line.split(None, 2)
            if len(fields) >= 2:
                names.append(fields[0])
                texts.append(fields[2] if len(fields) > 2 else "")
            elif fields:
                options.problems.add(
                    f"{input.label}, line {number}",
                    "has one field only",
                    "give a name, a label and the text, separated by white space",
                )
        return texts, {None: names}

    return text_blocks(input, options, position, parse)
