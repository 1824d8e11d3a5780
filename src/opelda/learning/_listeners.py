"""Reports of learning to those who listen: callbacks, a progress bar, lines in the log."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus import MiniBatch
from opelda.corpus._matrix import remap_columns
from opelda.engines.seam import Updated
from opelda.errors import InputError
from opelda.learning._curve import BEFORE, LEARNED_FROM, VALIDATION, Curve, Sample
from opelda.learning._progress import progress
from opelda.learning.callbacks import BatchReport
from opelda.learning.streaming._events import Event
from opelda.metrics._token_split import can_be_split

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

RECENT_SECONDS = 5.0
# Documents of a mini-batch that are scored at most, and the share of the time that may take.
SCORED_DOCUMENTS, LARGEST_SHARE = 200, 0.03


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


@dataclass(frozen=True)
class Run:
    """One of several runs."""

    number: int  # from 1
    n_runs: int
    seed: int


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


class Pace:
    """Documents a second in the last seconds, or since the last update where that is longer ago."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._marks = deque([(clock(), 0)])

    def __call__(self, n_docs: int) -> float:
        """Return it when so many documents are done in all."""
        now, marks = self._clock(), self._marks
        while len(marks) > 1 and marks[1][0] <= now - RECENT_SECONDS:
            marks.popleft()
        then, before = marks[0]
        marks.append((now, n_docs))
        return (n_docs - before) / (now - then) if now > then else 0.0


class NextScore:
    """Scores mini-batches before they are learned from, in a small part of the time.

    If wanted, `gap` is the mean Frank-Wolfe gap of the same documents' mixtures, else NaN.
    """

    def __init__(self, model: Any, clock: Callable[[], float] = time.perf_counter) -> None:
        self._model, self._clock, self.gap = model, clock, np.nan
        self._started, self._spent = clock(), 0.0

    def __call__(self, batch: MiniBatch, *, gap: bool = False) -> float | None:
        """Return the log predictive probability of some documents; None where there is no time.

        Words that are new with the mini-batch are left out: no topic knows them.
        """
        self.gap = np.nan
        state, began = getattr(self._model, "_state", None), self._clock()
        busy = self._spent > LARGEST_SHARE * (began - self._started)
        if state is None or not state.n_updates or busy:
            return None
        n_docs, n_columns = batch.X.shape
        columns = np.arange(n_columns, dtype=np.int32)
        columns[state.weights.n_words :] = -1
        if batch.change is not None:
            columns[batch.change.reused] = -1
        rows = np.unique(np.linspace(0, n_docs - 1, SCORED_DOCUMENTS).astype(np.intp))
        known, _ = remap_columns(batch.X[rows], columns, state.weights.n_words)
        score = self._model._score(known, n_splits=1) if can_be_split(known) else None
        if gap:
            self.gap = float(np.mean(self._model.infer(known).gap))
        self._spent += self._clock() - began
        return score


def resident_bytes() -> int | None:
    """Return the memory that this process has; where that is not known, the most it has had."""
    if resource is None:
        return None
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # macOS, which counts bytes
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
