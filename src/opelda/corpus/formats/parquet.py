"""Parquet files: texts, a document a row; or counts, a word of a document a row."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._forks import require_pool
from opelda.corpus._matrix import Counted, as_counts
from opelda.corpus.formats._encodings import cells, is_plain
from opelda.corpus.formats._input import Input, check_position, reason
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._text_columns import columns_beside, text_columns
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError

# Rows that are read at a time.
ROWS = 10_000
COUNTS = ["document", "word", "count"]


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file; nothing is read but the columns that are needed.

    ``options.text_columns`` names the columns, see `_text_columns.text_columns`; missing values
    are empty. A position is the number of rows before it, or of documents in a file of counts.
    """
    path = _path(input)
    require_pool(input.label)
    with _explained(input.label):
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
        schema = table.collect_schema()
        n_rows = int(table.select(pl.len()).collect().item())
    if schema.names() == COUNTS and not options.text_columns:
        yield from _count_blocks(table, input, options, position)
        return
    columns = text_columns(schema.names(), schema.dtypes(), options.text_columns, input.label)
    plain = [name for name, kind in schema.items() if is_plain(kind)]
    kept = columns_beside(schema.names(), columns, options, input.label, plain=plain)
    text = pl.concat_str([_as_text(schema[c], c) for c in columns], separator=" ")
    wanted = [pl.col(column).alias(f"kept {n}") for n, column in enumerate(kept.values())]
    size = options.block_size
    at_once = size * max(1, ROWS // size)
    start = 0 if position is None else position
    check_position(isinstance(start, int) and 0 <= start <= n_rows, position, input.label)
    for first in range(start, n_rows, at_once):
        with _explained(input.label):
            rows = table.slice(first, at_once).select(text.alias("text"), *wanted).collect()
        for i in range(0, len(rows), size):
            part = rows[i : i + size]
            after = first + i + len(part)
            input.n_read = (input.size or 0) * after // n_rows
            beside = {name: cells(part[f"kept {n}"]) for n, name in enumerate(kept)}
            yield Block(part["text"], after, beside)


def _count_blocks(
    table: pl.LazyFrame, input: Input, options: Options, position: Any
) -> Iterator[Block]:
    """Yield the documents of a file that `write` made; its counts are held in memory."""
    kinds = [pl.Int64, pl.String, pl.Float32]
    with _explained(input.label):
        rows = table.select(pl.col(c).cast(k) for c, k in zip(COUNTS, kinds, strict=True)).collect()
    document = rows["document"].to_numpy()
    ends = np.append(np.flatnonzero(np.diff(document)) + 1, len(rows))[: len(rows)]
    starts = np.concatenate(([0], ends))
    first = 0 if position is None else position
    check_position(type(first) is int and 0 <= first <= len(ends), position, input.label)
    while first < len(ends):
        last = min(first + options.block_size, len(ends))
        part = rows[int(starts[first]) : int(starts[last])]
        counts = part["count"].to_numpy() * part["word"].is_not_null().to_numpy()
        words = part["word"].unique().drop_nulls().sort()
        code = (part["word"].fill_null(words.first() or "").rank("dense") - 1).to_numpy()
        shape = last - first, max(1, len(words))
        cut = starts[first : last + 1] - starts[first]
        counted = sparse.csr_array((counts, code.astype(np.int32), cut), shape)
        yield Block(Counted.of(as_counts(counted, None, input.label)[0], words.to_list()), last)
        first = last


def write(corpus: Corpus, path: str) -> None:
    """Write counts: a row for each word of a document; one without a word for an empty document."""
    if corpus.words is None:
        raise InputError("The corpus has no words to write as Parquet; choose mm or npz.")
    X = as_counts(corpus.X, None, "The corpus")[0]
    empty = np.flatnonzero(np.diff(X.indptr) == 0)
    document = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    words = pl.Series(corpus.words, dtype=pl.String).gather(X.indices)
    rows = pl.DataFrame(dict(zip(COUNTS, (document, words, X.data), strict=True)))
    nothing = {"document": empty, "word": [None] * len(empty), "count": [0.0] * len(empty)}
    rows = pl.concat([rows, pl.DataFrame(nothing, schema=rows.schema)])
    content = io.BytesIO()
    rows.sort("document", maintain_order=True).write_parquet(content)
    with write_in_one_step(path) as file:
        file.write(content.getbuffer())


def _as_text(kind: pl.DataType, column: str) -> pl.Expr:
    values = pl.col(column)
    if kind == pl.List(pl.String):
        values = values.list.join(" ", ignore_nulls=True)
    return values.cast(pl.String).fill_null("")


def _path(input: Input) -> Path:
    """Return the path of a file that can be sought."""
    if input.path is None:
        raise InputError(f"{input.label} cannot be read as Parquet; give the path of a file.")
    if not input.seekable:
        with input.open():  # says what is wrong with the path, if it is that
            pass
        raise InputError(f"{input.label} is a compressed Parquet file; unpack it first.")
    return input.path.absolute()  # or a colon would make an address in the network of it


@contextmanager
def _explained(label: str) -> Iterator[None]:
    """Say in one sentence what polars finds wrong with a file."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        text = reason(error).partition(" Resolved plan")[0][:200]
        raise InputError(
            f"{label} is damaged or no Parquet file ({text}); make it again."
        ) from None
