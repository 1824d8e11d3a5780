"""Everything a model has learned, and what threads that share the model may do at once.

One thread learns; the others may read meanwhile and find the topics as they are between two
updates.
"""

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
from opelda.learning.editing._topic_labels import LABELS
from opelda.learning.streaming._watch import WATCH, Watch
from opelda.learning.streaming._window import WINDOW, Window

P = ParamSpec("P")
R = TypeVar("R")


class ReadWriteLock:
    """Lets many threads read (``with lock:``) or one write (``with lock.writing():``).

    A writer that waits goes before new readers, and the readers that wait when it is done before
    the next writer: neither side can starve the other. A thread takes the lock once at a time, so
    that one which finds itself registered was interrupted while it gave it back. A copy is a new
    lock.
    """

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._changed = Condition(Lock())
        self._readers: set[int] = set()
        self._waiting: set[int] = set()  # to read
        self._next: set[int] = set()  # those of them whose turn is before any writer's
        self._writers: set[int] = set()  # one writes, the others wait
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
            finally:  # also of an interrupted wait, for which no writer is to wait
                self._waiting.discard(me)
                self._next.discard(me)
                self._changed.notify_all()

    def __exit__(self, *error: object) -> None:
        with self._changed:
            self._readers.discard(get_ident())
            self._changed.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Wait until all others are done."""
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
        if self._pid != os.getpid():  # a fork: the threads that held it stayed behind
            self.__init__()  # type: ignore[misc]
        return get_ident()


@dataclass
class State:
    """All that changes while a model learns."""

    weights: Weights  # the topics, owned by the engine that learned them last
    seed: int  # drawn once; everything random follows from it
    n_updates: int = 0  # t, from the first `fit` or `partial_fit` on
    n_docs_seen: int = 0  # each document as often as it was seen
    population: float = 0.0  # D of the Online rule: each document once
    vocabulary: Vocabulary | None = None
    n_unknown_tokens: float = 0.0  # of streams, whose words have no column
    # Parts, in the order of model files. Each declares how it is saved, loaded, edited and
    # invalidated: no other module has to know of a new one.
    # (the last documents, and the past and events, of a stream that is learned by sweeps)
    window: Annotated[Window | None, WINDOW] = None
    watch: Annotated[Watch | None, WATCH] = None
    # (of each topic: over the documents that `fit` learned from, over the runs that it made)
    coherence: Annotated[NDArray[np.float64] | None, COHERENCE] = None
    stability: Annotated[NDArray[np.float64] | None, STABILITY] = None
    curve: Annotated[Curve | None, CURVE] = None
    # (that people gave; replaced, not changed)
    labels: Annotated[dict[int, str], LABELS] = field(default_factory=dict)
    # by name, what was computed from the weights: these, their version, and the value
    computed: dict[str, tuple[Weights, int, Any]] = field(
        default_factory=dict, repr=False, compare=False
    )
    # held to write during an update alone, so that callbacks can ask the model
    lock: ReadWriteLock = field(default_factory=ReadWriteLock, repr=False, compare=False)

    def changed(self, how: str, *args: Any) -> dict[str, Any]:
        """Return what the parts become when they are "edited", "learned", "reused", "replaced"."""
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


# The thread that learns on each model, by id: attributes would be copied and pickled with it.
_learning: dict[int, Thread] = {}


def learns_elsewhere(model: Any) -> bool:
    """Whether another thread is learning on the model; after a fork there is none."""
    thread = _learning.get(id(model))
    return thread is not None and thread is not current_thread() and thread.is_alive()


def check_words_rest(model: Any) -> None:
    """Reject a look at a vocabulary that another thread gives words to."""
    words: Vocabulary | None = model._state.vocabulary
    if words is not None and words.growing and learns_elsewhere(model):
        raise InputError(
            f"The vocabulary of this {type(model).__name__} is growing in another thread; wait "
            "until that has learned, or give counts over the model's columns."
        )


def learns_alone(method: Callable[P, R], *, in_callbacks: bool = True) -> Callable[P, R]:
    """Let a method run in one thread at a time per model, and be called again in its callbacks."""

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
        if _learning.setdefault(key, me) is not me:  # one step, which no other thread can divide
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
