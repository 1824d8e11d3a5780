"""Numbers, topics and progress as people and as programs read them."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._standard_streams import note, print_table, tell

TOPICS_SHOWN, WORDS_SHOWN, PROBLEMS_SHOWN = 5, 10, 3
UNITS = ("B", "kB", "MB", "GB", "TB")

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
    unit = 0
    while n_bytes >= 1000 and unit < len(UNITS) - 1:
        n_bytes /= 1000
        unit += 1
    return f"{n_bytes:.0f} {UNITS[unit]}" if unit == 0 else f"{n_bytes:.1f} {UNITS[unit]}"


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
    cells: dict[str, Callable[[Any], str]] = {
        "topic": lambda row: str(row.topic),
        "weight": lambda row: share(row.weight),
        "stability": lambda row: f"{row.stability:.2f}",
        "label": lambda row: row.label,
        "words": lambda row: " ".join(row.words),
    }
    if any(row.stability is None for row in rows):
        del cells["stability"]
    print_table(
        tuple(cells),
        [tuple(cell(row) for cell in cells.values()) for row in rows],
        right=("topic", "weight", "stability"),
        error=error,
    )


def skipped_documents(number: int, problems: Sequence[str], show: Show) -> None:
    """Say which documents could not be read, also to those who want to hear little."""
    if not number:
        return
    tell(f"{count(number, 'document')} could not be read and skipped.")
    for problem in problems[: None if show.verbose else PROBLEMS_SHOWN]:
        note(show, f"  {problem}")


@contextmanager
def reading_bar(show: Show, what: str = "reading") -> Iterator[Progress | None]:
    """Give what `opelda.corpus.read` calls while it reads, or None where nobody watches."""
    if show.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=12),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def progress(n_docs: int, done: int | None, total: int | None) -> None:
            elapsed = bar.tasks[0].elapsed
            rate = f", {n_docs / elapsed:,.0f} docs/s" if elapsed else ""
            bar.update(
                task, completed=done, total=total, description=f"{what}: {n_docs:,} docs{rate}"
            )

        yield progress


def learning_display(show: Show, *, lines: bool = False) -> Any:
    """Return a callback that shows how learning goes, or None where nobody watches.

    With `lines` there is a line now and then where there is no terminal.
    """
    if show.quiet or not (show.verbose or lines or sys.stderr.isatty()):
        return None
    from opelda.learning._listeners import ProgressBar, ProgressLines

    display: Any
    if show.verbose or not sys.stderr.isatty():
        display = ProgressLines(interval=0.0) if show.verbose else ProgressLines()
    else:
        display = ProgressBar()
    display.needs_gap = show.verbose  # certificates take time, and a bar has no room for them
    return display


class Summaries:
    """A callback that shows the heaviest topics: first after the first update, then every so often.

    `every` is a number of documents, or a time such as 5m.
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show, every: str) -> None:
        from opelda._validation import Every  # and NumPy, only now

        self._show, self._every = show, Every("summary_every", every)

    def __call__(self, report: Any) -> None:
        """Show them if it is time."""
        if self._show.quiet or not self._every.is_due(report.n_docs):
            return
        note(
            self._show,
            f"{count(report.model.n_docs_seen_, 'document')}, {count(report.n_words, 'word')}, "
            f"{report.docs_per_second:,.0f} docs/s",
        )
        print_topics(heaviest(report.model), error=True)
        self._every.done()
