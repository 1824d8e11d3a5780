"""Texts in the forms they are given in as one column of strings."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from opelda.corpus._packing import encodable
from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl


def as_texts(texts: Any) -> "pl.Series":
    """Return a Series of strings without nulls, or say which document is none."""
    import polars as pl

    if isinstance(texts, pl.Series):
        if texts.dtype != pl.String and texts.len():
            raise InputError(f"The texts must be a Series of strings, not of {texts.dtype}.")
        if texts.null_count():
            raise _no_text(int(texts.is_null().arg_max() or 0), None)
        return texts.cast(pl.String)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise InputError(
            f"The texts must be a sequence of strings, got one {type(texts).__name__}; "
            "for a single text give [text]."
        )
    values = list(texts)
    for number, text in enumerate(values):
        if not isinstance(text, str):
            raise _no_text(number, text)
    try:
        return pl.Series(values, dtype=pl.String)
    except UnicodeEncodeError:
        number = next(i for i, text in enumerate(values) if not encodable(text))
        raise InputError(
            f"Document {number} holds a lone surrogate, which is no character; "
            "decode its bytes with errors='replace'."
        ) from None


def _no_text(number: int, value: Any) -> InputError:
    kind = "missing" if value is None else f"of type {type(value).__name__}"
    return InputError(f"Document {number} is {kind}, not a text; give a string, or leave it out.")
