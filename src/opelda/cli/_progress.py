"""A bar while documents are read; learning has its own."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opelda.cli._options import Show
from opelda.cli._output import is_terminal

Progress = Callable[[int, int | None, int | None], None]


@contextmanager
def reading_bar(show: Show, what: str = "reading") -> Iterator[Progress | None]:
    """Give what `opelda.corpus.read` calls while it reads, or None where nobody watches."""
    if show.quiet or not is_terminal():
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


def learning_display(show: Show) -> Any:
    """Return a callback that shows how learning goes, or None where nobody watches."""
    if show.quiet or not (show.verbose or is_terminal()):
        return None
    from opelda.learning._progress import ProgressBar, ProgressLines

    display: Any = ProgressLines(interval=0.0) if show.verbose else ProgressBar()
    display.needs_gap = show.verbose  # certificates take time, and a bar has no room for them
    return display
