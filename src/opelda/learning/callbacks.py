"""Callbacks: functions that get a `BatchReport` after every update, and may stop learning.

Learning stops after an update if any callback returns True; all callbacks are called. The optional
methods `begin(model)` and `end(model)` are called before the first update and after the last, `end`
also after an error. Without callbacks that need the mean gap (``needs_gap = False``), inference is
about a sixth faster. ``needs_score = True`` requests the scores of a stream's batches before their
update.
"""

import math
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

from opelda._validation import number, whole
from opelda.errors import InputError
from opelda.learning.streaming._events import Event


@dataclass(frozen=True)
class BatchReport:
    """One update of the topics.

    Attributes
    ----------
    model : Any
        The updated model. Callbacks must not change it.
    n_updates : int
        Updates over the model's life, including this update.
    n_docs, n_docs_total : int
        Documents finished in this call, over all passes, and their total; None if unknown.
    n_pass, n_passes : int
        The number of this pass, from 1, and the number of passes (None if unknown), including
        closing sweeps.
    docs_per_second : float
        Documents per second in this call.
    e_seconds, m_seconds : float
        Time of the batch's inference, and of the update of the topics.
    step_size : float
        rho_t of the Online and ML rules; in streams learned by sweeps, the mini-batch's share of
        the total weight.
    mean_gap : float
        Mean Frank-Wolfe gap of the batch's mixtures, their certificate; NaN if not requested. In
        streams learned by sweeps, of up to 200 documents before their update, for displays.
    held_out_score : float or None
        Log predictive probability per word of the validation documents, if this update scored
        them; larger is better.
    n_words, n_words_added, n_words_dropped : int
        Words in the vocabulary; words added and dropped while learning.
    n_unknown_tokens : float
        The number of tokens whose words are not in the vocabulary.
    n_sweeps : int
        Number of closing sweeps among the passes.
    recent_docs_per_second : float
        Documents per second in the last five seconds, or since the last update.
    batch_score : float or None
        As `held_out_score`, of up to 200 of a stream's documents before their update, for callbacks
        with ``needs_score = True``. Scoring takes at most 3% of the time: other batches have None.
    memory : int or None
        Resident memory of the process in bytes (on macOS the maximum).
    events : tuple of Event
        Events of this update, in streams learned by sweeps.
    n_run, n_runs : int
        The number of this run, from 1, and the number of runs.
    """

    model: Any
    n_updates: int
    n_docs: int
    n_docs_total: int | None
    n_pass: int
    n_passes: int | None
    docs_per_second: float
    e_seconds: float
    m_seconds: float
    step_size: float
    mean_gap: float
    held_out_score: float | None
    n_words: int
    n_words_added: int
    n_words_dropped: int
    n_unknown_tokens: float
    n_sweeps: int = 0
    recent_docs_per_second: float = 0.0
    batch_score: float | None = None
    memory: int | None = None
    events: tuple[Event, ...] = ()
    n_run: int = 1
    n_runs: int = 1


@dataclass(eq=False)
class EarlyStopping:
    """Stop when the score of held-out documents, ``fit(X, validation=...)``, no longer improves.

    Parameters
    ----------
    patience : int
        Number of successive scores without an improvement that stop learning.
    min_delta : float
        Smallest difference to the last improvement that counts as an improvement.

    Attributes
    ----------
    best_score, best_update : float or None, int or None
        The largest score in this call of `fit`, and the model's `n_updates` at that score.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> stopping = EarlyStopping(patience=2)
    >>> scores = [-7.9, -7.5, -7.6, -7.5, -7.4]
    >>> [stopping(SimpleNamespace(held_out_score=s, n_updates=i)) for i, s in enumerate(scores)]
    [False, False, False, True, False]
    """

    needs_gap: ClassVar[bool] = False

    patience: int = 5
    min_delta: float = 0.001
    best_score: float | None = field(default=None, init=False)
    best_update: int | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        whole("patience", self.patience)
        number("min_delta", self.min_delta, 0.0, 1e300)
        self.begin(None)

    def begin(self, model: Any) -> None:
        """Reset the scores."""
        self.best_score = self.best_update = None
        self._reference = -math.inf
        self._n_scores = self._n_without = 0

    def __call__(self, report: BatchReport, /) -> bool:
        """Compare the score, if any; return True when patience is exhausted."""
        score = report.held_out_score
        if score is None:
            return False
        self._n_scores += 1
        if score > (-math.inf if self.best_score is None else self.best_score):
            self.best_score, self.best_update = score, report.n_updates
        if score > self._reference + self.min_delta:
            self._reference, self._n_without = score, 0
        else:
            self._n_without += 1
        return self._n_without >= self.patience

    def end(self, model: Any) -> None:
        """Warn if no update had a score."""
        if not self._n_scores:
            warnings.warn(
                "EarlyStopping received no score; pass validation=, and set validate_every to at "
                "most the number of updates.",
                UserWarning,
                stacklevel=2,
            )


class History:
    """Keep the reports of all calls, without their `model`, for a table or a plot.

    Parameters
    ----------
    max_length : int or None
        Number of newest reports to keep; None keeps all.
    gap : bool
        Whether to compute the mean gap; learning is faster without it.

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> history = History()
    >>> model = OnlineOPE(2, batch_size=2, callbacks=[history]).fit([[4, 1], [0, 3], [2, 2]])
    >>> history.to_dict()["n_docs"]
    [2, 3]
    """

    def __init__(self, max_length: int | None = None, *, gap: bool = True) -> None:
        self.max_length = None if max_length is None else whole("max_length", max_length)
        self.needs_gap = bool(gap)
        self._reports: deque[BatchReport] = deque(maxlen=self.max_length)

    @property
    def reports(self) -> list[BatchReport]:
        """The reports, oldest first."""
        return list(self._reports)

    def __call__(self, report: BatchReport, /) -> None:
        """Keep a report."""
        self._reports.append(replace(report, model=None))

    def __len__(self) -> int:
        return len(self._reports)

    def __repr__(self) -> str:
        return f"History({len(self)} reports)"

    def to_dict(self) -> dict[str, list[Any]]:
        """Return one list per field, as `pandas.DataFrame` and `polars.DataFrame` take it."""
        names = [entry.name for entry in fields(BatchReport) if entry.name != "model"]
        return {name: [getattr(report, name) for report in self._reports] for name in names}


class OnEvent:
    """Call a function with every event of a stream learned by sweeps (docs/streams.md).

    Parameters
    ----------
    function : callable
        A function of an `Event` that returns True to stop learning.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> event = Event("new words", 90_000, 3, {"documents": 40, "share": 0.01}, ("tea", "cup"))
    >>> OnEvent(print)(SimpleNamespace(events=(event,)))
    New words after 90,000 documents: tea, cup; in 1.0% of the documents since.
    False
    """

    needs_gap: ClassVar[bool] = False

    def __init__(self, function: Callable[[Event], Any]) -> None:
        if not callable(function):
            raise InputError(
                f"must be a function that accepts an event, got {function!r}.", "function"
            )
        self.function = function

    def begin(self, model: Any) -> None:
        """Raise `InputError` for a learner without events."""
        if not model._schedule().n_sweeps:
            raise InputError(
                "Events need sweeps, which this learner does not use; choose {preset}.",
                preset="best",
            )

    def __call__(self, report: BatchReport, /) -> bool:
        """Call the function with each event; return whether it returned True."""
        return any([self.function(event) is True for event in report.events])
