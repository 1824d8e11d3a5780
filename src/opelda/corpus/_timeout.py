"""How long documents wait until a mini-batch is full, where their source makes them."""

import time
from collections.abc import Callable
from math import inf


class Patience:
    """The time that the documents of a mini-batch wait for the next ones, at the most.

    A source says when documents `came` and when they were `given`. In between, and only while it
    has to wait for more, it asks whether the time `is_over`; what never waits is never asked.

    >>> patience = Patience(0.0)
    >>> patience.is_over
    False
    >>> patience.came()
    >>> patience.is_over
    True
    """

    def __init__(self, seconds: float = inf, meanwhile: Callable[[], None] | None = None) -> None:
        self.seconds = seconds
        self.meanwhile = meanwhile or (lambda: None)  # called now and then by whoever waits
        self.paused = False  # whether the last read of a pipe was given up for now
        self._since: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether documents are there that have waited for long enough."""
        return self._since is not None and time.monotonic() - self._since >= self.seconds

    def came(self) -> None:
        """Say that documents are there."""
        if self._since is None:
            self._since = time.monotonic()

    def given(self) -> None:
        """Say that no documents wait any more."""
        self._since, self.paused = None, False
