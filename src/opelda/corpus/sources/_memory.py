"""Documents that are in memory already, or come one by one from any iterable."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from numbers import Real
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._counting import Counted, count_words
from opelda.corpus._matrix import as_counts, is_matrix
from opelda.corpus.formats import Options
from opelda.corpus.formats.columns import text_columns
from opelda.corpus.sources._records import is_record, text_of_record
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError


class Matrix:
    """Counts, a document a row; a position is the number of rows before it."""

    label = "The matrix"
    written = False

    def __init__(self, X: Any, options: Options, words: list[str] | None = None) -> None:
        self.X, _ = as_counts(X, None, self.label)
        self.problems = options.problems
        names = getattr(X, "columns", None) if words is None else words
        self.words = None if names is None else [str(name) for name in names]
        self.has_words = self.words is not None

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the rows from a position on."""
        for first in range(_row(position), self.X.shape[0], block_size):
            after = min(first + block_size, self.X.shape[0])
            yield Block(self.X[first:after], after)

    def progress(self) -> None:
        """Return None: rows are no bytes."""


class Column:
    """Texts in a column of a data frame, or several of them, joined by a space."""

    label = "The column"
    written = False
    has_words = True

    def __init__(
        self,
        texts: pl.Series,
        names: list[str] | None,
        options: Options,
        words: list[str] | None = None,
    ) -> None:
        self.words = words
        self.texts = texts
        self.names = names
        self.problems = options.problems

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the texts from a position on."""
        for first in range(_row(position), len(self.texts), block_size):
            after = min(first + block_size, len(self.texts))
            names = None if self.names is None else self.names[first:after]
            yield Block(self.texts[first:after], after, names)

    def progress(self) -> None:
        """Return None: rows are no bytes."""


class Items:
    """Documents from an iterable: texts, records, token lists, mappings, or (id, count) pairs.

    A position is the number of items before it; they are passed over.
    """

    label = "The iterable"
    written = False

    def __init__(
        self, items: Iterable[Any], options: Options, words: list[str] | None = None
    ) -> None:
        self.items, first = _peeked(items)
        self.has_words = words is not None or not (first and _is_bag(first))
        self.options = options
        self.problems = options.problems
        self.words = words

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on."""
        items, number = iter(self.items), _row(position)
        for _ in islice(items, number):
            pass
        while taken := list(islice(items, block_size)):
            number += len(taken)
            yield Block(self._documents(taken, number - len(taken)), number, self._names(taken))

    def _documents(self, items: list[Any], first: int) -> pl.Series | Counted | sparse.csr_array:
        if all(isinstance(item, str) for item in items):
            return pl.Series(items, dtype=pl.String)
        if self.options.text or any(is_record(item) for item in items):
            texts = [
                text_of_record(item, self.options.text, f"Item {first + i}")
                for i, item in enumerate(items)
            ]
            return pl.Series(texts, dtype=pl.String)
        if all(_is_bag(item) for item in items) and any(items):
            return self._bags(items, first)
        return count_words(items, lambda i: f"Item {first + i}", Tokenizer())

    def _bags(self, bags: list[Any], first: int) -> sparse.csr_array:
        """Count what gensim calls a corpus: lists of (id, count)."""
        width = None if self.words is None else len(self.words)
        lengths = [len(bag) for bag in bags]
        pairs = np.array([pair for bag in bags for pair in bag], np.float64).reshape(-1, 2)
        ids = pairs[:, 0].astype(np.int64)
        most = 2**31 - 1 if width is None else width
        bad = (ids < 0) | (ids >= most) | (ids != pairs[:, 0])
        if bad.any():
            at = int(np.argmax(bad))
            item = first + int(np.searchsorted(np.cumsum(lengths), at, side="right"))
            raise InputError(
                f"Item {item} has the word number {pairs[at, 0]:g}, but numbers go from 0 to "
                f"{most - 1}; give the vocabulary that the documents were counted with."
            )
        width = int(ids.max(initial=-1)) + 1 if width is None else width
        ends = np.concatenate(([0], np.cumsum(lengths)))
        counts = sparse.csr_array((pairs[:, 1], ids, ends), shape=(len(bags), width))
        return as_counts(counts, None, f"Items from {first} on")[0]

    def _names(self, items: list[Any]) -> list[str] | None:
        key = self.options.name
        if key is None or not all(isinstance(item, Mapping) for item in items):
            return None
        return [str(item.get(key, "")) for item in items]

    def progress(self) -> None:
        """Return None: items are no bytes."""


def in_memory(source: Any, options: Options, words: list[str] | None) -> Matrix | Column | Items:
    """Return the documents of whatever this is."""
    frame = _as_frame(source)
    if frame is not None and (options.text or any(t == pl.String for t in frame.dtypes)):
        chosen = text_columns(frame.columns, frame.dtypes, options.text, "The data frame")
        texts = frame.select(pl.concat_str(_texts(chosen), separator=" ")).to_series()
        names = None
        if options.name is not None:
            _check_column(frame, options.name)
            names = frame[options.name].cast(pl.String).fill_null("").to_list()
        return Column(texts, names, options, words)
    series = _as_series(source)
    if series is not None and series.dtype == pl.String:
        return Column(series.fill_null(""), None, options, words)
    if series is not None:
        return Items(series.to_list(), options, words)
    if is_matrix(source):
        return Matrix(source, options, words)
    if isinstance(source, Iterable):
        return Items(source, options, words)
    raise InputError(
        f"source must be a path, a collection of documents, a column or a matrix of counts, got "
        f"{type(source).__name__}."
    )


def _texts(columns: list[str]) -> list[pl.Expr]:
    return [pl.col(column).cast(pl.String).fill_null("") for column in columns]


def _check_column(frame: pl.DataFrame, name: str) -> None:
    if name not in frame.columns:
        raise InputError(
            f"The data frame has no column {name!r}; its columns are {', '.join(frame.columns)}."
        )


def _as_frame(source: Any) -> pl.DataFrame | None:
    """Return a table of polars, pandas or Arrow as polars has it."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    kind = type(source).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(source, "columns"):
        columns = {str(name): _series(source[name].tolist()) for name in source.columns}
        return pl.DataFrame(columns)
    if kind == "pyarrow" and hasattr(source, "column_names"):
        return pl.DataFrame(source)
    return None


def _as_series(source: Any) -> pl.Series | None:
    if isinstance(source, pl.Series):
        return source
    kind = type(source).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(source, "tolist"):
        return _series(source.tolist())
    if kind == "pyarrow" and hasattr(source, "to_pylist"):
        return pl.Series(source)
    if isinstance(source, np.ndarray) and source.ndim == 1 and source.dtype.kind in "OUT":
        return _series(source.tolist())
    return None


def _series(values: list[Any]) -> pl.Series:
    """Return texts as such, None and NaN as missing; anything else as objects."""
    missing = [value is None or (isinstance(value, float) and value != value) for value in values]
    if all(gone or isinstance(v, str) for v, gone in zip(values, missing, strict=True)):
        kept = [None if gone else str(v) for v, gone in zip(values, missing, strict=True)]
        return pl.Series(kept, dtype=pl.String)
    try:
        return pl.Series(values)
    except (TypeError, pl.exceptions.PolarsError):  # of several kinds
        return pl.Series(values, dtype=pl.Object)


def _peeked(items: Iterable[Any]) -> tuple[Iterable[Any], Any]:
    """Return what iterates over the same items, and the first one, or None."""
    iterator = iter(items)
    first = next(iterator, None)
    once = iterator is items  # a generator: what was taken must be put back
    return (chain([] if first is None else [first], iterator) if once else items), first


def _is_bag(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(
        isinstance(pair, tuple | list)
        and len(pair) == 2
        and isinstance(pair[0], int | np.integer)
        and isinstance(pair[1], Real)
        for pair in item
    )


def _row(position: Any) -> int:
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise InputError(f"{position!r} is not a number of documents to pass over.")
    return position
