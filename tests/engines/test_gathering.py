"""Documents gathered from a collection, against SciPy's indexing; the thread pool."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import OnlineOPE
from opelda._count_matrix import counts
from opelda.engines.cpu._updates import gathered, transposed
from opelda.engines.seam import Documents
from tests.cases import cases

from .made import make_documents

TYPES = [np.dtype(code) for code in "fdqihbQIHB?"] + [np.dtype(np.longdouble)]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@cases("n_threads", [1, 3])
@cases("places", [np.int32, np.int64])
def test_gathering_equals_indexing(dtype, places, n_threads):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.poisson(0.3, (900, 300)))
    data = X.data.astype(dtype)
    data.flags.writeable = False
    X.data, X.indices, X.indptr = data, X.indices.astype(places), X.indptr.astype(places)
    chosen = rng.integers(0, 900, 700)
    rows = gathered(Documents(X), chosen, n_threads)
    expected = sparse.csr_array(X.toarray()[chosen])
    types = (rows.indptr.dtype, rows.words.dtype, rows.counts.dtype)
    assert types == (np.int64, np.int32, np.float32)
    np.testing.assert_array_equal(rows.indptr, expected.indptr)
    np.testing.assert_array_equal(rows.words, expected.indices)
    np.testing.assert_array_equal(rows.counts, expected.data.astype(np.float32))


@given(st.lists(st.integers(0, 9)))
def test_sorting_any_documents_in_any_order(chosen):
    X = sparse.csr_array(np.random.default_rng(1).poisson(0.5, (10, 6)).astype(np.float32))
    X.data[::3] = 0.0  # stored, but no words of the document
    rows = gathered(Documents(X), np.array(chosen, np.int64), 1)
    found = sparse.csr_array((rows.counts, rows.words, rows.indptr), (len(chosen), 6))
    assert rows.n_docs == len(chosen)
    assert (rows.counts > 0).all()
    np.testing.assert_array_equal(found.toarray(), X.toarray()[chosen].reshape(-1, 6))


def test_selecting_all_documents_copies_nothing():
    X = make_documents(np.random.default_rng(2), 50, 20)
    rows = gathered(Documents(X), None, 1)
    assert np.shares_memory(rows.counts, X.data)
    assert np.shares_memory(rows.words, X.indices)


def test_checking_copies_no_counts():
    X = sparse.csr_array(np.random.default_rng(2).poisson(0.5, (50, 20)).astype(np.uint16))
    assert np.shares_memory(counts(X).data, X.data)
    assert np.shares_memory(counts(X).indices, X.indices)


@cases("dtype", [np.uint8, np.int64, np.float64, bool])
def test_model_does_not_depend_on_count_dtype(dtype):
    X = sparse.csr_array(np.random.default_rng(3).poisson(0.2, (200, 80)) > 0)
    models = [
        OnlineOPE(4, batch_size=64, random_state=0).fit(X.astype(t)) for t in (np.float32, dtype)
    ]
    np.testing.assert_array_equal(models[0].components_, models[1].components_)


def turned(n_threads):
    X = sparse.csr_array(np.random.default_rng(4).poisson(0.3, (2000, 200)).astype(np.float32))
    return transposed(Documents(X).part(), 200, n_threads).entries


def test_concurrent_callers_share_the_threads():
    expected = turned(1)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(turned, [2, 3, 1, 4] * 8):
            np.testing.assert_array_equal(found, expected)


FORKS = """
import os
from tests.engines.test_gathering import turned
expected = turned(3)
child = os.fork()
same = bool((turned(3) == expected).all())
if child == 0:
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), same)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_forked_child_does_not_wait_for_parent_threads():
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    run = subprocess.run(
        [sys.executable, "-c", FORKS], capture_output=True, text=True, cwd=root, timeout=60
    )
    assert run.stdout.split() == ["0", "True"], run.stderr
