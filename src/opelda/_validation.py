"""Checks of what callers give, below everything else: one rule and one sentence for each mistake.

Each function takes the parameter's name, which the error carries, and returns the value in the one
form that the rest of the package works with.
"""

import multiprocessing
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.errors import InputError

# between these a count times a weight stays within single precision, whatever the topics
SMALLEST_COUNT, LARGEST_COUNT = 1e-20, 1e13
MOST_THREADS = 4096


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

    None: every core that this process may use, for results never depend on it, but one inside a
    worker of joblib, multiprocessing or Spark, whose siblings have the other cores. -1: every core,
    -2: all but one, and so on. A positive number: so many.
    """
    if n_jobs is None:
        return 1 if _in_worker() else _cores()
    if not _is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"must be None or a whole number other than 0, got {n_jobs!r}.", name)
    if n_jobs > 0:
        return min(int(n_jobs), MOST_THREADS)
    return max(1, _cores() + 1 + int(n_jobs))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


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


def real_array(
    name: str,
    values: Any,
    shape: tuple[int, ...] | None = None,
    *,
    advice: str = "give finite numbers",
) -> NDArray[np.float64]:
    """Return a copy in double precision, all of it finite; of one shape, where that is given.

    The name may describe, such as "the value of g1 at iteration 3"; then it is no parameter.
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
        raise wrong(f"has shape {array.shape}: give {wanted}.")
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        at = f" at [{', '.join(map(str, where))}]" if where else ""
        raise wrong(f"is {array[where]}{at}: {advice}.")
    return array


def counts(X: Any, name: str = "X") -> sparse.csr_array:
    """Return documents as CSR with sorted, distinct words; never change the caller's arrays."""
    if type(X) is not sparse.csr_array:
        X = _sparse(additive(X, name), name)
    if X.ndim != 2:
        raise InputError(f"must have shape (documents, words), got {X.shape}.", name)
    if X.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {X.dtype}.", name)
    with _refused(name):
        matrix = sparse.csr_array(X)  # checks lengths; has none of the caller's flags, maybe stale
        _check_indices(matrix)
    if not matrix.has_canonical_format:
        matrix = matrix.astype(np.float64) if matrix.dtype.kind in "biu" else matrix.copy()
        matrix.sum_duplicates()
    _check_counts(matrix, name)
    return matrix


def is_on_gpu(X: Any) -> bool:
    """Whether an array or a sparse matrix is CuPy's, which is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("cupy", "cupyx")


def where_it_was(found: Any, X: Any) -> Any:
    """Return mixtures where the documents were: CuPy's for CuPy's."""
    if not is_on_gpu(X) or is_on_gpu(found):
        return found
    import cupy
    from cupyx.scipy import sparse as there

    return cupy.asarray(found) if isinstance(found, np.ndarray) else there.csr_matrix(found)


def additive(X: Any, name: str = "X") -> Any:
    """Return X without masked entries, and such that SciPy adds its repeated entries exactly.

    Converting to CSR adds them, in the type that they have: whole numbers would wrap around. In
    doubles all sums up to the largest count are exact.
    """
    if type(X) is sparse.csr_array:
        return X
    if is_on_gpu(X):
        X = X.get()
    rows = X if isinstance(X, list | tuple) else (X,)
    if any(np.ma.isMaskedArray(row) and np.ma.is_masked(row) for row in rows):
        raise InputError(
            "must be a matrix of counts: entries are masked; fill them, for example with "
            "X.filled(0).",
            name,
        )
    is_sparse = isinstance(X, sparse.sparray | sparse.spmatrix)
    if is_sparse and X.format in ("csc", "bsr"):  # SciPy would convert them without a look at these
        with _refused(name):
            _check_ends(X)
    if is_sparse and X.format != "csr" and X.dtype.kind in "biu":
        return X.astype(np.float64)
    return X


def _sparse(X: Any, name: str) -> Any:
    if isinstance(X, sparse.sparray | sparse.spmatrix):
        return X
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InputError(f"must be a matrix of counts: {error}.", name) from None
    if array.ndim != 2:
        raise InputError(
            f"must have shape (documents, words), got {array.shape}; for one document give "
            "X.reshape(1, -1).",
            name,
        )
    if array.dtype.kind not in "biuf":
        raise InputError(f"must hold counts, got values of type {array.dtype}.", name)
    # SciPy knows neither halves nor another machine's bytes
    known = np.float32 if array.dtype == np.float16 else array.dtype.newbyteorder("=")
    return sparse.csr_array(array.astype(known, copy=False))


@contextmanager
def _refused(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise InputError(
            f"is a sparse matrix whose arrays do not fit together ({error}); build it with SciPy's "
            "own constructors and check it with X.check_format(full_check=True).",
            name,
        ) from None


def _check_ends(X: Any) -> None:
    X.check_format()  # which passes over the ends where the last is 0, and over remainders
    if (np.diff(X.indptr) < 0).any():
        raise ValueError("index pointer values must form a non-decreasing sequence")
    if X.format == "bsr" and any(np.remainder(X.shape, X.blocksize)):
        raise ValueError(f"blocks of shape {X.blocksize} do not fill it")


def _check_indices(matrix: sparse.csr_array) -> None:
    """SciPy does not look at the indices it is given; native code must be able to trust them."""
    words, indptr = matrix.indices, matrix.indptr
    # one look at the largest finds negative numbers, too, if they are taken for unsigned ones
    largest = words.view(f"u{words.itemsize}").max() if len(words) else -1
    if largest >= matrix.shape[1] or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indices point outside it")


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
