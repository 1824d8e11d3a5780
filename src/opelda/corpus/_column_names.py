"""The usual names of columns and keys: of texts, names, times and groups."""

from collections.abc import Iterable, Sequence

# The usual names in order of preference, as `spelled` spells them: of texts; of titles, which come
# before the text or replace a missing one; of names, times and groups of documents.
_USUAL = """
text body content abstract document doc article description summary message review comment tweet
post sentence;

title headline subject;

id name docid documentid articleid paperid postid tweetid messageid uid uuid guid doi filename file
path url uri link;

date datetime timestamp time published publishedat publishedon publishdate publisheddate
publicationdate datepublished pubdate pubyear publicationyear created createdat createdon
createddate creationdate createdutc createdtime posted postedat postdate dateposted submitted
submittedat submitteddate submissiondate sent sentat year yearmonth month week day decade updated
updatedat updatedate modified;

section category categories group source publisher publication newspaper journal venue conference
outlet channel subreddit forum newsgroup author authors speaker user username party topic label
class type genre department domain platform product country region state city language lang
"""
TEXTS, TITLES, NAMES, TIMES, GROUPS = (names.split() for names in _USUAL.split(";"))
NAMES = [*TITLES, *NAMES]
SOURCES = [*GROUPS[4:], *GROUPS[:4], "path"]  # in another order of preference
KEPT = {*TIMES, *GROUPS}


def usual(names: Sequence[str]) -> list[str]:
    """Return the usual names of a title and of the text, without missing ones."""
    title, text = first_named(TITLES, names), first_named(TEXTS, names)
    return [name for name in (title, text) if name is not None]


def usual_column(kind: str, names: Iterable[str]) -> str | None:
    """Return the first usual name of a "time", "source" or "group" among names; None without one.

    >>> usual_column("time", ["id", "PublishedAt", "year"])
    'PublishedAt'
    """
    return first_named({"time": TIMES, "source": SOURCES}.get(kind, GROUPS), names)


def usual_columns(names: Sequence[str]) -> list[str]:
    """Return the columns with usual names, one of each spelling."""
    first = {spelled(name): name for name in reversed(names)}
    found = {first[name] for name in (*NAMES, *KEPT) if name in first}
    return [name for name in names if name in found]


def is_title(name: str) -> bool:
    """Whether a column of this name holds titles."""
    return spelled(name) in TITLES


def first_named(usual: Sequence[str], names: Iterable[str]) -> str | None:
    """Return the name whose spelling comes first among the usual ones; None without one."""
    # the first of each spelling: a table may have both "text" and "Text"
    found = {spelled(name): name for name in reversed(list(names))}
    return next((found[name] for name in usual if name in found), None)


def spelled(name: str) -> str:
    """Return a name without case, separators and spaces."""
    return name.lower().translate(dict.fromkeys(map(ord, "_-. ")))
