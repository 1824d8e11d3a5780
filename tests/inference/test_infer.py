"""`infer`, the same for every method: shapes, edge cases, independence."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from opelda.engines import CPUEngine
from opelda.inference import METHODS, OPE, TLI, Topics, infer
from tests.cases import cases

# these corpora are not what TLI is made for, and it says so
pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")

RNG = np.random.default_rng(0)
TOPICS = RNG.dirichlet(np.full(40, 0.3), 6)
COUNTS = RNG.poisson(0.5, (12, 40)).astype(np.float32)

every_method = pytest.mark.parametrize("method", sorted(METHODS))
QUICK = {"hamcmc": {"n_iter": 60, "burn_in": 20}, "pmd": {"n_particles": 20, "n_iter": 5}}


def quick(method):
    """Return a method that takes a moment, for what its settings do not matter to."""
    return METHODS[method](**QUICK.get(method, {}))


def check(result, n_docs, n_topics):
    assert result.theta.shape == (n_docs, n_topics)
    assert result.theta.dtype == np.float32
    assert (result.theta >= 0).all()
    np.testing.assert_allclose(result.theta.sum(axis=1), 1, atol=2e-6)
    for name in ("gap", "likelihood_gap", "log_likelihood", "log_prior", "n_iter"):
        values = getattr(result, name)
        assert values.shape == (n_docs,)
        assert np.isfinite(values).all(), name
    assert (result.gap >= 0).all()
    assert (result.likelihood_gap >= 0).all()


@every_method
@pytest.mark.parametrize("alpha", [None, 0.1, 1.0, 2.0, np.linspace(0.1, 1.5, 6)])
def test_ordinary_documents(method, alpha):
    chosen = METHODS[method]() if alpha is None else quick(method)
    check(infer(COUNTS[:6], TOPICS, method=chosen, doc_topic_prior=alpha, random_state=0), 6, 6)


@every_method
@pytest.mark.parametrize("alpha", [None, np.linspace(0.2, 1.2, 6)])
def test_empty_documents_get_the_prior_mean(method, alpha):
    X = COUNTS[:4].copy()
    X[1] = 0
    result = infer(X, TOPICS, method=method, doc_topic_prior=alpha, random_state=0)
    check(result, 4, 6)
    mean = np.full(6, 1 / 6) if alpha is None else alpha / alpha.sum()
    np.testing.assert_allclose(result.theta[1], mean, rtol=1e-6)
    assert result.gap[1] == result.likelihood_gap[1] == result.log_likelihood[1] == 0
    assert result.n_iter[1] == 0
    if result.picked is not None:
        assert result.picked[[1]].nnz == 0
    check(infer(np.zeros((3, 40)), TOPICS, method=method), 3, 6)
    check(infer(np.zeros((0, 40)), TOPICS, method=method), 0, 6)


@cases("method", sorted(METHODS))
def test_one_word(method):
    X = np.zeros((1, 40))
    X[0, 7] = 1
    check(infer(X, TOPICS, method=method, random_state=0), 1, 6)


@every_method
def test_words_without_a_topic_are_ignored(method):
    topics = np.hstack([TOPICS[:, :30], np.zeros((6, 10))])
    topics /= topics.sum(axis=1, keepdims=True)
    X = COUNTS[:3].copy()
    X[2] = 0
    X[2, 35] = 4
    without = X.copy()
    without[:, 30:] = 0
    full = infer(X, topics, method=method, random_state=0)
    check(full, 3, 6)
    assert np.array_equal(full.theta, infer(without, topics, method=method, random_state=0).theta)
    np.testing.assert_allclose(full.theta[2], 1 / 6, rtol=1e-6)


@every_method
def test_topic_without_the_documents_words(method):
    topics = np.array([[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.0, 1.0]])
    check(infer([[1, 0, 1, 0], [3, 0, 0, 0], [0, 0, 0, 2]], topics, method=method), 3, 3)


@every_method
def test_million_token_documents(method):
    X = np.zeros((2, 40))
    X[0, 3] = 1e6
    X[1] = 25_000
    fast = {"cgs": {"burn_in": 1, "n_samples": 1}}.get(method, {})
    check(infer(X, TOPICS, method=METHODS[method](**fast), random_state=0), 2, 6)


@cases("method", sorted(METHODS))
def test_one_topic(method):
    result = infer(COUNTS[:3], TOPICS[:1], method=method, random_state=0)
    check(result, 3, 1)
    assert (result.theta == 1).all()
    assert (result.gap <= 1e-4).all()


@pytest.mark.parametrize("seed", range(1))
@every_method
def test_document_of_one_topic_is_recognised(method, seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(200, 0.05), 6)
    X = np.stack([rng.multinomial(400, topics[k]) for k in range(6)])
    theta = infer(X, topics, method=method, random_state=seed).theta
    assert (theta.diagonal() > 0.8).all()


def same(a, b):
    return np.array_equal(a.theta, b.theta) and np.array_equal(a.gap, b.gap)


@every_method
def test_result_does_not_depend_on_matrix_format(method):
    X = COUNTS[:5] * np.float32(1.5)
    base = infer(X, TOPICS, method=quick(method), random_state=0)
    csr = sparse.csr_array(X)
    shuffled = csr.copy()
    for i in range(5):
        part = slice(shuffled.indptr[i], shuffled.indptr[i + 1])
        shuffled.indices[part] = shuffled.indices[part][::-1].copy()
        shuffled.data[part] = shuffled.data[part][::-1].copy()
    shuffled.has_sorted_indices = False
    rows, cols = np.nonzero(X)
    halves = sparse.coo_array(
        (np.tile(X[rows, cols] / 2, 2), (np.tile(rows, 2), np.tile(cols, 2))), shape=X.shape
    )
    wide = sparse.csr_array(
        (csr.data.astype(np.float64), csr.indices.astype(np.int64), csr.indptr.astype(np.int64)),
        shape=X.shape,
    )
    frozen = csr.copy()
    for array in (frozen.data, frozen.indices, frozen.indptr):
        array.flags.writeable = False
    forms = [csr, sparse.csr_matrix(X), sparse.csc_array(X), halves, wide, frozen, shuffled]
    forms += [X.tolist(), np.asfortranarray(X), X.astype(np.float64)]
    for form in forms:
        assert same(base, infer(form, TOPICS, method=quick(method), random_state=0))
    assert not shuffled.has_sorted_indices  # the input is unchanged


def test_result_does_not_depend_on_integer_dtype():
    X = np.round(COUNTS[:4])
    base = infer(X, TOPICS, random_state=0)
    for kind in (bool, np.uint8, np.uint16, np.int32, np.int64, np.float16):
        expected = infer(X > 0, TOPICS, random_state=0) if kind is bool else base
        assert same(expected, infer(X.astype(kind), TOPICS, random_state=0))


def test_duplicate_entries_are_summed():
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 1.0]), np.array([3, 5, 3]), np.array([0, 3])), shape=(1, 40)
    )
    once = np.zeros((1, 40))
    once[0, [3, 5]] = 2
    assert same(infer(twice, TOPICS, random_state=0), infer(once, TOPICS, random_state=0))
    assert twice.nnz == 3  # the input is unchanged


@every_method
def test_mixture_depends_only_on_its_row(method):
    options = {"method": quick(method), "random_state": 11}
    whole = infer(COUNTS, TOPICS, **options)
    order = np.random.default_rng(0).permutation(12)
    assert np.array_equal(infer(COUNTS[order], TOPICS, **options).theta, whole.theta[order])
    parts = [infer(COUNTS[a:b], TOPICS, **options) for a, b in ((0, 1), (1, 7), (7, 12))]
    assert np.array_equal(np.vstack([p.theta for p in parts]), whole.theta)
    assert np.array_equal(np.concatenate([p.gap for p in parts]), whole.gap)
    has_kernel = METHODS[method]().kernel(6, 0) is not None
    times = 9 if has_kernel else 2  # enough documents for each thread
    many = np.vstack([COUNTS] * times)
    for n_jobs in (1, 2, 3, -1) if has_kernel else (1, 3):
        again = infer(many, TOPICS, n_jobs=n_jobs, **options)
        assert np.array_equal(again.theta, np.vstack([whole.theta] * times))
        assert np.array_equal(again.gap, np.tile(whole.gap, times))


@every_method
def test_same_seed_same_result(method):
    for seed in (0, np.int64(7)):
        one = infer(COUNTS[:4], TOPICS, method=quick(method), random_state=seed)
        assert same(one, infer(COUNTS[:4], TOPICS, method=clone(one.method), random_state=seed))
    one = infer(COUNTS[:4], TOPICS, method=quick(method), random_state=np.random.RandomState(3))
    two = infer(COUNTS[:4], TOPICS, method=quick(method), random_state=np.random.RandomState(3))
    assert same(one, two)
    one = infer(COUNTS[:4], TOPICS, method=quick(method), random_state=np.random.default_rng(3))
    two = infer(COUNTS[:4], TOPICS, method=quick(method), random_state=np.random.default_rng(3))
    assert same(one, two)


def test_missing_seed_gives_different_results():
    runs = [infer(COUNTS, TOPICS, method=OPE(coins="shared")).theta for _ in range(20)]
    assert any(not np.array_equal(runs[0], run) for run in runs[1:])


def test_topics_objects_can_be_reused():
    table = Topics(TOPICS)
    assert same(infer(COUNTS, table, random_state=0), infer(COUNTS, TOPICS, random_state=0))
    np.testing.assert_allclose(table.components, TOPICS, rtol=1e-6)
    assert same(
        infer(COUNTS, sparse.csr_array(TOPICS), random_state=0),
        infer(COUNTS, TOPICS, random_state=0),
    )
    assert repr(table) == "Topics(n_topics=6, n_words=40)"


def test_engine_object_and_repr():
    result = infer(COUNTS, TOPICS, engine=CPUEngine(), random_state=0)
    assert same(result, infer(COUNTS, TOPICS, random_state=0))
    assert "12 documents, 6 topics" in repr(result)
    np.testing.assert_allclose(result.objective, result.log_likelihood + result.log_prior)


def test_infer_accepts_fitted_models():
    from sklearn.decomposition import LatentDirichletAllocation

    from opelda import OnlineOPE

    for model in (OnlineOPE(2, random_state=0), LatentDirichletAllocation(2, random_state=0)):
        model.fit(COUNTS)
        topics = model.components_ / model.components_.sum(axis=1, keepdims=True)
        found = infer(COUNTS, model, random_state=0).theta
        np.testing.assert_allclose(found, infer(COUNTS, topics, random_state=0).theta, atol=1e-6)


@every_method
def test_needs_every_word_states_whether_other_words_matter(method):
    X = COUNTS.copy()
    X[:, 20:] = 0
    others = TOPICS.copy()
    others[:, 20:] = np.random.default_rng(1).permuted(TOPICS[:, 20:], axis=1)
    chosen = TLI(threshold=0.1) if method == "tli" else quick(method)  # which drops topics then
    before, after = (
        infer(X, topics, method=chosen, random_state=0).theta for topics in (TOPICS, others)
    )
    assert np.array_equal(before, after) != METHODS[method].needs_every_word
