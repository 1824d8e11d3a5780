"""Telling callbacks and the user how learning goes."""

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TextIO

import numpy as np

from opelda.errors import InputError
from opelda.learning._report import BatchReport

SECONDS_BETWEEN_LINES = 10.0


class Listeners:
    """The user's callbacks and, if wanted, a display of progress; all are always told.

    >>> seen = []
    >>> listeners = Listeners(lambda report: seen.append(report), verbose=0)
    >>> with listeners("the model"):
    ...     stop = listeners.report("a report")
    >>> stop, seen
    (False, ['a report'])
    """

    def __init__(self, callbacks: Any = None, verbose: int = 0) -> None:
        self._listeners = _as_list(callbacks)
        display = progress(verbose)
        if display is not None:
            self._listeners.insert(0, display)  # up to date even where a callback fails

    def __bool__(self) -> bool:
        return bool(self._listeners)

    @property
    def needs_gap(self) -> bool:
        """Whether anybody wants the gap: certificates take time, and are for those only."""
        return any(getattr(listener, "needs_gap", True) for listener in self._listeners)

    @contextmanager
    def __call__(self, model: Any) -> Iterator[None]:
        """Begin with all; on the way out, however that comes, end with all that began."""
        with ExitStack() as stack:
            for listener in self._listeners:
                if hasattr(listener, "begin"):
                    listener.begin(model)
                if hasattr(listener, "end"):
                    stack.callback(listener.end, model)
            yield

    def report(self, report: BatchReport) -> bool:
        """Tell all; whether one of them wants to stop."""
        answers = [listener(report) for listener in self._listeners]
        # a callback that is a lambda returns all kinds of things; only True means stop
        return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)


def _as_list(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    if callable(callbacks):
        callbacks = [callbacks]
    try:
        listeners = list(callbacks)
    except TypeError:
        raise InputError(f"must be callables, got {callbacks!r}.", "callbacks") from None
    for index, listener in enumerate(listeners):
        if isinstance(listener, type):
            name = listener.__name__
            raise InputError(f"callbacks[{index}] is the class {name}; give one of it: {name}().")
        if not callable(listener):
            raise InputError(f"callbacks[{index}] cannot be called: {listener!r}.")
    return listeners


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


class ProgressBar:
    """A bar on the terminal, drawn by rich."""

    def __init__(self, console: Any = None) -> None:
        self._console = console
        self._bar: Any = None
        self._score: float | None = None

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
        self._score = None
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def __call__(self, report: BatchReport, /) -> None:
        """Move the bar."""
        if report.held_out_score is not None:
            self._score = report.held_out_score
        self._bar.update(
            self._task,
            completed=report.n_docs,
            total=report.n_docs_total,
            description=describe(report, self._score),
        )

    def end(self, model: Any) -> None:
        """Leave the bar as it is and give the terminal back."""
        self._bar.stop()


class ProgressLines:
    """A plain line every so many seconds, for logs; the last update always gets one."""

    def __init__(
        self,
        interval: float = SECONDS_BETWEEN_LINES,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._interval = interval
        self._stream = stream
        self._clock = clock
        self._waiting: str | None = None
        self._score: float | None = None

    def begin(self, model: Any) -> None:
        """Start the clock."""
        self._waiting = self._score = None
        self._last = self._clock()

    def __call__(self, report: BatchReport, /) -> None:
        """Write a line if the last one is long ago."""
        if report.held_out_score is not None:
            self._score = report.held_out_score
        self._waiting = describe(report, self._score)
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            self._write()

    def end(self, model: Any) -> None:
        """Write what has not been written yet."""
        self._write()

    def _write(self) -> None:
        stream = self._stream or sys.stderr
        if self._waiting is not None and stream is not None:
            stream.write(f"opelda: {self._waiting}\n")
            stream.flush()
        self._waiting = None


def describe(report: BatchReport, score: float | None = None) -> str:
    """Put what is known of an update, and the last held-out score, into one line."""
    parts = []
    if max(report.n_pass, report.n_passes or 1) > 1:
        parts.append(f"pass {report.n_pass}" + (f"/{report.n_passes}" if report.n_passes else ""))
    total, speed = report.n_docs_total, report.docs_per_second
    parts.append(f"{report.n_docs:,}" + ("" if total is None else f"/{total:,}") + " docs")
    if 0 < speed < math.inf:
        parts.append(f"{speed:,.0f} docs/s" if speed >= 10 else f"{speed:.2g} docs/s")
        if total is not None and total > report.n_docs:
            parts.append(f"{_duration((total - report.n_docs) / speed)} left")
    if score is not None:  # a narrow terminal cuts off what comes last
        parts.append(f"score {score:.4f}")
    if not math.isnan(report.mean_gap):
        parts.append(f"gap {report.mean_gap:.3g}")
    parts.append(f"step {report.step_size:.3g}")
    if report.n_words_added > 0:
        parts.append(f"{report.n_words_added:,} words added")
    return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, second = divmod(math.ceil(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"
