"""Columns and tables of polars, pandas, Arrow and NumPy, as polars has them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from opelda.corpus._kinds import is_column, is_missing, is_table, package_of
from opelda.corpus.formats._lines import as_series
from opelda.errors import InputError

# What a column of texts may be: the words themselves, or numbers of them.
TEXTUAL = (pl.String, pl.Categorical, pl.Enum)


def as_frame(source: Any) -> pl.DataFrame | None:
    """Return a table of polars, pandas or Arrow; None where it is none."""
    if not is_table(source):
        return None
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        return source
    if package_of(source) == "pandas":
        names = _distinct([str(name) for name in source.columns])
        columns = [source.iloc[:, i] for i in range(len(names))]
        return pl.DataFrame([_column(c).alias(n) for n, c in zip(names, columns, strict=True)])
    _distinct(source.schema.names)
    return pl.DataFrame(source)


def as_documents(source: Any) -> pl.Series | list[Any] | None:
    """Return a column: texts as a series without nulls, else its values, [] for the missing.

    None where it is no column.
    """
    if not is_column(source):
        return None
    if package_of(source) == "pyarrow":
        try:
            source = pl.Series(source)
        except (TypeError, ValueError, pl.exceptions.PolarsError):  # a type that polars has not
            source = np.array([*source.to_pylist(), None], object)[:-1]
    if isinstance(source, pl.Series):
        if source.dtype in (*TEXTUAL, pl.Null):
            return source.cast(pl.String).fill_null("")
        return [[] if value is None else value for value in source.to_list()]
    values = source.tolist()
    if all(isinstance(value, str) or is_missing(value) for value in values):
        return _texts(values)
    return [[] if is_missing(value) else value for value in values]


def joined(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """Return the columns as texts, joined by a space."""
    texts = [as_text(frame, column) for column in columns]
    return pl.select(pl.concat_str(texts, separator=" ")).to_series()


def as_text(frame: pl.DataFrame, column: str) -> pl.Series:
    """Return a column as texts: words joined by a space, nothing for the missing."""
    values = frame[column]
    if values.dtype == pl.List(pl.String):
        values = values.list.join(" ", ignore_nulls=True)
    try:
        return values.cast(pl.String).fill_null("")
    except pl.exceptions.PolarsError:
        raise InputError(
            f"The data frame has {values.dtype} in its column {column!r}, which is no text; name "
            "another."
        ) from None


def _distinct(names: list[str]) -> list[str]:
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"The data frame has {names.count(name)} columns that are called {name!r}; rename "
                "all but one."
            )
    return names


def _column(column: Any) -> pl.Series:
    """Return a column of pandas; values of several kinds as objects."""
    values = column.tolist()
    if all(isinstance(value, str) or is_missing(value) for value in values):
        return _texts(values)
    values = [v.tolist() if isinstance(v, np.ndarray) else v for v in values]
    values = [None if is_missing(value) else value for value in values]
    try:
        return pl.Series(values)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return pl.Series(values, dtype=pl.Object)


def _texts(values: list[Any]) -> pl.Series:
    return as_series(["" if is_missing(value) else str(value) for value in values])
