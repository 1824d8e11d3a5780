"""Documents that are in memory already, or come one by one from any iterable."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import polars as pl

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._kinds import holds_numbers, is_mapping, is_matrix, is_table, package_of
from opelda.corpus._matrix import as_counts
from opelda.corpus.formats import Options
from opelda.corpus.formats.columns import choose, text_columns
from opelda.corpus.sources._items import Items, row
from opelda.corpus.sources._tables import TEXTUAL, as_documents, as_frame, as_text, joined
from opelda.errors import InputError


class Matrix:
    """Counts, a document a row; a position is the number of rows before it."""

    label = "The matrix"
    written = False
    reopens = True

    def __init__(
        self,
        X: Any,
        options: Options,
        words: Sequence[str] | None = None,
        names: list[str] | None = None,
    ) -> None:
        self.X, _ = as_counts(X, None, self.label)
        self.names = names
        self.problems = options.problems
        called = getattr(X, "columns", None) if words is None else words
        self.words = None if called is None else [str(word) for word in called]
        self.has_words = self.words is not None
        if self.words is not None and len(self.words) < self.X.shape[1]:
            raise InputError(
                f"The matrix has {self.X.shape[1]} columns, but there are {len(self.words)} words "
                "for them; give the vocabulary that the documents were counted with."
            )

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the rows from a position on."""
        for first in range(row(position), self.X.shape[0], block_size):
            after = min(first + block_size, self.X.shape[0])
            names = None if self.names is None else self.names[first:after]
            yield Block(self.X[first:after], after, names)

    def progress(self) -> None:
        """Return None: rows are no bytes."""


class Column:
    """Texts in a column of a data frame, or several of them, joined by a space."""

    label = "The column"
    written = False
    reopens = True
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
        for first in range(row(position), len(self.texts), block_size):
            after = min(first + block_size, len(self.texts))
            names = None if self.names is None else self.names[first:after]
            yield Block(self.texts[first:after], after, names)

    def progress(self) -> None:
        """Return None: rows are no bytes."""


def in_memory(source: Any, options: Options, words: list[str] | None) -> Matrix | Column | Items:
    """Return the documents of whatever this is."""
    if is_mapping(source):
        raise InputError(
            "is a mapping, which could be a table or one document; give a data frame or a list of "
            "dictionaries.",
            "source",
        )
    if isinstance(source, Corpus):
        return Matrix(source.X, options, source.words if words is None else words, source.names)
    pandas_counts = is_table(source) and package_of(source) == "pandas" and holds_numbers(source)
    frame = None if pandas_counts and not options.text_columns else as_frame(source)
    if frame is not None and (options.text_columns or any(t in TEXTUAL for t in frame.dtypes)):
        chosen = text_columns(frame.columns, frame.dtypes, options.text_columns, "The data frame")
        names = None
        if options.name_column is not None:
            choose(frame.columns, (), (options.name_column,), "The data frame")
            names = as_text(frame, options.name_column).to_list()
        return Column(joined(frame, chosen), names, options, words)
    if frame is not None:
        return Matrix(frame, options, words)
    documents = as_documents(source)
    if isinstance(documents, pl.Series):
        return Column(documents, None, options, words)
    if documents is not None:
        return Items(documents, options, words)
    if is_matrix(source):
        return Matrix(source, options, words)
    if isinstance(source, Iterable):
        return Items(source, options, words)
    raise InputError(
        f"must be a path, a collection of documents, a column or a matrix of counts, got "
        f"{type(source).__name__}.",
        "source",
    )
