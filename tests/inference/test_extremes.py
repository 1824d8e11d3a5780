"""Inputs at or beyond the limits: finite results or one clear sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda import TopicModel
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.cpu._updates import Explained, transposed
from opelda.engines.seam import Documents, Solution
from opelda.errors import InputError
from opelda.inference import METHODS, OPE, Topics, infer
from opelda.metrics import coherence, log_predictive_probability
from tests.cases import cases

KERNELS = ("ope", "em", "vb", "cvb0", "cvb", "fw")


@cases("method", KERNELS)
@cases("count", [1e-19, 1e-6, 1e6, 1e13])
@cases("alpha", [1e-30, 0.1, 1.0, 1e6])
def test_extreme_counts_and_priors_give_finite_results(method, count, alpha):
    topics = np.array(
        [[0.5, 0.5 - 2e-15, 2e-15, 0], [0.3, 0.7 - 2e-15, 0, 2e-15], [0.2, 0.8, 0, 0]]
    )
    X = np.array([[1, 1, count, count], [count, 0, 0, 0], [count, 1, 0, count]])
    result = infer(X, topics, method=method, doc_topic_prior=alpha, random_state=0)
    np.testing.assert_allclose(result.theta.sum(axis=1), 1, atol=2e-6)
    for name in ("gap", "likelihood_gap", "likelihood_loss", "log_likelihood", "log_prior"):
        endless = name == "likelihood_loss" and method == "fw"  # a word may be impossible
        assert endless or np.isfinite(getattr(result, name)).all(), name


@cases("schedule", ["practical", "literal"])
@cases("count", [1e-19, 1e13])
@cases("n_topics", [3, 300])
def test_screening_is_exact_for_extreme_counts(schedule, count, n_topics):
    X = np.zeros((2, n_topics))
    X[0, : min(20, n_topics)] = count
    X[1, ::2] = count
    topics = 0.999 * np.eye(n_topics) + 0.001 / n_topics
    for alpha in (0.1, 1.0, 3.0):
        results = [
            infer(
                X,
                topics,
                doc_topic_prior=alpha,
                method=OPE(n_iter=20, schedule=schedule, screen=screen),
                random_state=0,
            )
            for screen in (True, False)
        ]
        assert np.array_equal(results[0].theta, results[1].theta)
        assert np.array_equal(results[0].gap, results[1].gap)
        assert (results[0].gap > 0).all()


def test_subnormal_counts_count_as_zero():
    topics = [[0.5, 0.5, 0.0], [0.3, 0.3, 0.4]]
    for method in KERNELS:
        found = infer([[1e-46, 0, 0], [1, 1e-30, 2]], topics, method=method, random_state=0)
        plain = infer([[0, 0, 0], [1, 0, 2]], topics, method=method, random_state=0)
        assert np.array_equal(found.theta, plain.theta)


def test_n_tokens_is_the_sum_of_the_document():
    found = infer([[1e13, 0], [0.01, 0]], [[0.5, 0.5], [0.9, 0.1]], random_state=0)
    np.testing.assert_allclose(found.n_tokens, [1e13, 0.01], rtol=1e-6)
    long = infer(np.full((1, 1000), 40_000.25), np.full((2, 1000), 1e-3), random_state=0)
    assert long.n_tokens[0] == 1000 * 40_000.25


def _entries(X):
    """Infer, measure and learn: everything that takes documents."""
    topics = np.full((3, X.shape[1]), 1.0 / X.shape[1])
    yield lambda: infer(X, topics)
    yield lambda: coherence(topics, X)
    yield lambda: log_predictive_probability(topics, X)
    if X.format == "csr":  # scikit-learn converts others, which SciPy does without a look
        yield lambda: TopicModel(3, n_sweeps=1).fit(X)


@cases("make", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@cases(
    "parts",
    [
        {"indices": [-5, -4]},
        {"indices": [1, 7]},
        {"indptr": [0, 1000, 1000, 1000, 1000, 1000]},
        {"indptr": [0, 10**8, 10**8, 10**8, 10**8, 10**8]},
        {"indptr": [1, 2, 2, 2, 2, 2]},
        {"indptr": [-(10**8), 2, 2, 2, 2, 2]},
        {"indptr": [0, 2, 1, 2, 2, 2]},
        {"indptr": [0, 2, 2, 2, 2, 0]},
        {"indptr": [0]},
        {"indptr": [0, 1, 2, 2, 2, 2, 2]},
        {"data": [1]},
        {"data": [1], "indices": np.zeros(10**6), "indptr": [0, *5 * [10**6]]},
    ],
    ids=str,
)
def test_inconsistent_sparse_arrays_are_rejected(parts, make):
    X = make(([1.0, 1.0], ([0, 1], [0, 1])), shape=(5, 5))
    assert X.has_canonical_format
    for name, values in parts.items():
        setattr(X, name, np.asarray(values, X.dtype if name == "data" else np.int32))
    for entry in _entries(X):
        with pytest.raises(ValueError, match=r"check_format|ind(ex|ices)"):
            entry()
    with pytest.raises(InputError, match="is an invalid sparse matrix"):
        infer(X, np.full((3, 5), 0.2))


def test_bsr_blocks_that_do_not_fit_are_rejected():
    X = sparse.bsr_array((np.ones((2, 2, 2)), [1, 0], [0, 1, 2]), shape=(5, 5))
    with pytest.raises(InputError, match=r"not a multiple of the block size \(2, 2\)"):
        infer(X, np.full((3, 5), 0.2))


@given(seed=st.integers(0, 2**32 - 1))
def test_stale_canonical_flag_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.ones(200), 3)
    X = sparse.csr_array(rng.random((3, 200)) + 0.1)
    expected = infer(X, topics, method="em", random_state=0).theta
    assert X.has_canonical_format
    order = rng.permutation(200)
    X.indices[:200], X.data[:200] = X.indices[order], X.data[order]
    assert np.array_equal(infer(X, topics, method="em", random_state=0).theta, expected)


def test_repeated_small_integers_are_summed_without_overflow():
    twice = sparse.coo_array(
        (np.array([200, 200], np.uint8), (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2)
    )
    found = infer(twice, [[0.5, 0.5], [0.9, 0.1]], random_state=0)
    assert found.n_tokens[0] == 400


@cases(
    ("X", "message"),
    [
        (np.array([[1e14, 1]]), r"X\[0, 0\] is 10+\.0; counts must be from 0 to 1e\+13"),
        (np.array([[2**60, 1]], np.uint64), "counts must be from 0 to"),
        (np.ma.masked_equal([[1, 2]], 2), "without masked entries"),
        (sparse.coo_array(np.ones(2)), "X must have shape"),
    ],
)
def test_out_of_range_documents_are_rejected(X, message):
    with pytest.raises(InputError, match=message):
        infer(X, [[0.5, 0.5], [0.9, 0.1]])


def test_other_byte_orders_are_read():
    X, topics = np.array([[3, 1]]), [[0.5, 0.5], [0.9, 0.1]]
    base = infer(X, topics, random_state=0).theta
    for kind in (">i4", "<i4", ">f8", ">u2"):
        assert np.array_equal(infer(X.astype(kind), topics, random_state=0).theta, base)


@cases(
    ("options", "message"),
    [
        ({"engine": 3}, "engine must be a name or an engine"),
        ({"method": OPE(n_iter=2**50)}, "n_iter must be"),
        ({"method": OPE(variant="bope", p=1e-300)}, "p must be"),
        ({"method": OPE(schedule="literal", epsilon=1e-50)}, "epsilon must be"),
    ],
)
def test_out_of_range_options_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        infer([[1, 2]], [[0.5, 0.5], [0.9, 0.1]], **options)


def test_epsilon_too_large_for_n_topics_is_rejected():
    topics = np.full((150, 3), 1 / 3)
    with pytest.raises(InputError, match="epsilon must be at most"):
        infer([[1, 2, 0]], topics, method=OPE(schedule="literal", epsilon=1e-2))


def test_huge_n_jobs_is_accepted():
    X, topics = np.ones((100, 2)), [[0.5, 0.5], [0.9, 0.1]]
    base = infer(X, topics, random_state=0)
    assert np.array_equal(infer(X, topics, n_jobs=2**40, random_state=0).theta, base.theta)


def test_words_excluded_by_a_mixture_add_nothing():
    table = TopicTable.of(np.array([[0.5, 0.5, 0], [0, 0.2, 0.8]]), None)
    X = sparse.csr_array(np.array([[5, 5, 0], [0, 0, 3], [9, 1, 1]]))
    batch = transposed(Documents(X).part(), 3, 1)
    theta = np.array([[1, 0], [0, 1], [1, 0]], np.float32)
    kept, solution = np.zeros((3, 16), np.float32), Solution(theta, np.zeros(3, np.int32))
    Explained(batch, table, solution, divide=True).add(kept, batch.words, np.ones(2))
    np.testing.assert_allclose(kept[:, :2], [[14, 0], [6, 0], [0, 3]], rtol=1e-6)


def test_concurrent_calls_of_infer_agree():
    from concurrent.futures import ThreadPoolExecutor

    rng = np.random.default_rng(0)
    topics = Topics(rng.dirichlet(np.full(60, 0.2), 20))
    X = rng.poisson(0.5, (200, 60))
    for method in KERNELS:
        base = infer(X, topics, method=METHODS[method](), random_state=0).theta
        with ThreadPoolExecutor(4) as pool:
            jobs = [
                pool.submit(infer, X, topics, method=method, random_state=0, n_jobs=2)
                for _ in range(8)
            ]
            assert all(np.array_equal(job.result().theta, base) for job in jobs)
