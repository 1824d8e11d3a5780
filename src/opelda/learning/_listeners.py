"""Reports of learning to those who listen: callbacks, a progress bar, lines in the log."""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus import MiniBatch
from opelda.engines.seam import Updated
from opelda.errors import InputError
from opelda.learning._curve import BEFORE, LEARNED_FROM, VALIDATION, Curve, Sample
from opelda.learning._measurements import NextScore, Pace, resident_bytes
from opelda.learning._progress_line import describe
from opelda.learning._runs import Run
from opelda.learning.callbacks import BatchReport
from opelda.learning.streaming._events import Event
from opelda.metrics._token_split import can_be_split

LOGGER = logging.getLogger("opelda")
SECONDS_BETWEEN_LINES = 10.0


class Listeners:
    """The user's callbacks and, if wanted, a display of progress; all are always told."""

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

    @property
    def needs_score(self) -> bool:
        """Whether anybody wants a stream's batches scored before they are learned from."""
        return any(getattr(listener, "needs_score", False) for listener in self._listeners)

    @contextmanager
    def __call__(self, model: Any) -> Iterator[None]:
        """Call `begin` of every listener, and on the way out `end` of those that have begun."""
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
    try:
        listeners = (
            [callbacks] if callable(callbacks) else list(() if callbacks is None else callbacks)
        )
    except TypeError:
        raise InputError(f"must be callables, got {callbacks!r}.", "callbacks") from None
    for index, listener in enumerate(listeners):
        if isinstance(listener, type):
            name = listener.__name__
            raise InputError(f"callbacks[{index}] is the class {name}; give one of it: {name}().")
        if not callable(listener):
            raise InputError(f"callbacks[{index}] cannot be called: {listener!r}.")
    return listeners


@dataclass
class Reporter:
    """Tells the listeners of one call of `fit` or the like about its updates."""

    model: Any
    listeners: Listeners
    n_docs_total: int | None = None  # of all passes, where they are known
    n_passes: int | None = None  # closing sweeps among them
    n_sweeps: int = 0
    validation: Callable[[], sparse.csr_array] | None = None
    validate_every: int = 10
    sample: Sample | None = None  # of what is learned from, where there is no validation
    run: Run | None = None  # one of several
    n_docs: int = 0  # done
    started: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        self._pace, self._next_score = Pace(), NextScore(self.model)
        self._batch_score: float | None = None

    def look_at(self, batch: MiniBatch) -> None:
        """Score a mini-batch of a stream that is to be learned from now, if anybody wants it."""
        if self.listeners.needs_score:
            wanted = self.listeners.needs_gap and bool(self.model._schedule().n_sweeps)
            self._batch_score = self._next_score(batch, gap=wanted)

    def tell(self, done: Updated | None, n_pass: int, n_docs: int) -> bool:
        """Report an update by so many documents; whether somebody wants to stop.

        Documents without words, which make no update, are only counted.
        """
        self.n_docs += n_docs
        samples = self.sample is not None and self.sample.is_due()
        if done is None:
            return False
        state = self.model._state
        score = self._note_scores(state, samples=samples)
        if not self.listeners:
            return False
        words = state.vocabulary
        return self.listeners.report(
            BatchReport(
                model=self.model,
                n_updates=state.n_updates,
                n_docs=self.n_docs,
                n_docs_total=self.n_docs_total,
                n_pass=n_pass,
                n_passes=self.n_passes,
                docs_per_second=self.n_docs / (time.perf_counter() - self.started),
                e_seconds=done.e_seconds,
                m_seconds=done.m_seconds,
                step_size=done.rho,
                mean_gap=self._next_score.gap if math.isnan(done.mean_gap) else done.mean_gap,
                held_out_score=score,
                n_words=state.weights.n_words,
                n_words_added=words.n_added if words else 0,
                n_words_dropped=words.n_dropped if words else 0,
                n_unknown_tokens=state.n_unknown_tokens,
                n_sweeps=self.n_sweeps,
                recent_docs_per_second=self._pace(self.n_docs),
                batch_score=self._batch_score,
                memory=resident_bytes(),
                events=_events(state),
                n_run=1 if self.run is None else self.run.number,
                n_runs=1 if self.run is None else self.run.n_runs,
            )
        )

    def _note_scores(self, state: Any, *, samples: bool) -> float | None:
        """Add to the learning curve what is known now; return the score of held-out documents."""
        found = held_out = None
        if self.validation is not None:
            of = VALIDATION
            if state.n_updates % self.validate_every == 0:
                documents = self.validation()
                if can_be_split(documents):  # a stream may not have met its words so far
                    found = held_out = self.model._score(documents, n_splits=1)
        elif self.sample is not None:
            of = LEARNED_FROM
            found = self.model._score(self.sample.documents, n_splits=1) if samples else None
        else:
            of, found = BEFORE, None if state.watch is None else state.watch.block_score
        if found is not None:
            former = state.curve
            curve = former if former is not None and former.of == of else Curve(of)
            state.curve = curve.added(state.n_docs_seen, found)
        return held_out


def _events(state: Any) -> tuple[Event, ...]:
    """Return what the last documents brought to light, with the time of now."""
    found = () if state.watch is None else state.watch.events
    return tuple(replace(e, time=time.time()) for e in found if e.document == state.n_docs_seen)


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
