"""Measurements of a run while it learns: its pace, the score of what comes next, its memory."""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from opelda.corpus import MiniBatch
from opelda.corpus._matrix import remap_columns
from opelda.metrics._token_split import can_be_split

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

RECENT_SECONDS = 5.0
# Documents of a mini-batch that are scored at most, and the share of the time that may take.
SCORED_DOCUMENTS, LARGEST_SHARE = 200, 0.03


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
