"""How reading and learning go, shown to those who watch."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from time import perf_counter
from typing import Any

from opelda.cli._options import Show
from opelda.cli._output import is_terminal

SCORING_SHARE = 0.05
N_SCORED = 200

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


def learning_display(show: Show, *, lines: bool = False) -> Any:
    """Return a callback that shows how learning goes, or None where nobody watches.

    With `lines` there is a line now and then where there is no terminal.
    """
    if show.quiet or not (show.verbose or lines or is_terminal()):
        return None
    from opelda.learning._progress import ProgressBar, ProgressLines

    display: Any
    if show.verbose or not is_terminal():
        display = ProgressLines(interval=0.0) if show.verbose else ProgressLines()
    else:
        display = ProgressBar()
    display.needs_gap = show.verbose  # certificates take time, and a bar has no room for them
    return display


class Scored:
    """Tells a display how well the topics predict some documents, now and then.

    Scoring takes a twentieth of the time at most, and changes nothing that is learned.

    Parameters
    ----------
    display : callback
    documents : csr_array
        None of them too short to be scored.
    """

    def __init__(self, display: Any, documents: Any) -> None:
        self._display, self._documents = display, documents
        self._started, self._spent = perf_counter(), 0.0
        self.needs_gap = display.needs_gap

    def begin(self, model: Any) -> None:
        """Start the clock."""
        self._started, self._spent = perf_counter(), 0.0
        self._display.begin(model)

    def __call__(self, report: Any, /) -> None:
        """Pass a report on, with a score if it is time."""
        begun = perf_counter()
        if self._spent <= SCORING_SHARE * (begun - self._started):
            score = report.model.score(self._documents, n_splits=1)
            report = replace(report, held_out_score=score)
            self._spent += perf_counter() - begun
        self._display(report)

    def end(self, model: Any) -> None:
        """Leave the display as it is."""
        self._display.end(model)


def to_score(X: Any, n: int = N_SCORED) -> Any:
    """Return at most so many documents of two tokens and more, evenly spread; None if none has."""
    import numpy as np

    rows = np.flatnonzero(np.asarray(X.sum(axis=1)).ravel() >= 2)
    if len(rows) > n:
        rows = rows[np.linspace(0, len(rows) - 1, n).astype(np.int64)]
    return X[rows] if len(rows) else None
