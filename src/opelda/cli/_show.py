"""Numbers, topics and progress as people and as programs read them."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from opelda.cli._options import Show
from opelda.cli._standard_streams import console_for, note, print_line, print_table, tell

TOPICS_SHOWN, WORDS_SHOWN, PROBLEMS_SHOWN = 5, 10, 3

# called with the documents read, and the bytes read and to be read if known
Progress = Callable[[int, int | None, int | None], None]


def count(number: float, singular: str, plural: str | None = None) -> str:
    """Return a number with what it counts.

    >>> count(1, "document"), count(12500, "document"), count(0, "entry", "entries")
    ('1 document', '12,500 documents', '0 entries')
    """
    return f"{number:,.0f} {singular if number == 1 else plural or singular + 's'}"


def duration(seconds: float) -> str:
    """Return a time to two or three digits.

    >>> duration(0.0123), duration(4.25), duration(75), duration(4000)
    ('0.01 s', '4.2 s', '1 min 15 s', '1 h 6 min')
    """
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def roughly(seconds: float) -> str:
    """Return a time as an estimate.

    >>> roughly(0.2), roughly(3.4), roughly(47), roughly(400), roughly(9000)
    ('a second', '3 s', '45 s', '7 min', '2.5 h')
    """
    if seconds < 1.5:
        return "a second"
    if seconds < 10:
        return f"{seconds:.0f} s"
    if seconds < 90:
        return f"{round(seconds / 5) * 5} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.2g} h"


def speed(number: float, seconds: float) -> str:
    """Return documents a second.

    >>> speed(100_000, 2.0), speed(5, 0.0), speed(3, 2.0)
    ('50,000 docs/s', '', '1.5 docs/s')
    """
    if seconds <= 0:
        return ""
    rate = number / seconds
    return f"{rate:,.0f} docs/s" if rate >= 10 else f"{rate:.2g} docs/s"


def size(n_bytes: float) -> str:
    """Return a file's size.

    >>> size(900), size(1_250_000)
    ('900 B', '1.2 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def share(part: float | None) -> str:
    """Return a part of the whole in percent.

    >>> share(0.1234), share(0.0004), share(None)
    ('12.3%', '<0.1%', '-')
    """
    if part is None:
        return "-"
    return f"{part:.1%}" if part >= 0.001 or part == 0 else "<0.1%"


def plain(number: float | None) -> float | None:
    """Return a number fit for JSON, which has neither NaN nor infinity.

    >>> plain(1.5), plain(float("nan")), plain(None)
    (1.5, None, None)
    """
    return None if number is None or not math.isfinite(number) else float(number)


def by_weight(rows: Sequence[Any]) -> list[Any]:
    """Return the heaviest topics first; where no weights are known, by number."""
    return sorted(rows, key=lambda row: (-(row.weight or 0.0), row.topic))


def heaviest(model: Any) -> list[Any]:
    """Return a few topics with the largest share of the tokens."""
    from opelda.report import topic_table

    return by_weight(topic_table(model, WORDS_SHOWN))[:TOPICS_SHOWN]


def topic_as_plain(row: Any) -> dict[str, Any]:
    """Return a topic as JSON holds it."""
    pairs = zip(row.words, row.probabilities, strict=True)
    return {
        "topic": row.topic,
        "weight": row.weight,
        "label": row.label,
        "words": [{"word": word, "probability": p} for word, p in pairs],
        **({} if row.stability is None else {"stability": row.stability}),
    }


def print_topics(rows: Sequence[Any], *, error: bool = False) -> None:
    """Write topics as a table."""
    columns = {
        "topic": [str(row.topic) for row in rows],
        "weight": [share(row.weight) for row in rows],
        "stability": [f"{row.stability:.2f}" for row in rows if row.stability is not None],
        "label": [row.label for row in rows],
        "words": [" ".join(row.words) for row in rows],
    }
    if len(columns["stability"]) < len(rows) or not rows:
        del columns["stability"]
    cells = zip(*columns.values(), strict=True)
    print_table(tuple(columns), cells, right=("topic", "weight", "stability"), error=error)


def print_cut(line: str) -> None:
    """Write a line of a result, cut at the width of the terminal."""
    room = console_for(sys.stdout).width
    print_line(line if len(line) <= room else line[: room - 1] + "…")


def skipped_documents(number: int, problems: Sequence[str], show: Show) -> None:
    """Say which documents could not be read, also to those who want to hear little."""
    if not number:
        return
    tell(f"{count(number, 'document')} could not be read and skipped.")
    for problem in problems[: None if show.verbose else PROBLEMS_SHOWN]:
        note(show, f"  {problem}")


@contextmanager
def bar(show: Show, what: str, time_column: str = "TimeRemainingColumn") -> Iterator[Any]:
    """Give the update function of a bar on the terminal, or None where there is no terminal."""
    if show.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(bar_width=12),
        progress.TextColumn("{task.description}", markup=False),
        getattr(progress, time_column)(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)
        yield lambda **values: shown.update(task, **values)


@contextmanager
def reading_bar(show: Show, what: str = "reading") -> Iterator[Progress | None]:
    """Give what `opelda.corpus.read` calls while it reads, or None where there is no terminal."""
    begun = perf_counter()
    with bar(show, what) as update:

        def progress(n_docs: int, done: int | None, total: int | None) -> None:
            rate = n_docs / max(perf_counter() - begun, 1e-9)
            said = f"{what}: {n_docs:,} docs, {rate:,.0f} docs/s"
            update(completed=done, total=total, description=said)

        yield None if update is None else progress
