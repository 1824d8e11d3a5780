"""One rule and one sentence for each kind of parameter."""

import multiprocessing
import os
import pickle

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import choice, flag, number, seed, threads, whole
from opelda.errors import InputError
from tests.cases import cases

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@cases("value", [0, 11, True, 2.0, "3", None, np.float64(3), float("nan")])
def test_bad_integers_are_rejected(value):
    assert whole("n", np.int8(10), 1, 10) == 10
    with pytest.raises(InputError, match=r"^n must be a whole number, from 1 to 10, got"):
        whole("n", value, 1, 10)


@cases("value", [-0.1, 1.1, float("nan"), float("inf"), "0.5", None, True])
def test_out_of_range_numbers_are_rejected(value):
    assert number("tol", np.float32(0.5), 0, 1) == 0.5
    with pytest.raises(InputError, match=r"^tol must be a number from 0 to 1, got"):
        number("tol", value, 0, 1)


def test_limits_are_optional():
    assert number("p", 0.0, 0, 1) == 0.0
    with pytest.raises(InputError, match="above 0"):
        number("p", 0.0, 0, 1, above=True)


def test_choices_and_flags_are_named():
    with pytest.raises(InputError, match=r"^init must be 'a', 'b' or 'c', got \['a'\]"):
        choice("init", ["a"], ("a", "b", "c"))
    with pytest.raises(InputError, match=r"^screen must be True or False, got 1"):
        flag("screen", 1)


@cases("value", [-1, 2**32, "1", 1.0, True])
def test_bad_seeds_are_rejected(value):
    assert seed(np.random.RandomState(0)) == seed(np.random.RandomState(0))
    assert seed(np.random.default_rng(0)) == seed(np.random.default_rng(0))
    with pytest.raises(InputError, match="random_state must be None"):
        seed(value)


def test_n_jobs_defaults_to_all_cores_and_counts_back_from_them():
    assert threads(None) == threads(-1) == CORES
    assert threads(-2) == max(1, CORES - 1)
    assert threads(-1000) == 1
    assert threads(7) == 7
    for wrong in (0, 1.5, "2", True):
        with pytest.raises(InputError, match="n_jobs must be None or a whole number"):
            threads(wrong)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib_worker_has_one_thread_by_default(backend):
    jobs = (delayed(threads)(n) for n in (None, 3))
    assert Parallel(n_jobs=2, backend=backend)(jobs) == [1, 3]


def test_pool_worker_has_one_thread():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(threads, (None,)) == 1


def test_counts_are_sorted_and_distinct_and_input_is_unchanged():
    X = sparse.csr_array(([1, 2, 3], [2, 0, 2], [0, 3]), shape=(1, 3))
    found = counts(X)
    assert found.indices.tolist() == [0, 2]
    assert found.data.tolist() == [2, 4]
    assert X.indices.tolist() == [2, 0, 2]


@cases("value", [-1.0, np.nan, np.inf, 1e14])
def test_bad_count_is_named_by_its_position(value):
    X = np.ones((3, 4))
    X[1, 2] = value
    with pytest.raises(InputError, match=r"X\[1, 2\] is"):
        counts(X)


def test_errors_name_the_parameter_and_advice():
    error = InputError("is 3; give {limit} or {encoding}.", "min_df", limit=..., encoding="latin-1")
    assert str(error) == "min_df is 3; give limit= or encoding='latin-1'."
    shouted = error.worded(lambda name, value: name.upper() + ("" if value is ... else f"!{value}"))
    assert shouted == "MIN_DF is 3; give LIMIT or ENCODING!latin-1."
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.parameter) == (str(error), "min_df")


def test_users_braces_are_kept():
    assert str(InputError("{x} is no column of {a: 1}; give {limit}.", limit=5)) == (
        "{x} is no column of {a: 1}; give limit=5."
    )


@cases("dtype", [np.int8, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@cases("form", ["csr", "csc", "coo", "bsr"])
def test_repeated_entries_of_any_dtype_are_summed_exactly(dtype, form):
    value = min(np.iinfo(dtype).max, 2**30)
    rows, columns = np.zeros(300, np.int32), np.tile([1, 1, 2], 100)
    X = sparse.coo_array((np.full(300, value, dtype), (rows, columns)), shape=(2, 4))
    if form == "csr":
        X = sparse.csr_array((X.data, columns, [0, 300, 300]), shape=(2, 4))
    elif form == "csc":
        X = sparse.csc_array((X.data, rows, [0, 0, 200, 300, 300]), shape=(2, 4))
    elif form == "bsr":
        blocks = X.data.reshape(300, 1, 1)
        X = sparse.bsr_array((blocks, columns, [0, 300, 300]), shape=(2, 4))
    assert counts(X).toarray()[0].tolist() == [0, 200 * value, 100 * value, 0]


def test_too_large_sums_of_repeated_entries_are_rejected():
    data = np.full(20_000, 2**30, np.int32)
    X = sparse.csr_array((data, np.zeros(20_000, np.int32), [0, 20_000]), shape=(1, 1))
    with pytest.raises(InputError, match="counts must be from 0"):
        counts(X)


@pytest.mark.parametrize("listed", [False, True])
def test_masked_entries_are_rejected(listed):
    X = np.ma.masked_equal([[1, 2], [3, 1]], 2)
    assert counts(np.ma.array([[1, 2]])).toarray().tolist() == [[1, 2]]
    with pytest.raises(InputError, match="without masked entries"):
        counts(list(X) if listed else X)
