"""Which columns of a table, or keys of a record, hold the text, and which are kept beside it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
from opelda.errors import DataWarning, InputError, warn

if TYPE_CHECKING:
    from opelda.corpus.formats._registry import Options

AUTO = "auto"  # among columns: those that are found by their names
SHOWN = 20


def choose(
    names: Sequence[str],
    textual: Sequence[str],
    wanted: Sequence[str],
    where: str,
    kind: str = "column",
) -> list[str]:
    """Return the columns that hold the text: those wanted, or else what their names speak for.

    That is the first of `TEXTS` there is, whatever its case, after a title if there is one; else
    the first of `TITLES`; else the only one of the `textual` columns, which hold strings.
    """
    require(names, wanted, where, kind)
    if wanted:
        return list(wanted)
    if found := usual(textual):
        return found
    if len(textual) == 1:
        return list(textual)
    raise InputError(
        f"{where} does not say which {kind} is the text; {listed(names)}, so name it with "
        "{text_column}.",
        text_column=...,
    )


def choose_keys(record: Mapping[Any, Any], where: str) -> list[str]:
    """Return the keys of a record that hold the text, as `choose` does.

    A key with a usual name is taken whatever its value, which may be of another type, or missing,
    in this record alone.
    """
    names = [key for key in record if isinstance(key, str)]
    textual = [key for key in names if isinstance(record[key], str | list | tuple)]
    return usual(names) or choose(names, textual, (), where, "key")


def columns_beside(
    names: Sequence[str],
    text: Sequence[str],
    options: "Options",
    where: str,
    kind: str = "column",
    plain: Sequence[str] | None = None,
    other_texts: Sequence[str] = (),
) -> dict[str | None, str]:
    """Return the columns that are kept beside the text, by what they are kept as; None: as names.

    Those that are asked for must be there; others are found among the `plain` ones, if not given
    among all. A warning lists likely text columns that are not read: those with usual names, and
    `other_texts`.
    """
    require(names, wanted_columns(options), where, kind)
    found = [name for name in (names if plain is None else plain) if name not in text]
    name, metadata = options.name_column, options.metadata
    if name is None:  # a title is both text and name
        name = first_named(NAMES, [*filter(is_title, text), *found])
    if not options.taken:  # once for all files of a source
        options.taken["text"], options.taken["name"] = [*text], name or None
        for each in ("time", "group"):
            options.taken[each] = usual_column(each, found)
        likely = {*TEXTS, *TITLES} - {spelled(name) for name in text}
        unread = [name for name in names if spelled(name) in likely]
        unread += [name for name in other_texts if name not in (*unread, *text)]
        if unread and not options.text_columns:
            warn(
                f"{where}: the text is read from {_quoted(text)}, not from {_quoted(unread)}; name "
                f"each {kind} to read with text_column of opelda.corpus.read, or --text-column.",
                DataWarning,
            )
    if AUTO in metadata:
        kept = (name for name in found if spelled(name) in KEPT)
        metadata = (*(name for name in metadata if name != AUTO), *kept)
    return ({None: name} if isinstance(name, str) else {}) | {name: name for name in metadata}


def wanted_columns(options: "Options") -> list[str]:
    """Return the columns that are asked for by name, to be kept beside the text."""
    name, metadata = options.name_column, options.metadata
    return [*([name] if isinstance(name, str) else []), *(m for m in metadata if m != AUTO)]


def require(names: Sequence[str], wanted: Iterable[str], where: str, kind: str = "column") -> None:
    """Refuse columns that are asked for and not there."""
    for name in wanted:
        if name not in names:
            raise InputError(f"{where} has no {kind} {name!r}; {listed(names)}.")


def text_columns(
    columns: Sequence[str], dtypes: Sequence[Any], wanted: Sequence[str], where: str
) -> list[str]:
    """Return the columns of a data frame that hold the text, if they are strings or numbers."""
    import polars as pl  # on first use: the list of formats imports this module

    kinds = dict(zip(columns, dtypes, strict=True))
    strings = [name for name in columns if kinds[name] in (pl.String, pl.Categorical, pl.Enum)]
    lists = [name for name in columns if kinds[name] == pl.List(pl.String)]
    chosen = list(wanted) or usual([*strings, *lists])
    if not chosen:  # one of a wrong type is meant all the same, numbers rather not
        chosen = usual([name for name in columns if not kinds[name].is_numeric()])
    if not chosen and len(strings) != 1:
        chosen = usual(columns)
    chosen = choose(columns, strings, chosen, where)
    for name in chosen:
        kind = kinds[name]
        numbers = kind.is_numeric() and wanted
        if name not in strings and name not in lists and not numbers:
            raise InputError(
                f"{where} has values of type {kind} in its column {name!r}, and text (String) is "
                "needed; convert the column, or name another one with {text_column}.",
                text_column=...,
            )
    return chosen


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(repr(name[:80]) for name in names[:SHOWN])


def listed(names: Sequence[str]) -> str:
    """Return what there is, for messages."""
    if not names:
        return "it has none"
    shown = ", ".join(repr(name[:80]) for name in names[:SHOWN])
    return f"it has {shown}" + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
