"""The columns of a table, or keys of a record, that hold the text or are kept beside it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from opelda.corpus._column_names import (
    KEPT,
    NAMES,
    TEXTS,
    TITLES,
    first_named,
    is_title,
    spelled,
    usual,
    usual_column,
)
from opelda.corpus._kinds import is_missing
from opelda.corpus._replay import report
from opelda.corpus.formats import ALL, AUTO, Options
from opelda.errors import DataWarning, InputError, warn

# Types of a column of texts: the words themselves, or numbers of them.
TEXTUAL = (pl.String, pl.Categorical, pl.Enum)
LONE = re.compile("[\ud800-\udfff]")  # half a pair of surrogates


def choose(
    names: Sequence[str],
    textual: Sequence[str],
    wanted: Sequence[str],
    where: str,
    kind: str = "column",
) -> list[str]:
    """Return the columns that hold the text: the wanted ones, or else columns with usual names.

    These are a title and the first of `TEXTS`, in any case, or one of them; else the only `textual`
    column, which holds strings.
    """
    require(names, wanted, where, kind)
    if chosen := list(wanted) or usual(textual):
        return chosen
    if len(textual) == 1:
        return list(textual)
    raise InputError(
        f"{where} has no {kind} with a usual name for texts; {listed(names)}; select one with "
        "{text_column}.",
        text_column=...,
    )


def choose_keys(record: Mapping[Any, Any], where: str) -> list[str]:
    """Return the keys of a record that hold the text, as `choose` does.

    A key with a usual name is chosen even if its value is missing or no text in this record.
    """
    names = [key for key in record if isinstance(key, str)]
    textual = [key for key in names if isinstance(record[key], str | list | tuple)]
    return usual(names) or choose(names, textual, (), where, "key")


def choose_from_frame(
    columns: Sequence[str], dtypes: Sequence[Any], wanted: Sequence[str], where: str
) -> list[str]:
    """Return the columns of a data frame that hold the text, if they are strings or numbers."""
    kinds = dict(zip(columns, dtypes, strict=True))
    strings = [name for name in columns if kinds[name] in TEXTUAL]
    readable = [*strings, *(name for name in columns if kinds[name] == pl.List(pl.String))]
    # a usual name of a wrong type is for the error message
    others = [name for name in columns if not kinds[name].is_numeric()]
    chosen = list(wanted) or usual(readable) or usual(others)
    if not chosen and len(strings) != 1:
        chosen = usual(columns)
    chosen = choose(columns, strings, chosen, where)
    for name in chosen:
        if name not in readable and not (kinds[name].is_numeric() and wanted):
            raise InputError(
                f"{where} has values of type {kinds[name]} in its column {name!r}, but texts "
                "must be of type String; convert it, or name another column with "
                "{text_column}.",
                text_column=...,
            )
    return chosen


def columns_beside(
    names: Sequence[str],
    text: Sequence[str],
    options: Options,
    where: str,
    kind: str = "column",
    plain: Sequence[str] | None = None,
    other_texts: Sequence[str] = (),
) -> dict[str | None, str]:
    """Return the columns that are kept beside the text, by their names; under None the names.

    Given columns must exist; the others are found among the `plain` ones, by default all. A warning
    lists likely text columns that are not read: columns with usual names, and `other_texts`.
    """
    wanted = {name: _in_any_case(name, names) for name in wanted_columns(options)}
    require(names, wanted.values(), where, kind)
    found = [name for name in (names if plain is None else plain) if name not in text]
    name, metadata = options.name_column, options.metadata
    if name is None:  # a title is both text and name
        name = first_named(NAMES, [*filter(is_title, text), *found])
    if not options.taken:  # once for all files of a source
        options.taken["text"], options.taken["name"] = [*text], name or None
        for each in ("time", "group"):
            options.taken[each] = usual_column(each, found)
        report(f"{columns_line(options.taken)}.")
        likely = {*TEXTS, *TITLES} - {spelled(name) for name in text}
        unread = [name for name in names if spelled(name) in likely]
        unread += [name for name in other_texts if name not in (*unread, *text)]
        if unread and not options.text_columns:
            read, others = (" and ".join(_shown(names)) for names in (text, unread))
            warn(
                f"{where}: the text is read from {read}, not from {others}; name each {kind} to "
                "read with text_column of opelda.corpus.read, or --text-column.",
                DataWarning,
            )
    if ALL in metadata:
        metadata = tuple(each for each in found if each != name)
    if AUTO in metadata:
        kept = (name for name in found if spelled(name) in KEPT)
        metadata = (*(name for name in metadata if name != AUTO), *kept)
    beside = ({None: name} if isinstance(name, str) else {}) | {name: name for name in metadata}
    return {key: wanted.get(column, column) for key, column in beside.items()}


def columns_line(taken: Mapping[str, Any]) -> str:
    """Return the columns that `columns_beside` took, such as "text: Body, time: Published"."""
    name, text = taken["name"], list(taken["text"])
    titles = [each for each in text if is_title(each)][: len(text) - 1]
    kinds = {"text": [each for each in text if each not in titles], "title": titles}
    kinds["name"] = [] if name is None or name in text else [name]
    kinds |= {kind: [taken[kind]] for kind in ("time", "group") if taken[kind] is not None}
    return ", ".join(f"{kind}: {' and '.join(names)}" for kind, names in kinds.items() if names)


def wanted_columns(options: Options) -> list[str]:
    """Return the columns given by name, to be kept beside the text."""
    name, metadata = options.name_column, options.metadata
    return [
        *([name] if isinstance(name, str) else []),
        *(m for m in metadata if m not in (AUTO, ALL)),
    ]


def require(names: Sequence[str], wanted: Iterable[str], where: str, kind: str = "column") -> None:
    """Raise InputError for columns that do not exist."""
    for name in wanted:
        if name not in names:
            raise InputError(f"{where} has no {kind} {name!r}; {listed(names)}.")


def _in_any_case(name: str, names: Sequence[str]) -> str:
    """Return the only column whose name differs in case alone; otherwise the name itself."""
    alike = [each for each in names if each.casefold() == name.casefold()]
    return alike[0] if len(alike) == 1 else name


def _shown(names: Sequence[str]) -> list[str]:
    return [repr(name[:80]) for name in names[:20]]


def listed(names: Sequence[str]) -> str:
    """Return the existing names, for messages."""
    shown = _shown(names)
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"available: {', '.join(shown) or 'none'}{more}"


def text_under(record: Mapping[Any, Any], keys: Sequence[str]) -> str | None:
    """Return the texts under keys of a record, joined by a space; None without any of the keys.

    Raises TypeError with the kind of a value that is no text.
    """
    values = [record[key] for key in keys if key in record]
    return " ".join(map(text_of, values)) if values else None


def text_of(value: Any) -> str:
    """Return a string, number or list of words as a text, empty for a missing value."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return " ".join(value)
    names = {dict: "an object", list: "a list with values that are not strings", bool: "a boolean"}
    raise TypeError(names.get(type(value), type(value).__name__))


def column_text(kind: pl.DataType, values: pl.Expr) -> pl.Expr:
    """Return a column as texts: words joined by a space, empty for missing values."""
    words = values.list.join(" ", ignore_nulls=True) if kind == pl.List(pl.String) else values
    return words.cast(pl.String).fill_null("")


def as_series(texts: Sequence[str | None]) -> pl.Series:
    """Return texts as a column; lone surrogates become replacement marks."""
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([text and LONE.sub("\ufffd", text) for text in texts], dtype=pl.String)


def cells(values: Sequence[Any] | pl.Series) -> pl.Series:
    """Return a column's values as texts, null for missing ones."""
    if isinstance(values, pl.Series):
        if values.dtype in TEXTUAL or values.dtype.is_integer():
            return values.cast(pl.String)
        values = values.to_list()
    # polars gets only strings: deeply nested lists overflow its stack
    if not {str, type(None)}.issuperset(map(type, values)):
        values = [_cell(value) for value in values]
    return as_series(values)


def _cell(value: Any) -> str | None:
    if is_missing(value):
        return None
    try:
        if isinstance(value, list | tuple):
            return ", ".join(str(part) for part in value if not is_missing(part))
        if isinstance(value, bytes):
            return value.decode("utf-8", "replace")
        return str(value).lower() if isinstance(value, bool) else str(value)
    except (RecursionError, ValueError):  # the nesting is too deeply, or a number too long
        return None


def is_plain(kind: pl.DataType) -> bool:
    """Whether a column of this type, such as texts, numbers and times, can be found by name."""
    return kind == pl.List(pl.String) or not (kind.is_nested() or kind == pl.Binary)
