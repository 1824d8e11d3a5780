"""Documents in memory as a source: matrices, and columns and tables of any library."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Beside, Block, Source, row_number, rows_of
from opelda.corpus._column_names import usual_columns
from opelda.corpus._corpus import Corpus
from opelda.corpus._forks import evaluate, require_pool
from opelda.corpus._kinds import (
    holds_numbers,
    is_column,
    is_mapping,
    is_matrix,
    is_missing,
    is_table,
    package_of,
)
from opelda.corpus._matrix import as_counts
from opelda.corpus._replay import item_key, report
from opelda.corpus.formats import ALL, AUTO, Options
from opelda.corpus.formats._text_columns import (
    TEXTUAL,
    cells,
    choose_from_frame,
    column_text,
    columns_beside,
    is_plain,
    require,
    wanted_columns,
)
from opelda.corpus.sources._items import Items
from opelda.errors import InputError


class InMemory(Source):
    """Documents in memory: texts, or rows of counts.

    A position is the number of rows before it, and a digest of the last of these.
    """

    def __init__(
        self,
        documents: pl.Series | sparse.csr_array,
        options: Options,
        words: Sequence[str] | None,
        beside: Beside | None = None,
    ) -> None:
        are_texts = isinstance(documents, pl.Series)
        self.label = "The column" if are_texts else "The matrix"
        self.documents, self.problems = documents, options.problems
        self.beside = beside or {}
        self.words = None if words is None else [str(word) for word in words]
        self.has_words = words is not None or are_texts
        n_columns = 0 if isinstance(documents, pl.Series) else documents.shape[1]
        if self.words is not None and len(self.words) < n_columns:
            raise InputError(
                f"The matrix has {n_columns} columns, but there are {len(self.words)} words; "
                "pass the vocabulary that the documents were counted with."
            )

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the rows from a position on."""
        n_rows = self.documents.shape[0]
        for first in range(self._first(position), n_rows, block_size):
            after = min(first + block_size, n_rows)
            where = {"row": after, "tail": self._tail(after)}
            yield Block(self.documents[first:after], where, rows_of(self.beside, first, after))

    def _first(self, position: Any) -> int:
        """Return the first unread row."""
        if not isinstance(position, dict):
            return row_number(position)
        row = row_number(position.get("row"))
        if row <= self.documents.shape[0] and self._tail(row) == position.get("tail"):
            return row
        report(f"{self.label} has changed and is read from the start.")
        return 0

    def _tail(self, row: int) -> str:
        """Return a digest of the 100 rows before a position."""
        rows = self.documents[max(row - 100, 0) : row]
        return item_key(rows.to_list() if isinstance(rows, pl.Series) else rows).decode().strip()


def in_memory(
    source: Any, options: Options, words: list[str] | None, *, by_content: bool
) -> Source:
    """Return the documents of a source in memory; `by_content` is that of `Items`."""
    if is_mapping(source):
        raise InputError(
            "is a mapping, which could be a table or one document; pass a data frame or a "
            "list of dictionaries.",
            "source",
        )
    if isinstance(source, Corpus):
        beside = _beside_corpus(source, options)
        return InMemory(source.X, options, source.words if words is None else words, beside)
    items = partial(Items, by_content=by_content, in_batches=False)
    pandas_counts = is_table(source) and package_of(source) == "pandas" and holds_numbers(source)
    frame = None if pandas_counts and not options.text_columns else as_frame(source)
    if frame is not None and (options.text_columns or any(t in TEXTUAL for t in frame.dtypes)):
        return _texts_of(frame, options, words)
    if frame is None and (documents := as_documents(source)) is not None:
        if isinstance(documents, pl.Series):
            require((), wanted_columns(options), "The column of texts")
            return InMemory(documents, options, words)
        return items(documents, options, words)
    if frame is not None or is_matrix(source):
        require((), wanted_columns(options), "The matrix")
        X = source if frame is None else frame
        called = getattr(X, "columns", None) if words is None else words
        return InMemory(as_counts(X, None, "The matrix")[0], options, called)
    if isinstance(source, Iterable):
        return items(source, options, words)
    raise InputError(
        "must be a path, a collection of documents, a column or a matrix of counts, got "
        f"{type(source).__name__}.",
        "source",
    )


def _texts_of(frame: pl.DataFrame, options: Options, words: list[str] | None) -> InMemory:
    """Return the texts of a table, and the columns beside them."""
    plain = [name for name, kind in frame.schema.items() if is_plain(kind)]
    others = [name for name in plain if _holds_texts(frame[name])]
    others = [name for name in others if name not in usual_columns(others)]
    names, label = frame.columns, "The data frame"
    chosen = choose_from_frame(names, frame.dtypes, options.text_columns, label)
    kept = columns_beside(names, chosen, options, label, "column", plain, others)
    beside = {name: cells(frame[column]) for name, column in kept.items()}
    texts = [evaluate(frame[c], partial(column_text, frame[c].dtype)) for c in chosen]
    joined = reduce(lambda before, after: before + " " + after, texts)
    return InMemory(joined, options, words, beside)


def _holds_texts(column: pl.Series) -> bool:
    """Whether most of the first 100 values have at least three words."""
    if column.dtype != pl.String:
        return False
    texts = [text for text in column.head(100).to_list() if text is not None]
    return sum(len(text.split()) >= 3 for text in texts) > len(texts) / 2


def _beside_corpus(corpus: Corpus, options: Options) -> Beside:
    """Return the names and columns of a corpus, or the given ones."""
    table = pl.DataFrame() if corpus.metadata is None else corpus.metadata
    require(table.columns, wanted_columns(options), "The corpus")
    is_all = not options.metadata or {AUTO, ALL} & {*options.metadata}
    columns = table.columns if is_all else options.metadata
    beside: Beside = {name: cells(table[name]) for name in columns}
    if isinstance(options.name_column, str):
        beside[None] = cells(table[options.name_column])
    elif corpus.names is not None and options.name_column is None:
        beside[None] = cells(corpus.names)
    return {name: values for name, values in beside.items() if len(values) == len(corpus)}


def as_frame(source: Any) -> pl.DataFrame | None:
    """Return a table of polars, pandas or Arrow as polars' table; None for other objects."""
    if not is_table(source):
        return None
    if isinstance(source, pl.LazyFrame):
        require_pool("The lazy data frame")
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    if package_of(source) == "pandas":
        names = _distinct([str(name) for name in source.columns])
        columns = [source.iloc[:, i] for i in range(len(names))]
        return pl.DataFrame([_column(c).alias(n) for n, c in zip(names, columns, strict=True)])
    names = _distinct(source.schema.names)
    return pl.DataFrame([pl.Series(name, source.column(name)) for name in names])


def as_documents(source: Any) -> pl.Series | list[Any] | None:
    """Return a column's texts without nulls, or its other values, [] for missing ones."""
    if not is_column(source):
        return None
    if package_of(source) == "pyarrow":
        try:
            source = pl.Series(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError):  # a type that polars lacks
            source = np.array([*source.to_pylist(), None], object)[:-1]
    if isinstance(source, pl.Series) and source.dtype in (*TEXTUAL, pl.Null):
        texts = source.cast(pl.String)
    else:
        values = source.to_list() if isinstance(source, pl.Series) else source.tolist()
        if isinstance(source, pl.Series) or not _are_texts(values):
            return [[] if is_missing(value) else value for value in values]
        texts = cells(values)
    return evaluate(texts, lambda text: text.fill_null(""))


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) or is_missing(value) for value in values)


def _distinct(names: list[str]) -> list[str]:
    for name, n_columns in Counter(names).items():
        if n_columns > 1:
            raise InputError(
                f"The data frame has {n_columns} columns with the duplicate name {name!r}; "
                "rename the columns."
            )
    return names


def _column(column: Any) -> pl.Series:
    """Return a column of pandas; values of several kinds as objects."""
    values = column.tolist()
    if _are_texts(values):
        return cells(values)
    values = [v.tolist() if isinstance(v, np.ndarray) else v for v in values]
    values = [None if is_missing(value) else value for value in values]
    try:
        return pl.Series(values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(values, dtype=pl.Object)
