"""Parquet files, a document a row."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.io.plugins import register_io_source

from opelda.corpus._block import Block
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._compression import without_suffix
from opelda.corpus.formats._files import Input, write_in_one_step
from opelda.corpus.formats._format import Format, Options
from opelda.corpus.formats._output import writing_by_polars
from opelda.corpus.formats._streams import reason
from opelda.corpus.formats.columns import choose, text_columns
from opelda.errors import InputError

if TYPE_CHECKING:
    from opelda.corpus._corpus import Corpus

# Rows that are read, and written, at a time.
ROWS = 10_000


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file; nothing is read but the columns that are needed.

    ``options.text_columns`` names the columns, see `columns.text_columns`; missing values are
    empty. A position is the number of rows before it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "notes.parquet")
    >>> pl.DataFrame({"id": [1, 2], "text": ["no tea", None]}).write_parquet(path)
    >>> [block.documents.to_list() for block in blocks(Input.of(path), Options())]
    [['no tea', '']]
    """
    _check_place(input)
    with _told(input.label):
        table = pl.scan_parquet(
            _absolute(input), glob=False, hive_partitioning=False, low_memory=True
        )
        schema = table.collect_schema()
        n_rows = int(table.select(pl.len()).collect().item())
    columns = text_columns(schema.names(), schema.dtypes(), options.text_columns, input.label)
    wanted = [pl.concat_str([_as_text(schema[c], c) for c in columns], separator=" ").alias("text")]
    if options.name_column is not None:
        choose(schema.names(), (), (options.name_column,), input.label)
        wanted.append(_as_text(schema[options.name_column], options.name_column).alias("name"))
    size = options.block_size
    at_once = size * max(1, ROWS // size)
    for first in range(_row(position, n_rows, input.label), n_rows, at_once):
        with _told(input.label):
            rows = table.slice(first, at_once).select(wanted).collect()
        for i in range(0, len(rows), size):
            part = rows[i : i + size]
            after = first + i + len(part)
            input.n_read = (input.size or 0) * after // n_rows
            names = part["name"].to_list() if options.name_column is not None else None
            yield Block(part["text"], after, names)


def _as_text(kind: pl.DataType, column: str) -> pl.Expr:
    values = pl.col(column)
    if kind == pl.List(pl.String):
        values = values.list.join(" ", ignore_nulls=True)
    return values.cast(pl.String).fill_null("")


def _check_place(input: Input) -> None:
    if input.path is None:
        raise InputError(f"{input.label} cannot be read as Parquet; give the path of a file.")
    if not input.seekable:
        with input.open():  # says what is wrong with the path, if it is that
            pass
        raise InputError(f"{input.label} is a compressed Parquet file; unpack it first.")


def _absolute(input: Input) -> Any:
    # or a name with a colon would be taken for an address in the network
    return None if input.path is None else input.path.absolute()


def _row(position: Any, n_rows: int, label: str) -> int:
    if position is None:
        return 0
    if not isinstance(position, int) or not 0 <= position <= n_rows:
        raise InputError(f"{position!r} is no place in {label}; give one that was reached in it.")
    return position


@contextmanager
def _told(label: str) -> Iterator[None]:
    """Say in one sentence what polars finds wrong with a file."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        text = reason(error).partition(" Resolved plan")[0][:200]
        raise InputError(
            f"{label} is damaged or no Parquet file ({text}); make it again."
        ) from None


def write(corpus: "Corpus", path: str) -> None:
    """Write every word as often as it is counted, in a column "text", after "name" if known."""
    if without_suffix(path)[1]:
        raise InputError(
            f"{path} would compress a Parquet file as a whole, which is compressed within already; "
            "leave that suffix out."
        )
    schema = {"text": pl.String} if corpus.names is None else {"name": pl.String, "text": pl.String}
    table = register_io_source(lambda *_: _frames(corpus), schema=schema)
    vocabulary = _vocab.as_file(corpus.words, _vocab.sidecar(path))
    with write_in_one_step(path, vocabulary) as file, writing_by_polars():
        table.sink_parquet(file, row_group_size=ROWS)


def _frames(corpus: "Corpus") -> Iterator[pl.DataFrame]:
    texts = _vocab.texts_of(corpus)
    for first in range(0, max(len(corpus), 1), ROWS):
        columns = {"text": list(islice(texts, ROWS))}
        if corpus.names is not None:
            columns = {"name": corpus.names[first : first + ROWS], **columns}
        yield pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


FORMAT = Format(
    name="parquet",
    summary="Parquet, a document a row",
    kind="text",
    suffixes=(".parquet", ".pq"),
    blocks=blocks,
    words=_vocab.find,
    write=write,
)
