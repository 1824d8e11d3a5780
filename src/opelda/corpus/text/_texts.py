"""Texts of any form as a column of strings, and lower-casing."""

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from opelda.corpus._vocabulary_arrays import encodable
from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl


# Up to so many texts Python is faster at lower-casing: polars takes 80 us for a call.
FEW = 64


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


def lowered_column(texts: "pl.Series") -> "pl.Series":
    """Return the texts in lower case."""
    import polars as pl

    few = lowered(texts.to_list()) if len(texts) <= FEW else None
    return texts.str.to_lowercase() if few is None else pl.Series(few, dtype=pl.String)


def lowered(texts: list[str]) -> list[str] | None:
    """Return texts in lower case as polars has it; None where Python would have it otherwise."""
    for text in texts:
        if not text.isascii() and not _odd_letters().isdisjoint(text):
            return None
    return [text.lower() for text in texts]


@cache
def _odd_letters() -> frozenset[str]:
    """Return the letters that Python and polars lower-case in different ways."""
    import polars as pl

    odd = {"\u03a3"}  # it goes by the letters around it: their classes may differ
    for plane in range(0, 0x110000, 0x10000):  # one at a time: all of them take 300 MB
        points = range(max(plane, 0x80), plane + 0x10000)
        letters = [chr(point) for point in points if not 0xD800 <= point < 0xE000]
        by_polars = pl.Series(letters).str.to_lowercase().to_list()
        odd.update(a for a, b in zip(letters, by_polars, strict=True) if a.lower() != b)
    return frozenset(odd)


def _no_text(number: int, value: Any) -> InputError:
    kind = "missing" if value is None else f"of type {type(value).__name__}"
    return InputError(f"Document {number} is {kind}, not a text; give a string, or leave it out.")
