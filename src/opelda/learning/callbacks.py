"""Watching a learner and stopping it.

A callback is anything that can be called with a `BatchReport`. It is called after every update, and
learning stops after that update if it returns True; all callbacks are called, whatever the others
return. Methods `begin(model)` and `end(model)`, if there are any, are called before the first
update and after the last, `end` also when learning fails or is interrupted. Attributes:
``needs_gap = False`` does without the mean gap, which costs about a sixth of inference;
``needs_score = True`` asks for the score of a stream's batches before they are learned from.
"""

import math
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol

from opelda._validation import number, whole
from opelda.errors import InputError
from opelda.learning.streaming._events import Event


@dataclass(frozen=True)
class BatchReport:
    """One update of the topics, as callbacks see it.

    Attributes
    ----------
    model : Any
        The model itself, already updated. Look, do not change.
    n_updates : int
        Updates over the model's life, this one included.
    n_docs, n_docs_total : int
        Documents done in this call, over all its passes, and those to be done; None if unknown.
    n_pass, n_passes : int
        Which pass over the documents this is, from 1, and of how many (None if unknown); closing
        sweeps are passes, too.
    docs_per_second : float
        Documents a second in this call so far.
    e_seconds, m_seconds : float
        Time that the batch's inference took, and the update of the topics.
    step_size : float
        rho_t of the Online and ML rules; of a stream that is learned by sweeps, the mini-batch's
        share of all that counts.
    mean_gap : float
        Mean Frank-Wolfe gap of this batch's documents, the certificate of their mixtures; NaN where
        nobody asks. In streams learned by sweeps, that of up to 200 documents before they are
        learned from, for displays.
    held_out_score : float or None
        Log predictive probability per word of the validation documents, where they were scored
        after this update; larger is better.
    n_words, n_words_added, n_words_dropped : int
        Words in the vocabulary now; words added and dropped while learning.
    n_unknown_tokens : float
        Tokens that were left out because their word is not in the vocabulary.
    n_sweeps : int
        How many of the passes, the last ones, are closing sweeps.
    recent_docs_per_second : float
        Documents a second in the last five seconds, or since the update before.
    batch_score : float or None
        As `held_out_score`, of up to 200 of a stream's documents before they were learned from.
        Where a callback has ``needs_score = True``, and for as many batches as can be scored in 3%
        of the time.
    memory : int or None
        Bytes of memory that the process has (on macOS the most it has had).
    events : tuple of Event
        Noticed with this update, in streams that are learned by sweeps.
    n_run, n_runs : int
        Which run of how many this is, from 1; each begins anew, with another seed.

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import generate
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> stop = lambda report: report.n_updates == 3
    >>> OnlineOPE(n_components=3, batch_size=50, callbacks=stop).fit(X).n_batch_iter_
    3
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


class Callback(Protocol):
    """Anything that takes a `BatchReport` and returns True to stop learning.

    Examples
    --------
    >>> callback: Callback = lambda report: report.n_docs >= 1_000_000
    """

    def __call__(self, report: BatchReport, /) -> bool | None:
        """Look at an update; True stops learning after it."""


@dataclass(eq=False)
class EarlyStopping:
    """Stop when the score of held-out documents, ``fit(X, validation=...)``, no longer improves.

    Parameters
    ----------
    patience : int
        Stop after so many scores in a row without an improvement.
    min_delta : float
        A score is an improvement if it is larger by more than this than the last that was one.

    Attributes
    ----------
    best_score, best_update : float or None, int or None
        The largest score seen in this call of `fit`, and the model's `n_updates` at that score.

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
        """Forget what was seen before."""
        self.best_score = self.best_update = None
        self._reference = -math.inf
        self._n_scores = self._n_without = 0

    def __call__(self, report: BatchReport, /) -> bool:
        """Look at the score, if there is one; return True when patience is at its end."""
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
        """Warn if there was nothing to watch."""
        if not self._n_scores:
            warnings.warn(
                "EarlyStopping saw no score and had nothing to go by; pass validation=, and a "
                "validate_every that is no more than the number of updates.",
                UserWarning,
                stacklevel=2,
            )


class History:
    """Keep the reports of one or several calls, without their `model`, for a table or a plot.

    Parameters
    ----------
    max_length : int or None
        Keep only so many, the newest; None keeps all.
    gap : bool
        Whether the mean gap is wanted; without, learning is a little faster and it is NaN.

    Examples
    --------
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import generate
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> history = History()
    >>> model = OnlineOPE(3, batch_size=100, callbacks=[history]).fit(X)
    >>> history.to_dict()["n_docs"]
    [100, 200, 300, 400, 500]
    """

    def __init__(self, max_length: int | None = None, *, gap: bool = True) -> None:
        self.max_length = None if max_length is None else whole("max_length", max_length)
        self.needs_gap = bool(gap)
        self._reports: deque[BatchReport] = deque(maxlen=self.max_length)

    @property
    def reports(self) -> list[BatchReport]:
        """The reports that were kept, oldest first."""
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
        Takes an `Event`; learning stops if it returns True.

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
            raise InputError(f"must be a function of an event, got {function!r}.", "function")
        self.function = function

    def begin(self, model: Any) -> None:
        """Reject a learner that notices no events."""
        if not model._schedule().n_sweeps:
            raise InputError(
                "Events are noticed by sweeps, and this learner makes none; choose {preset}.",
                preset="best",
            )

    def __call__(self, report: BatchReport, /) -> bool:
        """Pass the events on; return True when the function wants to stop."""
        return any([self.function(event) is True for event in report.events])
