"""Results on standard output, everything else on standard error: numbers, tables, JSON, bars."""

import json
import logging
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import SimpleNamespace
from typing import Any, cast

from opelda._names import printable
from opelda.errors import DataWarning

# of the command that runs
VERBOSITY = SimpleNamespace(quiet=False, verbose=False)
# called with the documents read, and the bytes read and to be read if known
Progress = Callable[[int, int | None, int | None], None]


def count(number: float, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{number:,.0f} {singular if number == 1 else plural or singular + 's'}"


def duration(seconds: float, digits: int = 1) -> str:
    """Return a time."""
    if seconds < 60:
        return f"{seconds:.{2 if seconds < 1 and digits else digits}f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def share(part: float | None) -> str:
    """Return a part of the whole in percent."""
    if part is None:
        return "-"
    return f"{part:.1%}" if part >= 0.001 or part == 0 else "<0.1%"


def plain(number: float | None) -> float | None:
    """Return a JSON-compatible number: None for NaN and infinity."""
    return None if number is None or not math.isfinite(number) else float(number)


def tell(message: str, *commands: str) -> None:
    """Write a line, and commands below it, on standard error."""
    lines = [f"opelda: {printable(message)}", *(f"  {printable(each)}" for each in commands)]
    print(*lines, sep="\n", file=sys.stderr, flush=True)


def note(message: str, *commands: str) -> None:
    """Write a note on standard error, unless `--quiet` is set."""
    if not VERBOSITY.quiet:
        tell(message, *commands)


def print_json(value: Any) -> None:
    """Write one JSON object to standard output."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(safe_json(text, sys.stdout.encoding) + "\n")


def safe_json(text: str, encoding: str | None = None) -> str:
    r"""Escape characters that move a cursor, or that a narrow encoding lacks, in lines of JSON.

    Half surrogates stand for bytes of paths that are not UTF-8. Strict readers refuse them, so
    they are spelled as `printable` does. A reader gets all other text unchanged.

    >>> print(safe_json('{"word": "\x9b31m", "path": "caf\udce9"}'))
    {"word": "\u009b31m", "path": "caf\\udce9"}
    """
    wide = (encoding or "utf-8").lower().startswith("utf")

    def escaped(found: re.Match[str]) -> str:
        character = found[0]
        if "\ud800" <= character <= "\udfff":
            return rf"\\u{ord(character):04x}"
        return character if wide and character.isprintable() else json.dumps(character)[1:-1]

    return re.sub("[^ -~\n]", escaped, text)


@contextmanager
def noted(part: str = "opelda.corpus") -> Iterator[None]:
    """Print the log of a part of the package; only errors with `--quiet`."""
    logger, handler = logging.getLogger(part), logging.Handler()
    handler.emit = lambda record: tell(record.getMessage())  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.ERROR if VERBOSITY.quiet else logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def warnings_noted() -> Iterator[None]:
    """Print each `DataWarning` as one line."""
    with warnings.catch_warnings():
        former = warnings.showwarning

        def told(message: Any, category: type[Warning], *where: Any) -> None:
            if issubclass(category, DataWarning):
                note(str(message))
            else:
                former(message, category, *where)

        warnings.showwarning = told  # type: ignore[assignment]
        warnings.simplefilter("always", DataWarning)
        warnings.filterwarnings("ignore", ".* missed the requested accuracy")  # commands count them
        yield


def print_line(text: str = "", *, cut: bool = False) -> None:
    """Write a line of a result, cut at the width of the terminal if asked to."""
    if cut and len(text) > (room := width()):
        text = text[: room - 1] + "…"
    sys.stdout.write(printable(text) + "\n")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write pairs of a name and a value below one another."""
    pairs = list(facts)
    room = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_line(f"{name:<{room}}  {value}".rstrip())


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[str],
    *,
    error: bool = False,
    styles: Sequence[str] = (),
) -> None:
    """Write a table as wide as the terminal; without a terminal a line for each row."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), row_styles=list(styles))
    table.header_style = "bold"
    for name in columns:
        side: Any = "right" if name in right else "left"
        table.add_column(name, justify=side, no_wrap=name != columns[-1])
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    _console(sys.stderr if error else sys.stdout).print(table)


def width() -> int:
    """Return the width of the terminal; without a terminal, an unlimited width."""
    return int(_console(sys.stdout).width)


def _console(file: Any) -> Any:
    from rich.console import Console

    class Plain(Console):
        """A console that raises BrokenPipeError when the reader closes the pipe."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    wide = None if file.isatty() else 1_000_000  # wider than any table
    return Plain(file=file, width=wide, markup=False, emoji=False, highlight=False)


def by_weight(rows: Sequence[Any]) -> list[Any]:
    """Return the heaviest topics first; without weights, by number."""
    return sorted(rows, key=lambda row: (-(row.weight or 0.0), row.topic))


def heaviest(model: Any) -> list[Any]:
    """Return the five topics with the largest share of the tokens, with ten words each."""
    from opelda.report import topic_table

    return by_weight(topic_table(model, 10))[:5]


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
    stable = bool(rows) and all(row.stability is not None for row in rows)
    names = ("topic", "weight", *(["stability"] if stable else []), "label", "words")
    cells = []
    for row in rows:
        stability = [f"{row.stability:.2f}"] if stable else []
        cells.append(
            (str(row.topic), share(row.weight), *stability, row.label, " ".join(row.words))
        )
    print_table(names, cells, right=names[:-2], error=error)


def note_similar(topics: Any, path: str) -> None:
    """Report nearly identical topics, and the command that merges them."""
    if VERBOSITY.quiet or topics.size > 2**25:  # comparing all pairs would take seconds
        return
    from opelda._word_ranking import similar_groups

    groups = [",".join(map(str, group)) for group in similar_groups(topics)]
    if groups:
        named = " ".join(f"--merge {group}" for group in groups[:10])
        more = "" if len(groups) <= 10 else f" (and {len(groups) - 10} more)"
        which = " and ".join(groups[0].split(",")[:2])
        note(
            f"topics {which}{'' if len(groups) == 1 else ', and others,'} are nearly "
            f"identical; merge them with: opelda edit {path} {named} -o NEW{more}"
        )


def skipped_documents(number: int, problems: Sequence[str]) -> None:
    """Report the number of skipped documents, also with `--quiet`; list all with `-v`."""
    if number:
        tell(f"{count(number, 'document')} could not be read and skipped.")
        for problem in problems[: None if VERBOSITY.verbose else 3]:
            note(f"  {problem}")


@contextmanager
def reading_bar(what: str = "reading", unit: str = "docs") -> Iterator[Progress | None]:
    """Return a progress callback, as of `opelda.corpus.read`; None without a terminal."""
    if VERBOSITY.quiet or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.BarColumn(bar_width=12),
        progress.TextColumn("{task.description}", markup=False),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def update(n: int, done: int | None, total: int | None) -> None:
            bar.update(task, completed=done, total=total, description=f"{what}: {n:,} {unit}")

        yield update


@contextmanager
def escaping_odd_characters() -> Iterator[None]:
    """Escape characters that the encoding lacks; ignore a closed standard error."""
    before = sys.stderr
    sys.stderr = cast(Any, _Forgiving(before))
    for stream in (sys.stdout, before):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        sys.stderr = before


class _Forgiving:
    """Standard error that ignores failed writes: learning continues without a terminal."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()
