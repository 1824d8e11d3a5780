"""Refusing to work where the process may not have the address space that the work needs.

OpenBLAS, polars and its allocator do not survive a failed allocation: they exit, abort, panic or
spin. Under a limit (``ulimit -v``, RLIMIT_AS) the need is therefore estimated before they are
imported.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from opelda.errors import InputError

try:
    import resource
except ImportError:  # not a Unix: there is no such limit
    resource = None  # type: ignore[assignment]

# Measured with two cores: NumPy, SciPy and scikit-learn take 0.55 GB, OpenBLAS's threads with them;
# importing polars takes 0.42 GB, the first reading 1.54 GB more for 20 MB of text, of which stacks
# and arenas of threads stay, and 240 MB of text take 1 GB more.
LIBRARIES, IMPORT, FIRST, LATER, PER_THREAD, PER_BYTE = 300e6, 600e6, 1_200e6, 200e6, 150e6, 5

_has_read = False


def is_hopeless() -> bool:
    """Whether no library fits: Python's own parser says strange things then."""
    return 0 <= _limit() < LIBRARIES


def check_libraries() -> None:
    """Raise `InputError` where the libraries for arrays, still to be imported, would not fit."""
    if "scipy" not in sys.modules:
        _require(LIBRARIES + PER_THREAD * _n_cores(), "Loading its libraries", "raise that limit")


def check_import() -> None:
    """Raise `InputError` where polars, if it is still to be imported, would not fit."""
    check_libraries()
    if "polars" not in sys.modules:
        _require(IMPORT + PER_THREAD * _n_cores())


def check_reading(n_bytes: int) -> None:
    """Raise `InputError` where so many bytes of documents cannot be read."""
    global _has_read
    fixed = LATER if _has_read else FIRST + PER_THREAD * _n_cores()
    _require(fixed + PER_BYTE * n_bytes)
    _has_read = True


def _n_cores() -> int:
    # `_validation` knows, too, but has imported what is in question here
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _limit() -> int:
    return -1 if resource is None else resource.getrlimit(resource.RLIMIT_AS)[0]


def _require(
    n_bytes: float,
    what: str = "Reading",
    remedy: str = "raise that limit, or read fewer documents",
) -> None:
    limit = _limit()
    if limit < 0:
        return
    try:
        with open("/proc/self/statm") as file:
            needed = n_bytes + int(file.read().split()[0]) * resource.getpagesize()
    except OSError:  # a system that does not enforce it
        return
    if needed > limit:
        raise InputError(
            f"{what} needs about {needed / 1e9:.1f} GB of address space, but this process may "
            f"have {limit / 1e9:.1f} GB (ulimit -v); {remedy}."
        )


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise `InputError` for want of memory, and for polars' panic, which is no `Exception`."""
    try:
        yield
    except BaseException as error:
        panicked = type(error).__name__ == "PanicException"
        no_thread = isinstance(error, RuntimeError) and "start new thread" in str(error)
        if panicked or no_thread or isinstance(error, MemoryError):
            said = " ".join(str(error).split()) or "MemoryError"
            raise InputError(
                f"Reading ended for want of memory ({said:.100}); read fewer documents at a time "
                "with {limit}, or by opelda.corpus.stream.",
                limit=...,
            ) from error
        raise
