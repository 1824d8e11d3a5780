"""Plain text, a document a line; and MALLET's form: a name, a label and the text on a line."""

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from opelda.corpus._block import Block
from opelda.corpus._forks import evaluate
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import LineReader, Values, one_block, text_blocks
from opelda.corpus.formats._registry import Options


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the lines of a file; a blank line is an empty document."""
    with LineReader(input, options, position) as reader:
        while data := reader.take(options.block_size):
            texts = _split(data)
            if texts is not None:
                yield Block(texts, reader.position)
                continue
            reader.put_back(data)
            block = one_block(reader, options, lambda lines, _: (lines, None))
            if block is not None:
                yield block


def _split(data: bytes) -> pl.Series | None:
    """Return the lines without making a Python object of each; None if one needs a closer look."""
    if b"\r" in data:
        return None
    whole = pl.Series([data.removesuffix(b"\n")], dtype=pl.Binary)
    try:
        return evaluate(whole.cast(pl.String), lambda text: text.str.split("\n")).explode()
    except pl.exceptions.PolarsError:
        return None


def mallet_blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a file as ``mallet import-file`` takes it."""

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
