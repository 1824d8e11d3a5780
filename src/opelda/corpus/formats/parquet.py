"""Parquet files, a document a row."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from opelda.corpus._block import Block
from opelda.corpus._forks import require_pool
from opelda.corpus.formats._cells import cells, is_plain
from opelda.corpus.formats._input import Input, check_position, reason
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._text_columns import columns_beside, text_columns
from opelda.errors import InputError

# Rows that are read at a time.
ROWS = 10_000


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file; nothing is read but the columns that are needed.

    ``options.text_columns`` names the columns, see `_columns.text_columns`; missing values are
    empty. A position is the number of rows before it.
    """
    path = _path(input)
    require_pool(input.label)
    with _explained(input.label):
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
        schema = table.collect_schema()
        n_rows = int(table.select(pl.len()).collect().item())
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
