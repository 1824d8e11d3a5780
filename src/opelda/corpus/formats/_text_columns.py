"""Which columns of a table, or keys of a record, hold the text, and which are kept beside it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opelda.errors import DataWarning, InputError, warn

if TYPE_CHECKING:
    from opelda.corpus.formats._registry import Options

# The usual names, the likeliest first.
TEXTS = (
    *("text", "body", "content", "abstract", "document", "doc", "article", "description"),
    *("summary", "message", "review", "comment", "tweet", "post", "sentence"),
)
# Names of the column that comes before the text, or is the text where there is no other.
TITLES = ("title", "headline", "subject")
# The same of columns that name, date and group documents, each as `_spelled` spells it.
NAMES = (
    *(*TITLES, "id", "name", "docid", "documentid", "articleid", "paperid", "postid", "tweetid"),
    *("messageid", "uid", "uuid", "guid", "doi", "filename", "file", "path", "url", "uri", "link"),
)
TIMES = (
    *("date", "datetime", "timestamp", "time", "published", "publishedat", "publishedon"),
    *("publishdate", "publisheddate", "publicationdate", "datepublished", "pubdate", "pubyear"),
    *("publicationyear", "created", "createdat", "createdon", "createddate", "creationdate"),
    *("createdutc", "createdtime", "posted", "postedat", "postdate", "dateposted", "submitted"),
    *("submittedat", "submitteddate", "submissiondate", "sent", "sentat", "year", "yearmonth"),
    *("month", "week", "day", "decade", "updated", "updatedat", "updatedate", "modified"),
)
GROUPS = (
    *("section", "category", "categories", "group", "source", "publisher", "publication"),
    *("newspaper", "journal", "venue", "conference", "outlet", "channel", "subreddit", "forum"),
    *("newsgroup", "author", "authors", "speaker", "user", "username", "party", "topic", "label"),
    *("class", "type", "genre", "department", "domain", "platform", "product", "country"),
    *("region", "state", "city", "language", "lang"),
)
KEPT = {*TIMES, *GROUPS}
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

    >>> choose(["id", "title", "abstract"], ["id", "title", "abstract"], (), "papers.csv")
    ['title', 'abstract']
    >>> choose(["id", "note"], ["note"], (), "notes.csv")
    ['note']
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


def usual(names: Sequence[str]) -> list[str]:
    """Return the title, if there is one, and the text among names, going by what is usual."""
    title, text = _first(TITLES, names), _first(TEXTS, names)
    return [name for name in (title, text) if name is not None]


def time_column(names: Iterable[str]) -> str | None:
    """Return the first of the usual names of a time, such as "date" or "Created At"; or None.

    Parameters
    ----------
    names : iterable of str
        Of columns, as ``corpus.metadata.columns``; their case, and what separates words, is
        passed over.

    Returns
    -------
    str or None

    Examples
    --------
    >>> time_column(["id", "PublishedAt", "year"]), time_column(["id", "text"])
    ('PublishedAt', None)
    """
    return _first(TIMES, names)


def group_column(names: Iterable[str]) -> str | None:
    """Return the first of the usual names of a group, such as "section" or "author"; or None.

    Parameters
    ----------
    names : iterable of str
        As of `time_column`.

    Returns
    -------
    str or None

    Examples
    --------
    >>> group_column(["id", "date", "author", "Section"])
    'Section'
    """
    return _first(GROUPS, names)


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

    >>> from opelda.corpus.formats import Options
    >>> columns = ["Title", "text", "year"]
    >>> columns_beside(columns, ["Title", "text"], Options(metadata=("auto",)), "news.csv")
    {None: 'Title', 'year': 'year'}
    """
    require(names, wanted_columns(options), where, kind)
    found = [name for name in (names if plain is None else plain) if name not in text]
    name, metadata = options.name_column, options.metadata
    if name is None:  # a title is both text and name
        name = _first(NAMES, [*filter(_is_title, text), *found])
    if not options.taken:  # once for all files of a source
        kinds = {"time": time_column(found), "group": group_column(found)}
        options.taken.update({"text": [*text], "name": name or None, **kinds})
        likely = {*TEXTS, *TITLES} - {_spelled(name) for name in text}
        unread = [name for name in names if _spelled(name) in likely]
        unread += [name for name in other_texts if name not in unread]
        if unread and not options.text_columns:
            warn(
                f"{where}: the text is read from {_quoted(text)}, not from {_quoted(unread)}; name "
                f"each {kind} to read with text_column of opelda.corpus.read, or --text-column.",
                DataWarning,
            )
    if AUTO in metadata:
        kept = (name for name in found if _spelled(name) in KEPT)
        metadata = (*(name for name in metadata if name != AUTO), *kept)
    return ({None: name} if isinstance(name, str) else {}) | {name: name for name in metadata}


def wanted_columns(options: "Options") -> list[str]:
    """Return the columns that are asked for by name, to be kept beside the text."""
    name, metadata = options.name_column, options.metadata
    return [*([name] if isinstance(name, str) else []), *(m for m in metadata if m != AUTO)]


def usual_columns(names: Sequence[str]) -> list[str]:
    """Return those that could be found by their names, one for each: a bounded number."""
    first = {_spelled(name): name for name in reversed(names)}
    found = {first[name] for name in (*NAMES, *KEPT) if name in first}
    return [name for name in names if name in found]


def require(names: Sequence[str], wanted: Iterable[str], where: str, kind: str = "column") -> None:
    """Refuse columns that are asked for and not there."""
    for name in wanted:
        if name not in names:
            raise InputError(f"{where} has no {kind} {name!r}; {listed(names)}.")


def _first(usual: Sequence[str], names: Iterable[str]) -> str | None:
    # the first of each spelling: a table may have both "text" and "Text"
    found = {_spelled(name): name for name in reversed(list(names))}
    return next((found[name] for name in usual if name in found), None)


def _spelled(name: str) -> str:
    return name.lower().translate(dict.fromkeys(map(ord, "_-. ")))


def _is_title(name: str) -> bool:
    return _spelled(name) in TITLES


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


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(repr(name[:80]) for name in names[:SHOWN])


def listed(names: Sequence[str]) -> str:
    """Return what there is, for messages."""
    if not names:
        return "it has none"
    shown = ", ".join(repr(name[:80]) for name in names[:SHOWN])
    return f"it has {shown}" + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
