"""Something that is done again and again: after so many steps, or so much time."""

import re
import time
from collections.abc import Callable
from typing import Any

from opelda._validation import whole
from opelda.errors import InputError

SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# What is done by the clock takes no more of the time than this.
LARGEST_SHARE = 0.1


class Every:
    """Says when to do something: after the first step, and then by number or by the clock.

    >>> every, due = Every("every", 5), []
    >>> for n_steps in range(3, 14):
    ...     if every.is_due(n_steps):
    ...         due.append(n_steps)
    ...         every.done()
    >>> due
    [3, 5, 10]
    """

    def __init__(
        self, name: str, given: Any, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._steps, self.seconds = steps_or_seconds(name, given, "smh")  # the other is 0
        self._clock = clock
        self._last: int | None = None  # step at which it was done
        self._n_steps, self._began, self._next = 0, 0.0, 0.0

    def is_due(self, n_steps: int) -> bool:
        """Whether it is to be done now, after so many steps in all."""
        self._n_steps, self._began = n_steps, self._clock()
        if self._last is None:
            return True
        if self._steps:  # several multiples may be passed at once
            return n_steps // self._steps > self._last // self._steps
        return self._began >= self._next

    def done(self) -> None:
        """Say that it has been done, which took the time since `is_due` was asked."""
        self._last, now = self._n_steps, self._clock()
        self._next = now + max(self.seconds, (now - self._began) * (1 / LARGEST_SHARE - 1))


def steps_or_seconds(name: str, given: Any, units: str = "smhd") -> tuple[int, float]:
    """Return what is said as a number of steps or as a time; the other is 0.

    >>> steps_or_seconds("since", "1000"), steps_or_seconds("since", "1.5h")
    ((1000, 0.0), (0, 5400.0))
    """
    if not isinstance(given, str) or given.isdecimal():
        return whole(name, int(given) if isinstance(given, str) else given), 0.0
    found = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)([{units}])", given)
    seconds = float(found[1]) * SECONDS[found[2]] if found else 0.0
    if not seconds:
        said = "30s, 5m or 1h" if units == "smh" else "5m, 1h or 1d"
        raise InputError(f"must be a whole number or a time such as {said}, got {given!r}.", name)
    return 0, seconds
