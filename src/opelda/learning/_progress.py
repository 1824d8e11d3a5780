"""Displays of progress: a bar on the terminal, or lines in the log."""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opelda.errors import InputError
from opelda.learning.callbacks import BatchReport

LOGGER = logging.getLogger("opelda")
SECONDS_BETWEEN_LINES = 10.0


def progress(verbose: int) -> "ProgressBar | ProgressLines | None":
    """Return the display for a learner's `verbose`: none, bar or line now and then, every line."""
    if not isinstance(verbose, int | np.integer | np.bool_) or verbose < 0:
        raise InputError(f"must be a whole number, at least 0, got {verbose!r}.", "verbose")
    if verbose == 0:
        return None
    if verbose >= 2:
        return ProgressLines(interval=0.0)
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return ProgressBar() if on_terminal else ProgressLines()


class Display:
    """Shows updates as lines, each with the last scores."""

    needs_score = True

    _score: float | None = None
    _batch_score: float | None = None

    def forget(self) -> None:
        """Begin without scores."""
        self._score = self._batch_score = None

    def line(self, report: BatchReport) -> str:
        """Describe an update."""
        if report.held_out_score is not None:
            self._score = report.held_out_score
        if report.batch_score is not None:
            self._batch_score = report.batch_score
        return describe(report, self._score, self._batch_score)


class ProgressBar(Display):
    """A bar on the terminal, drawn by rich."""

    def __init__(self, console: Any = None) -> None:
        self._console = console

    def begin(self, model: Any) -> None:
        """Draw an empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        self._bar = Progress(
            BarColumn(bar_width=12, table_column=Column(width=12, no_wrap=True)),
            TextColumn(
                "{task.description}", markup=False, table_column=Column(ratio=1, no_wrap=True)
            ),
            console=self._console or Console(stderr=True),
        )
        self.forget()
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def __call__(self, report: BatchReport, /) -> None:
        """Move the bar."""
        done, total = report.n_docs, report.n_docs_total
        self._bar.update(self._task, completed=done, total=total, description=self.line(report))

    def end(self, model: Any) -> None:
        """Leave the bar as it is and give the terminal back."""
        self._bar.stop()


class ProgressLines(Display):
    """A line in the log every so many seconds; the first and the last update always get one."""

    def __init__(
        self, interval: float = SECONDS_BETWEEN_LINES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval = interval
        self._clock = clock

    def begin(self, model: Any) -> None:
        """Wait for the first update."""
        self._waiting: str | None = None
        self.forget()
        self._last = -math.inf

    def __call__(self, report: BatchReport, /) -> None:
        """Log a line if the last one is long ago."""
        self._waiting = self.line(report)
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            self.end()

    def end(self, model: Any = None) -> None:
        """Log what has not been logged yet."""
        if self._waiting is not None:
            log(self._waiting)
        self._waiting = None


def log(line: str) -> None:
    """Log a line that the user asked for, at INFO; on stderr where no handler would show it.

    The handler is never attached: the program's logging stays as it was, and models that learn in
    several threads do not double each other's lines.
    """
    if _is_shown():
        LOGGER.info(line)
    elif sys.stderr is not None:  # as it is in a program without a console
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("opelda: %(message)s"))
        handler.handle(LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, line, (), None))


def _is_shown() -> bool:
    """Whether a record at INFO would come to a handler of the program's."""
    logger: logging.Logger | None = LOGGER if LOGGER.isEnabledFor(logging.INFO) else None
    while logger is not None:
        for handler in logger.handlers:
            if handler.level <= logging.INFO and not isinstance(handler, logging.NullHandler):
                return True
        logger = logger.parent if logger.propagate else None
    return False


def describe(
    report: BatchReport, score: float | None = None, batch_score: float | None = None
) -> str:
    """Put what is known of an update, and the last scores, into one line."""
    parts = [f"run {report.n_run}/{report.n_runs}"] if report.n_runs > 1 else []
    unit = "docs"
    if max(report.n_pass, report.n_passes or 1) > 1:
        unit = "visits"  # of documents, which each pass sees again
        parts.append(f"pass {report.n_pass}" + (f"/{report.n_passes}" if report.n_passes else ""))
    total, speed = report.n_docs_total, report.docs_per_second
    parts.append(f"{report.n_docs:,}" + ("" if total is None else f"/{total:,}") + f" {unit}")
    if 0 < speed < math.inf:
        parts.append(f"{_rate(speed)} {unit}/s")
        recent = report.recent_docs_per_second
        if total is None and abs(recent - speed) > 0.05 * speed:
            parts.append(f"{_rate(recent)} of late")
    parts.extend(_left(report))
    if batch_score is not None:
        parts.append(f"batch {batch_score:.3f}")
    if score is not None:  # a narrow terminal cuts off what comes last
        parts.append(f"score {score:.4f}")
    if not math.isnan(report.mean_gap):
        parts.append(f"gap {report.mean_gap:.3g}")
    parts.append(f"step {report.step_size:.3g}")
    if report.n_words_added > 0:
        parts.append(f"{report.n_words_added:,} words added")
    if report.memory is not None:
        parts.append(f"{report.memory / 1e6:,.0f} MB")
    return ", ".join(parts)


def _rate(speed: float) -> str:
    return f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}"


def _left(report: BatchReport) -> Iterator[str]:
    """Say how long it will take: the passes by their speed, the sweeps by that of the last one.

    Documents take another time in sweeps than in updates, so that neither says it of the other.
    """
    total, speed, n_sweeps = report.n_docs_total, report.docs_per_second, report.n_sweeps
    if total is None or total <= report.n_docs:
        return
    n_swept = n_sweeps * (total // report.n_passes) if report.n_passes else 0
    n_docs = total - n_swept - report.n_docs  # of updates still to come
    if n_docs >= 0:
        seconds = n_docs / speed if 0 < speed < math.inf else 0.0
    else:
        to_sweep = (report.n_passes or 0) - report.n_pass
        seconds = to_sweep * (report.e_seconds + report.m_seconds)
    if seconds > 0:
        minutes, second = divmod(math.ceil(seconds), 60)
        hours, minute = divmod(minutes, 60)
        yield f"{hours}:{minute:02}:{second:02} left"
    if n_sweeps and n_docs >= 0:
        yield f"then {n_sweeps} sweeps"
