"""How long learning will take, by a short trial on some of the documents."""

from time import perf_counter
from typing import Any

# documents that a trial learns from, at least; two mini-batches are, too
TRIAL = 500
TRIAL_SECONDS = 1.0
# a trial needs topics of its own: beyond so many weights it would take long itself
MOST_WEIGHTS = 2**27
TRIAL_SWEEPS = 3


class Rates:
    """Seconds that learning takes: per document of an update, and per sweep of a collection.

    Parameters
    ----------
    model : learner
        Not fitted; stays so.
    X : csr_array (D, V)
    """

    def __init__(self, model: Any, X: Any) -> None:
        from sklearn.base import clone

        n_docs = X.shape[0]
        schedule = model._schedule(n_docs)
        self._started = perf_counter()
        self._sweeps = min(TRIAL_SWEEPS, schedule.n_sweeps)
        self._reports: list[Any] = []
        sample = _spread(X, max(TRIAL, 2 * schedule.batch_size))
        fixed = {"batch_size": schedule.batch_size, "n_passes": 1, "callbacks": [self]}
        if hasattr(model, "n_sweeps"):
            fixed["n_sweeps"] = self._sweeps
        clone(model).set_params(**fixed).fit(sample)
        self.per_document = self.per_sweep = 0.0
        if not self._reports:  # not a word in the sample
            return
        n_updates = len(self._reports) - self._sweeps
        # the first one takes longer, for it warms up; it is all there is of a small collection
        updates = self._reports[min(1, n_updates - 1) : n_updates]
        before = self._reports[0].n_docs if len(updates) < n_updates else 0
        seconds = sum(report.e_seconds + report.m_seconds for report in updates)
        self.per_document = seconds / max(updates[-1].n_docs - before, 1) if updates else 0.0
        if self._sweeps:
            last = self._reports[-1]
            larger = X.sum() / max(sample.sum(), 1)
            self.per_sweep = last.e_seconds * larger + last.m_seconds

    needs_gap = False

    def __call__(self, report: Any) -> bool:
        """Keep a report; stop where updates alone take long."""
        self._reports.append(report)
        return not self._sweeps and perf_counter() - self._started > TRIAL_SECONDS

    def seconds(self, n_docs: int, n_passes: int, n_sweeps: int = 0) -> float:
        """Return how long so many passes and sweeps take."""
        return n_docs * n_passes * self.per_document + n_sweeps * self.per_sweep


def _spread(X: Any, n: int) -> Any:
    """Return so many documents, evenly spread."""
    import numpy as np

    if X.shape[0] <= n:
        return X
    return X[np.linspace(0, X.shape[0] - 1, n).astype(np.int64)]
