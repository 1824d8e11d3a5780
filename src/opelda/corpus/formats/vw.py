"""Vowpal Wabbit's text form: words with weights after a bar."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda._validation import LARGEST_COUNT
from opelda.corpus._block import Beside, Block
from opelda.corpus._matrix import Counted
from opelda.corpus.formats._cells import as_series
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._line_reader import LineReader, fill_block
from opelda.corpus.formats._registry import Options

# A tag is the last thing before the bar: 'tag |..., or tag|... without the quote.
TAG = r"(?:^|\s)'(\S*)\s*$|(\S+)$"


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    r"""Yield the documents of a file, a line each: ``label 'tag |namespace word:2 word``.

    Labels are not looked at, tags are the documents' names, and namespaces are added together. A
    word without a weight counts once; a namespace's weight multiplies those of its words. Blank
    lines are passed over.

    >>> import io
    >>> source = Input.of(io.BytesIO(b"1 'a |x tea:2 cup |y tea\n|x\n"))
    >>> block, = blocks(source, Options())
    >>> block.documents.words, block.documents.counts.toarray().tolist(), block.names
    (['tea', 'cup'], [[3.0, 1.0], [0.0, 0.0]], ['a', ''])
    """
    with LineReader(input, options, position) as reader:
        while True:
            parts: list[pl.DataFrame] = []
            names: list[str] = []

            def add(
                lines: list[str],
                numbers: Sequence[int],
                parts: list[pl.DataFrame] = parts,
                names: list[str] = names,
            ) -> None:
                some, called = _parse(pl.Series(lines, dtype=pl.String), numbers, input, options)
                parts.append(some.with_columns(pl.col("row") + len(names)))
                names += called

            fill_block(reader, options, names, add)
            if not names:
                return
            beside: Beside = {None: as_series(names)}
            yield Block(_counted(pl.concat(parts), len(names)), reader.position, beside)


def _parse(
    lines: pl.Series, numbers: Any, input: Input, options: Options
) -> tuple[pl.DataFrame, list[str]]:
    """Return rows, words and weights, and the tags; lines that are malformed are reported."""
    table = pl.DataFrame({"line": lines, "number": pl.Series(list(numbers), dtype=pl.Int64)})
    table = table.filter(pl.col("line").str.contains(r"\S"))
    bare = ~table["line"].str.contains("|", literal=True)
    tokens = _tokens(table.filter(~bare))
    bad = tokens.filter(pl.col("weight").is_null())
    wrong = {number: "has no | before its words" for number in table.filter(bare)["number"]}
    for number, token in bad.select("number", "token").unique("number", keep="first").iter_rows():
        wrong[number] = f"has {token[:80]!r}, whose weight is no number from 0 to {LARGEST_COUNT:g}"
    for number in sorted(wrong):
        options.problems.add(f"{input.label}, line {number}", wrong[number], "correct the line")
    table = table.filter(~pl.col("number").is_in(list(wrong)))
    rows = table.select("number").with_row_index("row")
    head = table["line"].str.extract(r"^([^|]*)", 1)
    found = pl.DataFrame({"head": head}).select(
        pl.coalesce(pl.col("head").str.extract(TAG, 1), pl.col("head").str.extract(TAG, 2))
    )
    words = tokens.join(rows, on="number", maintain_order="left").select("row", "word", "weight")
    return words, found.to_series().fill_null("").to_list()


def _tokens(table: pl.DataFrame) -> pl.DataFrame:
    """Return the words of lines, in their order, with weights; null for what is none."""
    features = pl.col("line").str.replace(r"^[^|]*", "").str.replace_all("|", " |", literal=True)
    parts = pl.col("token").str.splitn(":", 2)
    weight = pl.col("given").cast(pl.Float64, strict=False)
    valid = (weight >= 0) & (weight <= LARGEST_COUNT) & (pl.col("word") != "")
    marks = pl.col("token").str.starts_with("|")
    return (
        table.select("number", features.str.extract_all(r"\S+").alias("token"))
        .explode("token")
        .filter(pl.col("token").is_not_null())
        .with_columns(parts.struct.rename_fields(["word", "given"]).alias("parts"))
        .unnest("parts")
        .with_columns(
            pl.when(pl.col("given").is_null()).then(1.0).when(valid).then(weight).alias("weight")
        )
        # NaN for a namespace whose weight is none: it spreads to its words
        .with_columns(
            pl.when(marks).then(pl.col("weight").fill_null(np.nan)).forward_fill().alias("factor")
        )
        .with_columns((pl.col("weight") * pl.col("factor")).alias("product"))
        .with_columns(
            pl.when(pl.col("product") <= LARGEST_COUNT).then(pl.col("product")).alias("weight")
        )
        .filter(~marks | pl.col("weight").is_null())
    )


def _counted(table: pl.DataFrame, n_docs: int) -> Counted:
    table = table.filter(pl.col("weight").cast(pl.Float32) > 0)
    words = table.select(pl.col("word").unique(maintain_order=True)).with_row_index("column")
    columns = table.join(words, on="word", maintain_order="left")
    shape = (n_docs, len(words))
    entries = (columns["row"].to_numpy(), columns["column"].to_numpy())
    counts = sparse.csr_array(
        sparse.coo_array((columns["weight"].to_numpy(), entries), shape=shape)
    )
    counts.sum_duplicates()
    return Counted(words["word"].to_list(), counts.astype(np.float32))
