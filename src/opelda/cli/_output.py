"""What goes where: results to standard output, everything else to standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from opelda.cli._errors import printable, tell
from opelda.cli._options import Show

# wider than any table: where nobody looks at a terminal, a row is a line
UNLIMITED = 1_000_000


def note(show: Show, message: str) -> None:
    """Say something to the user, unless that is not wanted."""
    if not show.quiet:
        tell(message)


def is_terminal() -> bool:
    """Whether somebody watches standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


def print_json(value: Any) -> None:
    """Write one JSON object, and nothing else, to standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n")


def print_line(text: str = "", *, error: bool = False) -> None:
    """Write a line of a result."""
    (sys.stderr if error else sys.stdout).write(printable(text) + "\n")


def print_facts(facts: Iterable[tuple[str, str]], *, error: bool = False) -> None:
    """Write pairs of a name and a value below one another."""
    pairs = list(facts)
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_line(f"{name:<{width}}  {value}".rstrip(), error=error)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Sequence[str] = (),
    *,
    error: bool = False,
) -> None:
    """Write a table as wide as the terminal; without a terminal a line for each row.

    `right` names the columns of numbers; the last column takes the room that is left.
    """
    from rich.table import Table
    from rich.text import Text

    file = sys.stderr if error else sys.stdout
    console = console_for(file)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        last = name == columns[-1]
        table.add_column(name, justify="right" if name in right else "left", no_wrap=not last)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)


def console_for(file: Any) -> Any:
    from rich.console import Console

    class Plain(Console):
        """A console that leaves a reader who went away to the command."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    width = None if file.isatty() else UNLIMITED
    return Plain(file=file, width=width, markup=False, emoji=False, highlight=False)
