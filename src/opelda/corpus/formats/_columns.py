"""Which columns of a table, or keys of a record, hold the text."""

from collections.abc import Mapping, Sequence
from typing import Any

from opelda.errors import InputError

# The usual names, the likeliest first.
TEXTS = (
    *("text", "body", "content", "abstract", "document", "doc", "article", "description"),
    *("summary", "message", "review", "comment", "tweet", "post", "sentence"),
)
# Names of the column that comes before the text, or is the text where there is no other.
TITLES = ("title", "headline", "subject")
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

    >>> choose(["id", "title", "abstract"], ["id", "title", "abstract"], (), "papers.csv")
    ['title', 'abstract']
    >>> choose(["id", "note"], ["note"], (), "notes.csv")
    ['note']
    """
    for name in wanted:
        if name not in names:
            raise InputError(f"{where} has no {kind} {name!r}; {listed(names)}.")
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


def usual(names: Sequence[str]) -> list[str]:
    """Return the title, if there is one, and the text among names, going by what is usual."""
    # the first of each spelling: a table may have both "text" and "Text"
    found = {name.lower(): name for name in reversed(names)}
    title = next((found[name] for name in TITLES if name in found), None)
    text = next((found[name] for name in TEXTS if name in found), None)
    return [name for name in (title, text) if name is not None]


def text_columns(
    columns: Sequence[str], dtypes: Sequence[Any], wanted: Sequence[str], where: str
) -> list[str]:
    """Return the columns of a data frame that hold the text, if they are strings or numbers."""
    import polars as pl

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


def listed(names: Sequence[str]) -> str:
    """Return what there is, for messages."""
    if not names:
        return "it has none"
    shown = ", ".join(repr(name[:80]) for name in names[:SHOWN])
    return f"it has {shown}" + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
