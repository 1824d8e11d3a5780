"""Parquet files: texts, a document a row; or counts, a word of a document a row."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._forks import require_pool
from opelda.corpus._matrix import Counted, as_counts
from opelda.corpus.formats import Options
from opelda.corpus.formats._input import Input, reason, row_position
from opelda.corpus.formats._text_columns import (
    cells,
    choose_from_frame,
    column_text,
    columns_beside,
    is_plain,
)
from opelda.corpus.formats._writing import write_in_one_step
from opelda.errors import InputError

COUNTS = {"document": pl.Int64, "word": pl.String, "count": pl.Float32}


def blocks(input: Input, options: Options, position: Any = None) -> Iterator[Block]:
    """Yield the documents of a file; only the needed columns are read.

    ``options.text_columns`` names the columns, see `choose_from_frame`; missing values are empty. A
    position is the number of rows before it, or of documents in a file of counts.
    """
    if input.path is None:
        raise InputError(f"{input.label} cannot be read as Parquet; pass the path of a file.")
    if not input.seekable:
        with input.open():  # raises if there is no such file
            pass
        raise InputError(f"{input.label} is a compressed Parquet file; decompress the file first.")
    require_pool(input.label)
    with _explained(input.label):
        # a relative path with a colon would be an address in the network
        path = input.path.absolute()
        table = pl.scan_parquet(path, glob=False, hive_partitioning=False, low_memory=True)
        schema = table.collect_schema()
        n_rows = int(table.select(pl.len()).collect().item())
    if schema.names() == [*COUNTS] and not options.text_columns:
        yield from _count_blocks(table, input, options, position)
        return
    names = schema.names()
    columns = choose_from_frame(names, schema.dtypes(), options.text_columns, input.label)
    plain = [name for name, kind in schema.items() if is_plain(kind)]
    kept = columns_beside(names, columns, options, input.label, plain=plain)
    texts = [column_text(schema[c], pl.col(c)) for c in columns]
    wanted = [pl.col(column).alias(f"kept {n}") for n, column in enumerate(kept.values())]
    size = options.block_size
    at_once = size * max(1, 10_000 // size)  # a scan of fewer rows takes as long
    for first in range(row_position(position, n_rows, input.label), n_rows, at_once):
        with _explained(input.label):
            text = pl.concat_str(texts, separator=" ").alias("text")
            rows = table.slice(first, at_once).select(text, *wanted).collect()
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
    with _explained(input.label):
        rows = table.select(pl.col(c).cast(k) for c, k in COUNTS.items()).collect()
    document = rows["document"].to_numpy()
    ends = np.append(np.flatnonzero(np.diff(document)) + 1, len(rows))[: len(rows)]
    starts = np.concatenate(([0], ends))
    begin = row_position(position, len(ends), input.label)
    for first in range(begin, len(ends), options.block_size):
        last = min(first + options.block_size, len(ends))
        part = rows[int(starts[first]) : int(starts[last])]
        counts = part["count"].to_numpy() * part["word"].is_not_null().to_numpy()
        words = part["word"].unique().drop_nulls().sort()
        code = (part["word"].fill_null(words.first() or "").rank("dense") - 1).to_numpy()
        shape = last - first, max(1, len(words))
        cut = starts[first : last + 1] - starts[first]
        counted = sparse.csr_array((counts, code.astype(np.int32), cut), shape)
        yield Block(Counted.of(as_counts(counted, None, input.label)[0], words.to_list()), last)


def write(corpus: Corpus, path: str) -> None:
    """Write counts: a row for each word of a document, and one without a word for an empty one."""
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


@contextmanager
def _explained(label: str) -> Iterator[None]:
    """Turn polars' errors about a file into an `InputError`."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        text = reason(error).partition(" Resolved plan")[0][:200]
        raise InputError(
            f"{label} is corrupted or not a Parquet file ({text}); restore the file or write "
            "it again."
        ) from None
