"""Reports to the listeners, made while learning."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from scipy import sparse

from opelda.engines._engine import Updated
from opelda.learning._progress import Listeners
from opelda.learning._report import BatchReport
from opelda.metrics._split import can_be_split


@dataclass
class Reporter:
    """Tells the listeners of one call of `fit` or the like about its updates.

    Attributes
    ----------
    model : Any
    listeners : Listeners
    n_docs_total, n_passes : int or None
        What this call will do, where that is known.
    validation : function of nothing to CSR array, or None
        The documents to score the topics on.
    validate_every : int
    n_docs : int
        Documents done.
    """

    model: Any
    listeners: Listeners
    n_docs_total: int | None
    n_passes: int | None
    validation: Callable[[], sparse.csr_array] | None
    validate_every: int
    n_docs: int = 0
    started: float = field(default_factory=perf_counter)

    def tell(self, done: Updated, n_pass: int) -> bool:
        """Report an update; whether somebody wants to stop."""
        if not self.listeners:
            return False
        state = self.model._state
        score = None
        if self.validation is not None and state.n_updates % self.validate_every == 0:
            held_out = self.validation()
            if can_be_split(held_out):  # a stream may not have met its words so far
                score = self.model._score(held_out, n_splits=1)
        words = state.vocabulary
        return self.listeners.report(
            BatchReport(
                model=self.model,
                n_updates=state.n_updates,
                n_docs=self.n_docs,
                n_docs_total=self.n_docs_total,
                n_pass=n_pass,
                n_passes=self.n_passes,
                docs_per_second=self.n_docs / (perf_counter() - self.started),
                e_seconds=done.e_seconds,
                m_seconds=done.m_seconds,
                step_size=done.rho,
                mean_gap=done.mean_gap,
                held_out_score=score,
                n_words=state.weights.n_words,
                n_words_added=words.n_added if words else 0,
                n_words_dropped=words.n_dropped if words else 0,
                n_unknown_tokens=state.n_unknown_tokens,
            )
        )
