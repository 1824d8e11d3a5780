"""Which columns of a table, or keys of a record, hold the text."""

from collections.abc import Mapping, Sequence
from typing import Any

from opelda.errors import InputError

# The usual names, the likeliest first.
TEXTS = (
    "text",
    "body",
    "content",
    "abstract",
    "document",
    "doc",
    "article",
    "description",
    "summary",
    "message",
    "review",
    "comment",
    "tweet",
    "post",
    "sentence",
)
# What belongs before the text, or is the text where there is no other.
TITLES = ("title", "headline", "subject")
SHOWN = 20


def choose(
    names: Sequence[str],
    textual: Sequence[str],
    wanted: Sequence[str],
    where: str,
    kind: str = "column",
) -> list[str]:
    """Return the columns that hold the text.

    Parameters
    ----------
    names : sequence of str
        All columns.
    textual : sequence of str
        Those that hold strings.
    wanted : sequence of str
        The columns asked for. Without: the first that is called text, body, content, abstract,
        document, doc, article, description, summary, message, review, comment, tweet, post or
        sentence, whatever its case, after a title if there is one; else the title, headline or
        subject alone; else the only column of strings.
    where : str
        What messages call the table.
    kind : str
        What messages call a column.

    Raises
    ------
    InputError
        When a column asked for is not there, or none stands out.

    Examples
    --------
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

    Examples
    --------
    >>> choose_keys({"id": "x7", "text": None}, "notes.jsonl, line 1")
    ['text']
    """
    names = [key for key in record if isinstance(key, str)]
    textual = [key for key in names if isinstance(record[key], str | list | tuple)]
    return usual(names) or choose(names, textual, (), where, "key")


def usual(names: Sequence[str]) -> list[str]:
    """Return the title, if there is one, and the text among names, going by what is usual.

    Examples
    --------
    >>> usual(["id", "Body", "title"])
    ['title', 'Body']
    """
    # the first of each spelling: a table may have both "text" and "Text"
    found = {name.lower(): name for name in reversed(names)}
    title = next((found[name] for name in TITLES if name in found), None)
    text = next((found[name] for name in TEXTS if name in found), None)
    return [name for name in (title, text) if name is not None]


def text_columns(
    columns: Sequence[str], dtypes: Sequence[Any], wanted: Sequence[str], where: str
) -> list[str]:
    """Return the columns of a data frame that hold the text, as `choose` does.

    Raises
    ------
    InputError
        Also when a column asked for holds neither strings nor numbers.

    Examples
    --------
    >>> import polars as pl
    >>> text_columns(["id", "note"], [pl.Int64, pl.String], (), "notes.parquet")
    ['note']
    """
    import polars as pl

    kinds = dict(zip(columns, dtypes, strict=True))
    words = (pl.String, pl.Categorical, pl.Enum)
    chosen = choose(columns, [name for name in columns if kinds[name] in words], wanted, where)
    for name in chosen:
        kind = kinds[name]
        if kind not in words and not kind.is_numeric() and kind != pl.List(pl.String):
            raise InputError(
                f"{where} has {kind} in its column {name!r}, which is no text; {listed(columns)}."
            )
    return chosen


def listed(names: Sequence[str]) -> str:
    """Return what there is, for messages.

    Examples
    --------
    >>> listed(["id", "note"])
    "it has 'id', 'note'"
    """
    if not names:
        return "it has none"
    shown = ", ".join(repr(name[:80]) for name in names[:SHOWN])
    return f"it has {shown}" + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
