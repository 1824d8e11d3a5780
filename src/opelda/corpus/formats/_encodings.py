"""Encodings of texts, and values of any kind as columns of text."""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import polars as pl

from opelda.corpus._kinds import is_missing
from opelda.corpus.formats._registry import Options
from opelda.errors import InputError

# Stands for bytes that mean nothing in their encoding: it is no valid UTF-8 either, so that
# whoever decodes the line finds it there.
INVALID = "\udcff"


def codec(encoding: str) -> str:
    """Return an encoding's usual name, "utf-8" for UTF8; refuse what is no encoding of text."""
    try:
        found = codecs.lookup(encoding)
    except (LookupError, TypeError, ValueError):
        found = None
    if found is None or not found._is_text_encoding or found.incrementaldecoder is None:
        raise InputError(
            f"There is no text encoding {encoding!r}; give one as 'utf-8', 'latin-1', 'utf-16'."
        )
    return "utf-8" if found.name == "utf-8-sig" else found.name


def as_utf8(pieces: Iterable[bytes], encoding: str, label: str) -> Iterator[bytes]:
    """Yield a text as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)("opelda.mark")
    for data in chain(pieces, [None]):
        try:
            text = decoder.decode(data or b"", final=data is None)
        except UnicodeError as error:
            why = f"{label} cannot be decoded ({error})"
            raise InputError(f"{why}; give the encoding it is written in.") from None
        if text or data == b"":  # which says that there is nothing at the moment
            yield text.encode("utf-8", "surrogatepass")


def decoded(
    data: bytes, first: int, label: str, options: Options
) -> tuple[list[str], Sequence[int]]:
    """Return lines without their ends, and their numbers; bad ones are reported and left out."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    data = data.removesuffix(b"\n")
    try:
        lines = data.decode().split("\n")
        return lines, range(first, first + len(lines))
    except UnicodeDecodeError:
        lines, numbers = [], []
    for number, line in enumerate(data.split(b"\n"), first):
        try:
            lines.append(line.decode())
            numbers.append(number)
        except UnicodeDecodeError:
            report_encoding(f"{label}, line {number}", line, options)
    return lines, numbers


def report_encoding(where: str, data: bytes, options: Options) -> None:
    """Report that some bytes are not of the encoding that was promised."""
    if codec(options.encoding) != "utf-8":
        what, remedy = f"is not valid {options.encoding}", "give the encoding it is written in"
        options.problems.add(where, what, remedy)
        return
    start = 0
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = error.start
    column = len(data[:start].decode())
    wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    options.problems.add(
        where,
        f"is not valid utf-8 (byte 0x{data[start]:02x} at column {column + 1})",
        "give {encoding} or what it is written in",
        encoding="utf-16" if wide else "latin-1",
    )


def _mark(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return INVALID, error.end


codecs.register_error("opelda.mark", _mark)


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
    """Return a column's values as texts, null for the missing."""
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
