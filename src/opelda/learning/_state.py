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
from opelda.learning._curve import CURVE, Curve
from opelda.learning._part import COHERENCE, STABILITY, Part
from opelda.learning.editing._edit import LABELS
from opelda.learning.streaming._watch import WATCH, Watch
from opelda.learning.streaming._window import WINDOW, Window

P = ParamSpec("P")
R = TypeVar("R")


class ReadWriteLock:
    """Let many threads read (``with lock:``) or a single thread write (``with lock.writing():``).

    A waiting writer precedes new readers, and readers that wait during a write precede the next
    writer, so neither side starves. A thread never takes the lock twice: a thread that finds itself
    registered was interrupted while it released the lock. A copy is a new lock.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._changed = Condition(Lock())
        self._readers: set[int] = set()
        self._waiting: set[int] = set()  # readers that wait
        self._next: set[int] = set()  # waiting readers that precede any writer
        self._writers: set[int] = set()  # the active writer and waiting writers
        self._writing: int | None = None

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(self), ()

    def __enter__(self) -> None:
        me = self._me()
        with self._changed:
            self._waiting.add(me)
            try:
                while self._writing not in (None, me) or (
                    self._writers - {me} and me not in self._next
                ):
                    self._changed.wait()
                self._readers.add(me)
            finally:  # an interrupted reader must not block writers
                self._waiting.discard(me)
                self._next.discard(me)
                self._changed.notify_all()

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._readers.discard(get_ident())
            self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait for all readers and writers, then exclude them."""
        me = self._me()
        try:
            with self._changed:
                self._writers.add(me)
                while self._readers - {me} or self._next or self._writing not in (None, me):
                    self._changed.wait()
                self._writing = me
            yield
        finally:
            with self._changed:
                self._writers.discard(me)
                if self._writing == me:
                    self._writing = None
                    self._next = set(self._waiting)
                self._changed.notify_all()

    def _me(self) -> int:
        if self._pid != os.getpid():  # after a fork, the threads of the parent do not exist
            self.__init__()  # type: ignore[misc]
        return get_ident()


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
    curve: Annotated[Curve | None, CURVE] = None
    labels: Annotated[dict[int, str], LABELS] = field(default_factory=dict)  # given by users
    # values computed from the weights, by name, with these weights and their version
    computed: dict[str, tuple[Weights, int, Any]] = field(
        default_factory=dict, repr=False, compare=False
    )
    # held for writing during an update only: callbacks may query the model
    lock: ReadWriteLock = field(default_factory=ReadWriteLock, repr=False, compare=False)

    def changed(self, how: str, *args: Any) -> dict[str, Any]:
        """Return the new parts after "edited", "learned", "reused" or "replaced"."""
        return {
            name: getattr(part, how)(getattr(self, name), *args)
            for name, part in PARTS.items()
            if getattr(self, name) is not None
        }

    def update(self, parts: dict[str, Any]) -> None:
        """Set parts."""
        for name, value in parts.items():
            setattr(self, name, value)


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
            f"The vocabulary of this {type(model).__name__} is growing in another thread; wait "
            "until that has learned, or give counts over the model's columns."
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
                f"This {type(model).__name__} is in the middle of learning; change its topics when "
                "that is done, not in a callback."
            )
        if _learning.setdefault(key, me) is not me:  # an atomic step
            if learns_elsewhere(model):
                raise InputError(
                    f"This {type(model).__name__} is being learned from by another thread; wait "
                    "until that is done, or learn on a copy."
                )
            _learning[key] = me
        try:
            return method(*args, **kwargs)
        finally:
            if not nested:
                _learning.pop(key, None)

    return alone
