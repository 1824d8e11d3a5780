"""The learned state of a model, and the lock that one learning thread shares with readers."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from threading import Condition, Lock, Thread, current_thread, get_ident
from typing import Annotated, Any, ParamSpec, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from opelda.corpus import Vocabulary
from opelda.engines.seam import Weights
from opelda.errors import InputError
from opelda.inference._groups import Groups
from opelda.learning._classes import CLASSES, Classes
from opelda.learning._content import CONTENT, Content
from opelda.learning._curve import CURVE, Curve
from opelda.learning._part import ALPHA, COHERENCE, ERROR, RUNS, STABILITY, Part
from opelda.learning._prevalence import PREVALENCE, Prevalence
from opelda.learning.editing._edit import LABELS
from opelda.learning.persistence._stored_groups import GROUPS
from opelda.learning.streaming._watch import WATCH, Watch
from opelda.learning.streaming._window import WINDOW, Window

P = ParamSpec("P")
R = TypeVar("R")


class ReadWriteLock:
    """Let many threads read (``with lock:``) or a single thread write (``with lock.writing():``).

    Threads enter in order of arrival, so neither readers nor writers starve; a writer may read. A
    thread that finds an entry of its own was interrupted while it left. A copy is a new lock.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._changed = Condition(Lock())
        # threads, and whether they write, in order of arrival: active threads, then waiting ones
        self._queue: list[tuple[int, bool]] = []
        self._writers: set[int] = set()  # the threads that write or wait to write

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def __enter__(self) -> None:
        self._enter((get_ident(), False))

    def __exit__(self, *error: object) -> None:
        self._leave((get_ident(), False))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for all readers and writers, then exclude them."""
        me = get_ident(), True
        try:
            self._enter(me)
            yield
        finally:
            self._leave(me)

    def _enter(self, me: tuple[int, bool]) -> None:
        if self._pid != os.getpid():  # after a fork, the threads of the parent do not exist
            self.__init__()  # type: ignore[misc]
        # A reader and a writer both register before they look, so that one of them sees the other.
        # Without a writer, readers need no guard, which takes a tenth of a short document's time.
        try:
            if me[1]:
                self._writers.add(me[0])
            self._queue.append(me)
            if self._writers:
                with self._changed:
                    self._changed.wait_for(lambda: not any(self._excluding(me)))
        except BaseException:  # an interrupted thread must not block others
            self._leave(me)
            raise

    def _excluding(self, me: tuple[int, bool]) -> Iterator[bool]:
        """Yield for each earlier entry whether it excludes this entry."""
        queue = list(self._queue)  # a copy, because readers change the queue without the guard
        if queue[0] != (me[0], True):  # a writer may read before the threads that wait for it
            for thread, writes in queue[: queue.index(me)]:
                yield thread != me[0] and (writes or me[1])

    def _leave(self, me: tuple[int, bool]) -> None:
        while me in self._queue:
            self._queue.remove(me)
        if self._writers:
            with self._changed:
                if me[1]:
                    self._writers.discard(me[0])
                self._changed.notify_all()


@dataclass
class State:
    """Everything that changes while a model learns."""

    weights: Weights  # the topics, on the engine that updated them last
    seed: int  # the source of all randomness, drawn once
    n_updates: int = 0  # t, counted from the first `fit` or `partial_fit`
    n_docs_seen: int = 0  # every visit of a document counts
    population: float = 0.0  # D of the Online rule: every document counts once
    vocabulary: Vocabulary | None = None
    n_unknown_tokens: float = 0.0  # tokens of streams whose words have no column
    # Optional parts, in the order of model files. Each declares how to save, load, edit and
    # invalidate it; other modules need no code for a new part.
    window: Annotated[Window | None, WINDOW] = None  # last documents of a stream
    watch: Annotated[Watch | None, WATCH] = None  # history and events of a stream
    coherence: Annotated[NDArray[np.float64] | None, COHERENCE] = None
    stability: Annotated[NDArray[np.float64] | None, STABILITY] = None
    missing: Annotated[NDArray[np.float64] | None, ERROR] = None  # see `_uncertainty.py`
    weight_error: Annotated[NDArray[np.float64] | None, ERROR] = None
    curve: Annotated[Curve | None, CURVE] = None
    groups: Annotated[Groups | None, GROUPS] = None  # of documents, for the prior of mixtures
    classes: Annotated[Classes | None, CLASSES] = None  # labels of documents
    prevalence: Annotated[Prevalence | None, PREVALENCE] = None  # priors by columns
    content: Annotated[Content | None, CONTENT] = None  # words by a column
    alpha: Annotated[NDArray[np.float64] | None, ALPHA] = None  # learned by sweeps
    runs: Annotated[NDArray[np.float32] | None, RUNS] = None  # topics of other runs, matched
    labels: Annotated[dict[int, str], LABELS] = field(default_factory=dict)  # given by users
    # values computed from the weights, by name, with these weights and their version
    computed: dict[str, tuple[Weights, int, Any]] = field(
        default_factory=dict, repr=False, compare=False
    )
    # held for writing during an update only: callbacks may query the model
    lock: ReadWriteLock = field(default_factory=ReadWriteLock, repr=False, compare=False)

    @property
    def columns(self) -> set[str]:
        """The names of the columns that priors or words depend on."""
        found = set() if self.prevalence is None else {*self.prevalence.design.columns}
        return found if self.content is None else found | {self.content.factor.column}

    def changed(self, how: str, *args: Any) -> dict[str, Any]:
        """Return the new parts after "edited", "learned", "reused" or "replaced"."""
        return {
            name: getattr(part, how)(getattr(self, name), *args)
            for name, part in PARTS.items()
            if getattr(self, name) is not None
        }

    def update(self, parts: dict[str, Any]) -> None:
        """Set parts."""
        vars(self).update(parts)


PARTS: dict[str, Part] = {
    name: part
    for name, hint in get_type_hints(State, include_extras=True).items()
    for part in getattr(hint, "__metadata__", ())
}


# The learning thread of each model, by id: an attribute would be copied and pickled.
_learning: dict[int, Thread] = {}


def learns_elsewhere(model: Any) -> bool:
    """Return whether another thread, which survived forks, learns on the model."""
    thread = _learning.get(id(model))
    return thread is not None and thread is not current_thread() and thread.is_alive()


def check_words_rest(model: Any) -> None:
    """Raise `InputError` while another thread grows the model's vocabulary."""
    words: Vocabulary | None = model._state.vocabulary
    if words is not None and words.growing and learns_elsewhere(model):
        raise InputError(
            f"The vocabulary of this {type(model).__name__} is growing in another thread; wait for "
            "that thread, or pass counts over the model's columns."
        )


def learns_alone(method: Callable[P, R], *, in_callbacks: bool = True) -> Callable[P, R]:
    """Run a method in one thread at a time per model; callbacks may call the method again."""

    @wraps(method)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        model: Any = args[0]
        key, me = id(model), current_thread()
        nested = _learning.get(key) is me
        if nested and not in_callbacks:
            raise InputError(
                f"This {type(model).__name__} is still learning; edit its topics after learning "
                "ends, not in a callback."
            )
        if _learning.setdefault(key, me) is not me:  # an atomic step
            if learns_elsewhere(model):
                raise InputError(
                    f"This {type(model).__name__} is being fitted in another thread; wait for that "
                    "thread, or fit a copy."
                )
            _learning[key] = me
        try:
            return method(*args, **kwargs)
        finally:
            if not nested:
                _learning.pop(key, None)

    return alone
