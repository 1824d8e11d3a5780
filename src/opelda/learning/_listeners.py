"""Reports of updates to listeners: callbacks, a progress bar, lines in the log."""

import logging
import math
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from opelda.corpus import MiniBatch
from opelda.corpus._matrix import remap_columns
from opelda.engines.seam import Updated
from opelda.errors import InputError
from opelda.learning._curve import BEFORE, LEARNED_FROM, VALIDATION, Curve, Sample
from opelda.learning.callbacks import BatchReport
from opelda.metrics._predictive import can_be_split

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

LOGGER = logging.getLogger("opelda")
LARGEST_SHARE = 0.03  # of the time, that scoring mini-batches may take
A_PASS = 4  # a visit of a pass takes the time of four visits of sweeps: 2 to 5 by documents and K


class Listeners:
    """The user's callbacks, and a display of progress if `verbose` asks for it."""

    def __init__(self, callbacks: Any = None, verbose: int = 0) -> None:
        try:
            self._listeners = [callbacks] if callable(callbacks) else list(callbacks or ())
        except TypeError:
            raise InputError(f"must be callables, got {callbacks!r}.", "callbacks") from None
        for i, each in enumerate(self._listeners):
            if isinstance(each, type) or not callable(each):
                raise InputError(
                    f"callbacks[{i}] must accept one argument, a report, got {each!r}."
                )
        display = progress(verbose)
        if display is not None:
            self._listeners.insert(0, display)  # before callbacks, which may fail
        # certificates, and scores of a stream's batches before their update, take time
        self.needs_gap = any(getattr(each, "needs_gap", True) for each in self._listeners)
        self.needs_score = any(getattr(each, "needs_score", False) for each in self._listeners)

    def __bool__(self) -> bool:
        return bool(self._listeners)

    @contextmanager
    def __call__(self, model: Any) -> Iterator[None]:
        """Call `begin` of every listener, and finally `end` of every listener that began."""
        with ExitStack() as stack:
            for listener in self._listeners:
                if hasattr(listener, "begin"):
                    listener.begin(model)
                if hasattr(listener, "end"):
                    stack.callback(listener.end, model)
            yield

    def report(self, report: BatchReport) -> bool:
        """Call all listeners; return whether any listener returned True."""
        answers = [listener(report) for listener in self._listeners]
        # lambdas return arbitrary values: only True stops
        return any(isinstance(answer, bool | np.bool_) and bool(answer) for answer in answers)


class Run(NamedTuple):
    """One of several runs; without a seed, a single run with the model's."""

    number: int = 1
    n_runs: int = 1
    seed: int | None = None


@dataclass
class Reporter:
    """Report the updates of a call of `fit`, `partial_fit` or `fit_stream`."""

    model: Any
    listeners: Listeners
    n_docs_total: int | None = None  # over all passes; None if unknown
    n_passes: int | None = None  # including closing sweeps
    n_sweeps: int = 0
    validation: Callable[[], sparse.csr_array] | None = None
    validate_every: int = 10
    sample: Sample | None = None  # of the training documents, without validation
    run: Run = field(default_factory=Run)
    clock: Callable[[], float] = time.perf_counter

    def __post_init__(self) -> None:
        self._n_docs, self._started = 0, self.clock()
        self._marks = deque([(self._started, 0)])  # times and documents of the last five seconds
        self._batch_score: float | None = None
        self._gap, self._scoring_time = math.nan, 0.0

    def look_at(self, batch: MiniBatch) -> None:
        """Score up to 200 documents of a stream's mini-batch without new words, if time allows."""
        self._batch_score, self._gap = None, math.nan
        state, began = getattr(self.model, "_state", None), self.clock()
        busy = self._scoring_time > LARGEST_SHARE * (began - self._started)
        if not self.listeners.needs_score or state is None or not state.n_updates or busy:
            return
        n_docs, n_columns = batch.X.shape
        columns = np.arange(n_columns, dtype=np.int32)
        columns[state.weights.n_words :] = -1
        if batch.change is not None:
            columns[batch.change.reused] = -1
        rows = np.unique(np.linspace(0, n_docs - 1, 200).astype(np.intp))
        known, _ = remap_columns(batch.X[rows], columns, state.weights.n_words)
        if can_be_split(known):
            self._batch_score = self.model._score(known, n_splits=1)
        if self.listeners.needs_gap and self.model._schedule().n_sweeps:
            self._gap = float(np.mean(self.model.infer(known).gap))
        self._scoring_time += self.clock() - began

    def pace(self) -> float:
        """Return documents per second in the last five seconds, or since the last update."""
        now, marks = self.clock(), self._marks
        while len(marks) > 1 and marks[1][0] <= now - 5.0:
            marks.popleft()
        then, before = marks[0]
        marks.append((now, self._n_docs))
        return (self._n_docs - before) / (now - then) if now > then else 0.0

    def tell(self, done: Updated | None, n_pass: int, n_docs: int) -> bool:
        """Count documents and report their update, if any; return whether to stop."""
        self._n_docs += n_docs
        samples = self.sample is not None and self.sample.is_due()
        if done is None:
            return False
        state = self.model._state
        score = self._note_scores(state, samples=samples)
        if not self.listeners:
            return False
        words, watch = state.vocabulary, state.watch
        events = () if watch is None else watch.events
        return self.listeners.report(
            BatchReport(
                model=self.model,
                n_updates=state.n_updates,
                n_docs=self._n_docs,
                n_docs_total=self.n_docs_total,
                n_pass=n_pass,
                n_passes=self.n_passes,
                docs_per_second=self._n_docs / (self.clock() - self._started),
                e_seconds=done.e_seconds,
                m_seconds=done.m_seconds,
                step_size=done.rho,
                mean_gap=self._gap if math.isnan(done.mean_gap) else done.mean_gap,
                held_out_score=score,
                n_words=state.weights.n_words,
                n_words_added=words.n_added if words else 0,
                n_words_dropped=words.n_dropped if words else 0,
                n_unknown_tokens=state.n_unknown_tokens,
                n_sweeps=self.n_sweeps,
                recent_docs_per_second=self.pace(),
                batch_score=self._batch_score,
                memory=resident_bytes(),
                events=tuple(
                    replace(event, time=time.time())
                    for event in events
                    if event.document == state.n_docs_seen
                ),
                n_run=self.run.number,
                n_runs=self.run.n_runs,
            )
        )

    def _note_scores(self, state: Any, *, samples: bool) -> float | None:
        """Extend the learning curve; return the score of held-out documents."""
        found = held_out = None
        if self.validation is not None:
            of = VALIDATION
            if state.n_updates % self.validate_every == 0:
                documents = self.validation()
                if can_be_split(documents):  # not before a stream contains their words
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


def resident_bytes() -> int | None:
    """Return the resident memory of the process, or its maximum on macOS."""
    if resource is None:
        return None
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # macOS, which counts bytes
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def progress(verbose: int) -> "ProgressBar | ProgressLines | None":
    """Return the display for `verbose`: none, a bar or occasional lines, a line per update."""
    if not isinstance(verbose, int | np.integer | np.bool_) or verbose < 0:
        raise InputError(f"must be a whole number, at least 0, got {verbose!r}.", "verbose")
    if verbose == 0:
        return None
    if verbose >= 2:
        return ProgressLines(interval=0.0)
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    return ProgressBar() if on_terminal else ProgressLines()


class Display:
    """A display of updates as lines with the last scores."""

    needs_score = True
    tell: Callable[..., str] | None = None  # replaces `describe`

    _score: float | None = None
    _batch_score: float | None = None

    def begin(self, model: Any) -> None:
        """Reset the scores."""
        self._score = self._batch_score = None

    def line(self, report: BatchReport) -> str:
        """Describe an update."""
        if report.held_out_score is not None:
            self._score = report.held_out_score
        if report.batch_score is not None:
            self._batch_score = report.batch_score
        return (self.tell or describe)(report, self._score, self._batch_score)


class ProgressBar(Display):
    """A bar on the terminal, drawn by rich."""

    def __init__(self, console: Any = None) -> None:
        self._console = console

    def begin(self, model: Any) -> None:
        """Draw an empty bar."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        from rich.table import Column

        super().begin(model)
        text = Column(ratio=1, no_wrap=True)
        self._bar = Progress(
            BarColumn(bar_width=12, table_column=Column(width=12, no_wrap=True)),
            TextColumn("{task.description}", markup=False, table_column=text),
            console=self._console or Console(stderr=True),
        )
        self._task = self._bar.add_task("", total=None)
        self._bar.start()

    def __call__(self, report: BatchReport, /) -> None:
        """Move the bar."""
        done, total = report.n_docs, report.n_docs_total
        self._bar.update(self._task, completed=done, total=total, description=self.line(report))

    def end(self, model: Any) -> None:
        """Stop the bar and release the terminal."""
        self._bar.stop()


class ProgressLines(Display):
    """A line in the log every ten seconds, and for the first and the last update."""

    wait = 0.0  # seconds before the first line

    def __init__(self, interval: float = 10.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._interval, self._clock = interval, clock

    def begin(self, model: Any) -> None:
        """Reset the timer."""
        super().begin(model)
        self._waiting: str | None = None
        self._last = self._clock() + self.wait - self._interval

    def __call__(self, report: BatchReport, /) -> None:
        """Log a line if the interval has passed."""
        self._waiting = self.line(report)
        now = self._clock()
        if now - self._last >= self._interval:
            self._last = now
            self.end()

    def end(self, model: Any = None) -> None:
        """Log the last update, if it was not logged."""
        if self._waiting is not None:
            _log(self._waiting)
        self._waiting = None


def _log(line: str) -> None:
    """Log a line at INFO, or write it to stderr if the program has no handler for it.

    The handler for stderr is never attached: the program's logging is unchanged, and models that
    learn in several threads do not repeat lines.
    """
    others = LOGGER.handlers[1:]  # after the package's NullHandler
    parent = LOGGER.parent if LOGGER.propagate else None
    if LOGGER.isEnabledFor(logging.INFO) and (others or (parent and parent.hasHandlers())):
        LOGGER.info(line)
    elif sys.stderr is not None:  # None in a program without a console
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("opelda: %(message)s"))
        handler.handle(LOGGER.makeRecord(LOGGER.name, logging.INFO, "", 0, line, (), None))


def seconds_left(report: BatchReport) -> float:
    """Return the time left by the recent pace, before sweeps by the pace of all work; or 0."""
    n_docs, total, speed = report.n_docs, report.n_docs_total or 0, report.docs_per_second
    n_runs = 1 + report.n_runs - report.n_run  # with this run
    if not 0 < speed < math.inf:
        return 0.0
    if not report.n_sweeps or not report.n_passes:
        return max(total * n_runs - n_docs, 0) / (report.recent_docs_per_second or speed)
    in_passes = total * (1 - report.n_sweeps / report.n_passes)
    done, work = (n + (A_PASS - 1) * min(n, in_passes) for n in (n_docs, total))
    return max(work * n_runs - done, 0) / done * n_docs / speed


def describe(
    report: BatchReport, score: float | None = None, batch_score: float | None = None
) -> str:
    """Return an update and the last scores as a line."""
    parts = [f"run {report.n_run}/{report.n_runs}"] if report.n_runs > 1 else []
    unit = "docs"
    if max(report.n_pass, report.n_passes or 1) > 1:
        unit = "visits"  # a document has one per pass
        parts.append(f"pass {report.n_pass}" + (f"/{report.n_passes}" if report.n_passes else ""))
    total, speed = report.n_docs_total, report.docs_per_second
    parts.append(f"{report.n_docs:,}" + ("" if total is None else f"/{total:,}") + f" {unit}")
    if 0 < speed < math.inf:
        parts.append(f"{speed:,.0f} {unit}/s" if speed >= 10 else f"{speed:.2g} {unit}/s")
        seconds = seconds_left(report)
        if seconds > 0:
            parts.append(f"{timedelta(seconds=math.ceil(seconds))} left")
    if batch_score is not None:
        parts.append(f"batch {batch_score:.3f}")
    if score is not None:  # a narrow terminal cuts the end
        parts.append(f"score {score:.4f}")
    if not math.isnan(report.mean_gap):
        parts.append(f"gap {report.mean_gap:.3g}")
    parts.append(f"step {report.step_size:.3g}")
    if report.n_words_added > 0:
        parts.append(f"{report.n_words_added:,} words added")
    if report.memory is not None:
        parts.append(f"{report.memory / 1e6:,.0f} MB")
    return ", ".join(parts)
