"""Values of any kind as columns of text, as polars has them."""

import re
from collections.abc import Sequence
from typing import Any

import polars as pl

from opelda.corpus._kinds import is_missing

LONE = re.compile("[\ud800-\udfff]")
# Types of a column of texts: the words themselves, or numbers of them.
TEXTUAL = (pl.String, pl.Categorical, pl.Enum)


def as_series(texts: Sequence[str | None]) -> pl.Series:
    """Return texts as polars has them; half a pair of surrogates becomes a replacement mark."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([text and LONE.sub("\ufffd", text) for text in texts], dtype=pl.String)


def cells(values: Sequence[Any] | pl.Series) -> pl.Series:
    """Return a column's values as texts, null for the missing.

    >>> cells(["tea", 7, None, 0.5, True, ["a", "b"]]).to_list()
    ['tea', '7', None, '0.5', 'true', 'a, b']
    """
    if isinstance(values, pl.Series):
        if values.dtype in TEXTUAL or values.dtype.is_integer():
            return values.cast(pl.String)
        values = values.to_list()
    # polars is given nothing else to look at: lists that are nested deep overflow its stack
    if not {str, type(None)}.issuperset(map(type, values)):
        values = [_cell(value) for value in values]
    return as_series(values)


def is_plain(kind: pl.DataType) -> bool:
    """Whether a column of this type can be found by its name; texts, numbers and times can."""
    return kind == pl.List(pl.String) or not (kind.is_nested() or kind == pl.Binary)


def _cell(value: Any) -> str | None:
    if is_missing(value):
        return None
    try:
        if isinstance(value, list | tuple):
            return ", ".join(str(part) for part in value if not is_missing(part))
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return str(value).lower() if isinstance(value, bool) else str(value)
    except (RecursionError, ValueError):  # nested too deep, or a number too long
        return None
