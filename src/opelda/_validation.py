"""Checks of parameters: one rule and one sentence for each mistake.

Each function takes the parameter's name, for the error, and returns the checked value.
"""

import multiprocessing
import os
import re
import sys
import time
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError

# a count times a weight stays within single precision
SMALLEST_COUNT, LARGEST_COUNT = 1e-20, 1e13


def whole(name: str, value: Any, least: int = 1, most: int = 2**62) -> int:
    """Return a whole number within its limits."""
    if _is_whole(value) and least <= value <= most:
        return int(value)
    limits = f"at least {least}" if most >= 2**31 else f"from {least} to {most:,}"
    raise InputError(f"must be a whole number, {limits}, got {value!r}.", name)


def number(name: str, value: Any, low: float, high: float, *, above: bool = False) -> float:
    """Return a finite number from `low` to `high`; with `above`, not `low` itself."""
    if _is_whole(value) or isinstance(value, float | np.floating):
        known = float(value)
        if (low < known if above else low <= known) and known <= high:
            return known
    limits = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"
    raise InputError(f"must be a number {limits}, got {value!r}.", name)


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of some words."""
    if isinstance(value, str) and value in choices:
        return value
    words = [repr(word) for word in choices]
    listed = ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
    raise InputError(f"must be {listed}, got {value!r}.", name)


def flag(name: str, value: Any) -> bool:
    """Return True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"must be True or False, got {value!r}.", name)


def seed(random_state: Any, name: str = "random_state") -> int:
    """Return a seed below 2**32 from None, a number, a RandomState or a Generator."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if _is_whole(random_state) and 0 <= random_state < 2**32:
        return int(random_state)
    raise InputError(
        "must be None, a whole number from 0 to 2**32 - 1, a RandomState or a Generator, got "
        f"{random_state!r}.",
        name,
    )


def threads(n_jobs: Any, name: str = "n_jobs") -> int:
    """Return a number of threads: the one rule for every ``n_jobs``.

    None means every core available to this process, but one core in a worker of joblib,
    multiprocessing or Spark. -1 means every core, -2 every core but one, and so on.
    """
    if n_jobs is None:
        return 1 if _in_worker() else _cores()
    if not _is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"must be None or a whole number other than 0, got {n_jobs!r}.", name)
    if n_jobs > 0:
        return min(int(n_jobs), 4096)
    return max(1, _cores() + 1 + int(n_jobs))


def _is_whole(value: Any) -> bool:
    if type(value) is int:  # the usual case, and the fastest check
        return True
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_worker() -> bool:
    if multiprocessing.parent_process() is not None or "pyspark.worker" in sys.modules:
        return True
    joblib = sys.modules.get("joblib.parallel")  # only an imported joblib runs workers
    return joblib is not None and bool(joblib.get_active_backend()[0].nesting_level)


def real_array(
    name: str,
    values: Any,
    shape: tuple[int, ...] | None = None,
    *,
    advice: str = "use finite numbers",
) -> NDArray[np.float64]:
    """Return a finite copy in double precision; check its shape if one is given.

    A name such as "the value of g1 at iteration 3" is a description instead of a parameter.
    """

    def wrong(text: str) -> InputError:
        return InputError(text, name) if name.isidentifier() else InputError(f"{name} {text}")

    try:
        if np.iscomplexobj(values):
            raise TypeError
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        got = type(values).__name__
        raise wrong(f"must hold real numbers in a dense array or a list, got {got}.") from None
    if shape is not None and array.shape != shape:
        wanted = f"an array of shape {shape}" if shape else "a single number"
        raise wrong(f"has shape {array.shape}; expected {wanted}.")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        at = f" at [{', '.join(map(str, where))}]" if where else ""
        raise wrong(f"is {array[where]}{at}: {advice}.")
    return array


def on_device(X: Any) -> bool:
    """Whether an array or a sparse matrix lies in a device's memory; `X.get()` copies it."""
    return hasattr(type(X), "device") and hasattr(type(X), "get")


class Every:
    """When to do something: after the first step, and then by number or by the clock."""

    def __init__(
        self, name: str, given: Any, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._steps, self.seconds = steps_or_seconds(name, given, "smh")
        self._clock = clock
        self._last: int | None = None  # step at which it was done
        self._n_steps, self._began, self._next = 0, 0.0, 0.0

    def is_due(self, n_steps: int) -> bool:
        """Whether `n_steps` steps call for it now."""
        self._n_steps, self._began = n_steps, self._clock()
        if self._last is None:
            return True
        if self._steps:  # several multiples may be passed at once
            return n_steps // self._steps > self._last // self._steps
        return self._began >= self._next

    def done(self) -> None:
        """Note that it was done since `is_due`; it takes a tenth of the time at most."""
        self._last, now = self._n_steps, self._clock()
        self._next = now + max(self.seconds, (now - self._began) * 9)


def steps_or_seconds(name: str, given: Any, units: str = "smhd") -> tuple[int, float]:
    """Return a number of steps and a time in seconds; the one not given is 0.

    >>> steps_or_seconds("since", "1000"), steps_or_seconds("since", "1.5h")
    ((1000, 0.0), (0, 5400.0))
    """
    if not isinstance(given, str) or given.isdecimal():
        return whole(name, int(given) if isinstance(given, str) else given), 0.0
    found = re.fullmatch(rf"(\d{{1,9}}(?:\.\d{{1,9}})?)([{units}])", given)
    length = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
    seconds = float(found[1]) * length[found[2]] if found else 0.0
    if not seconds:
        said = "30s, 5m or 1h" if units == "smh" else "5m, 1h or 1d"
        raise InputError(f"must be a whole number or a time such as {said}, got {given!r}.", name)
    return 0, seconds
