"""What `opelda reproduce` shows: a bar while runs are made, and what came out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opelda.cli._numbers import count, duration
from opelda.cli._options import Show
from opelda.cli._output import is_terminal, note, print_line

if TYPE_CHECKING:
    from opelda.experiments import Data, Result, Settings

# told the run, its number, how many there are, and the share of it that is done
Progress = Callable[[Any, int, int, float], None]


@contextmanager
def run_display(show: Show, name: str) -> Iterator[Progress | None]:
    """Give what tells of an experiment's runs, or None where nobody wants to know."""
    if show.quiet or not (show.verbose or is_terminal()):
        yield None
    elif show.verbose:
        yield _lines(show, name)
    else:
        with _bar(name) as progress:
            yield progress


def counting(done: set[tuple[str, int]], name: str, display: Progress | None) -> Progress:
    """Return what keeps count of an experiment's runs that are done, and tells of them.

    >>> done = set()
    >>> counting(done, "stability", None)("a run", 0, 3, 1.0)
    >>> done
    {('stability', 0)}
    """

    def progress(run: Any, number: int, total: int, share: float) -> None:
        if share >= 1:
            done.add((name, number))
        if display is not None:
            display(run, number, total, share)

    return progress


def _lines(show: Show, name: str) -> Progress:
    def progress(run: Any, number: int, total: int, share: float) -> None:
        if share == 0:
            note(show, f"{name}: run {number + 1} of {total}, {run.label}")

    return progress


@contextmanager
def _bar(name: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(bar_width=12),
        TextColumn("{task.description}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)

        def progress(run: Any, number: int, total: int, share: float) -> None:
            shown = f"{name}: run {number + 1}/{total}, {run.label}"
            bar.update(task, completed=number + share, total=total, description=shown)

        yield progress


def print_result(result: "Result", seconds: float) -> None:
    """Write what an experiment found and where its files are."""
    made = result.experiment
    print_line(f"{made.name} ({made.place}): {made.title}")
    for verdict in result.verdicts:
        print_line(f"  {verdict}")
    names = ", ".join(path.name for path in result.files)
    print_line(f"  files in {result.files[0].parent}: {names}")
    before = f" ({result.n_kept:,} of them done before)" if result.n_kept else ""
    print_line(f"  {count(result.n_runs, 'run')} in {duration(seconds)}{before}")
    print_line()


def as_plain(
    data: "Data", settings: "Settings", out: str, results: list[tuple["Result", float]]
) -> dict[str, Any]:
    """Return everything as JSON holds it."""
    return {
        "out": out,
        "data": data.label,
        "documents": data.train.shape[0],
        "words": data.train.shape[1],
        "test_documents": data.test.shape[0],
        "splits": len(data.splits),
        "settings": settings.to_dict(),
        "experiments": [_plain(result, seconds) for result, seconds in results],
    }


def _plain(result: "Result", seconds: float) -> dict[str, Any]:
    made = result.experiment
    return {
        "name": made.name,
        "place": made.place,
        "title": made.title,
        "seconds": seconds,
        "runs": result.n_runs,
        "runs_kept": result.n_kept,
        "rows": len(result.rows),
        "files": [str(path) for path in result.files],
        "verdicts": [
            {"claim": verdict.claim, "outcome": verdict.outcome, "why": verdict.why}
            for verdict in result.verdicts
        ],
    }
