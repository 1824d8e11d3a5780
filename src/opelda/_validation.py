"""Checks of what callers give, below everything else: one rule and one sentence for each mistake.

Each function takes the parameter's name, which the error carries, and returns the value in the one
form that the rest of the package works with.
"""

import multiprocessing
import os
import sys
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.errors import InputError

# Between these a count times a weight stays within single precision, whatever the topics.
SMALLEST_COUNT, LARGEST_COUNT = 1e-20, 1e13
MOST_THREADS = 4096


def whole(name: str, value: Any, least: int = 1, most: int = 2**62) -> int:
    """Return a whole number within its limits.

    >>> whole("n_words", np.int64(3))
    3
    """
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if good and least <= value <= most:
        return int(value)
    limits = f"at least {least}" if most >= 2**31 else f"from {least} to {most:,}"
    raise InputError(f"must be a whole number, {limits}, got {value!r}.", name)


def number(name: str, value: Any, low: float, high: float, *, above: bool = False) -> float:
    """Return a finite number from `low` to `high`; with `above`, not `low` itself.

    >>> number("tol", 0, 0.0, 1.0)
    0.0
    """
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if good and (low < value if above else low <= value) and value <= high:
        return float(value)
    limits = f"above {low:g}, at most {high:g}" if above else f"from {low:g} to {high:g}"
    raise InputError(f"must be a number {limits}, got {value!r}.", name)


def choice(name: str, value: Any, choices: Collection[str]) -> str:
    """Return one of some words.

    >>> choice("init", "random", ("random", "documents"))
    'random'
    """
    if isinstance(value, str) and value in choices:
        return value
    words = [repr(word) for word in choices]
    listed = ", ".join(words[:-1]) + f" or {words[-1]}" if len(words) > 1 else words[0]
    raise InputError(f"must be {listed}, got {value!r}.", name)


def flag(name: str, value: Any) -> bool:
    """Return True or False.

    >>> flag("screen", np.True_)
    True
    """
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise InputError(f"must be True or False, got {value!r}.", name)


def seed(random_state: Any, name: str = "random_state") -> int:
    """Return a seed below 2**32 from None, a number, a RandomState or a Generator.

    >>> seed(7)
    7
    """
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    good = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if good and 0 <= random_state < 2**32:
        return int(random_state)
    raise InputError(
        "must be None, a whole number from 0 to 2**32 - 1, a RandomState or a Generator, got "
        f"{random_state!r}.",
        name,
    )


def threads(n_jobs: Any, name: str = "n_jobs") -> int:
    """Return a number of threads: the one rule for every ``n_jobs``.

    None: every core that this process may use, for results never depend on it, but one inside a
    worker of joblib, multiprocessing or Spark, whose siblings have the other cores. -1: every core,
    -2: all but one, and so on. A positive number: so many.

    >>> threads(3)
    3
    """
    if n_jobs is None:
        return 1 if _in_worker() else _cores()
    good = isinstance(n_jobs, int | np.integer) and not isinstance(n_jobs, bool)
    if not good or n_jobs == 0:
        raise InputError(f"must be None or a whole number other than 0, got {n_jobs!r}.", name)
    if n_jobs > 0:
        return min(int(n_jobs), MOST_THREADS)
    return max(1, _cores() + 1 + int(n_jobs))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _in_worker() -> bool:
    if multiprocessing.parent_process() is not None or "pyspark.worker" in sys.modules:
        return True
    joblib = sys.modules.get("joblib.parallel")  # where nobody imported it, it runs nothing
    if joblib is None:
        return False
    return bool(joblib.get_active_backend()[0].nesting_level)


def counts(X: Any, name: str = "X") -> sparse.csr_array:
    """Return documents as CSR with sorted, distinct words; the caller's arrays are never changed.

    >>> counts([[0, 2], [1, 0]]).indices
    array([1, 0], dtype=int32)
    """
    if type(X) is not sparse.csr_array:
        X = _sparse(X, name)
    if X.ndim != 2:
        raise InputError(f"must have shape (documents, words), got {X.shape}.", name)
    if X.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {X.dtype}.", name)
    small = X.dtype.itemsize < 4  # repeated entries are added, which bytes have no room for
    if small and X.format != "csr":
        X = X.astype(np.float32)
    matrix: sparse.csr_array = X if type(X) is sparse.csr_array else sparse.csr_array(X)
    _check_indices(matrix, name)
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.float32) if small else matrix.copy()
        matrix.sum_duplicates()
    _check_counts(matrix, name)
    return matrix


def _sparse(X: Any, name: str) -> Any:
    if isinstance(X, sparse.sparray | sparse.spmatrix):
        return X
    array = _dense(X, name)
    if array.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {array.dtype}.", name)
    return sparse.csr_array(array)


def _dense(X: Any, name: str) -> NDArray[Any]:
    try:
        if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
            raise ValueError("entries are masked; fill them, for example with X.filled(0)")
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"must be a matrix of counts: {error}.", name) from None
    if array.ndim != 2:
        raise InputError(
            f"must have shape (documents, words), got {array.shape}; for one document give "
            "X.reshape(1, -1).",
            name,
        )
    if array.dtype == np.float16:  # SciPy knows no halves
        return array.astype(np.float32)
    return array.astype(array.dtype.newbyteorder("="), copy=False)  # nor another machine's bytes


def _check_indices(matrix: sparse.csr_array, name: str) -> None:
    """SciPy does not look at the indices it is given; native code must be able to trust them."""
    words, indptr = matrix.indices, matrix.indptr
    # one look at the largest finds negative numbers, too, if they are taken for unsigned ones
    largest = words.view(f"u{words.itemsize}").max() if len(words) else -1
    if largest >= matrix.shape[1] or (indptr[1:] < indptr[:-1]).any():
        raise InputError(
            "is a sparse matrix whose indices point outside it; build it with SciPy's own "
            "constructors and check it with X.check_format(full_check=True).",
            name,
        )


def _check_counts(matrix: sparse.csr_array, name: str) -> None:
    data = matrix.data
    if data.dtype.kind == "b" or not len(data):
        return
    # NaN fails both comparisons, so one pass over the extremes finds every bad value
    if data.min() >= 0 and data.max() <= LARGEST_COUNT:
        return
    at = int(np.flatnonzero(~((data >= 0) & (data <= LARGEST_COUNT)))[0])
    row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
    # scikit-learn's estimator checks look for these words
    what = "Negative values in data: " if data[at] < 0 else ""
    raise InputError(
        f"{what}{name}[{row}, {matrix.indices[at]}] is {data[at]}; "
        f"counts must be from 0 to {LARGEST_COUNT:g}."
    )
