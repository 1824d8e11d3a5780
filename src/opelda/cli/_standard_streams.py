"""Results on standard output, everything else on standard error."""

import json
import logging
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from opelda._names import printable
from opelda.errors import DataWarning

if TYPE_CHECKING:
    from opelda.cli._options import Show

# Wider than any table: where nobody looks at a terminal, a row is a line.
UNLIMITED = 1_000_000


def tell(message: str) -> None:
    """Write a line on standard error."""
    print(f"opelda: {printable(message)}", file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Write one JSON object, and nothing else, to standard output."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(safe_json(text, sys.stdout.encoding) + "\n")


def safe_json(text: str, encoding: str | None = None) -> str:
    r"""Escape in lines of JSON what moves a cursor, or what a narrow encoding does not have.

    A reader gets the same text, but for half surrogates, which stand for the bytes of paths that
    are not UTF-8: no strict reader takes them, so they are spelled as `printable` does.

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


def note(show: "Show", message: str) -> None:
    """Say something to the user, unless that is not wanted."""
    if not show.quiet:
        tell(message)


@contextmanager
def noted(show: "Show", part: str = "opelda.corpus") -> Iterator[None]:
    """Tell what a part of the package logs: sources, of how they go on, if no other is named."""
    logger, handler = logging.getLogger(part), logging.Handler()

    def emit(record: logging.LogRecord) -> None:
        if record.levelno >= logging.ERROR:
            tell(record.getMessage())
        else:
            note(show, record.getMessage())

    handler.emit = emit  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def warnings_noted(show: "Show") -> Iterator[None]:
    """Print each `DataWarning` as one line."""
    with warnings.catch_warnings():
        former = warnings.showwarning

        def told(message: Any, category: type[Warning], *where: Any) -> None:
            if issubclass(category, DataWarning):
                note(show, str(message))
            else:
                former(message, category, *where)

        warnings.showwarning = told  # type: ignore[assignment]
        warnings.simplefilter("always", DataWarning)
        yield


def print_line(text: str = "", *, error: bool = False) -> None:
    """Write a line of a result."""
    (sys.stderr if error else sys.stdout).write(printable(text) + "\n")


def print_facts(facts: Iterable[tuple[str, str]]) -> None:
    """Write pairs of a name and a value below one another."""
    pairs = list(facts)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_line(f"{name:<{width}}  {value}".rstrip())


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[str],
    *,
    error: bool = False,
    styles: Sequence[str] = (),
) -> None:
    """Write a table as wide as the terminal; without a terminal a line for each row.

    `right` names the columns of numbers; the last column takes the room that is left.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), row_styles=list(styles))
    table.header_style = "bold"
    for name in columns:
        side: Any = "right" if name in right else "left"
        table.add_column(name, justify=side, no_wrap=name != columns[-1])
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console_for(sys.stderr if error else sys.stdout).print(table)


def console_for(file: Any) -> Any:
    """Return a console of rich that writes to a file."""
    from rich.console import Console

    class Plain(Console):
        """A console that leaves a reader who went away to the command."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if file.isatty() else UNLIMITED
    return Plain(file=file, width=width, markup=False, emoji=False, highlight=False)


@contextmanager
def escaping_odd_characters() -> Iterator[None]:
    """Escape what a narrow encoding lacks; never fail because standard error was closed."""
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
    """Standard error that drops what cannot be written: learning continues without a terminal."""

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
