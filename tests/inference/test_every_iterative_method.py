"""Common properties of EM, VB, CVB0, CVB, CGS and FW: independence, certificates, hard inputs."""

import numpy as np
import pytest

from opelda.engines import get_engine
from opelda.errors import EngineError
from opelda.inference import CGS, METHODS, infer
from tests.cases import cases

NAMES = ("em", "vb", "cvb0", "cvb", "cgs", "fw")


@pytest.fixture(scope="module")
def problem(make_problem):
    return make_problem(7, n_docs=150, n_topics=23, n_words=80)


@cases("name", NAMES)
def test_result_depends_only_on_the_document(name, problem):
    X, topics, _ = problem
    rng = np.random.default_rng(0)
    options = {"method": name, "random_state": 11}
    whole = infer(X, topics, **options)
    for other in (infer(X, topics, **options, n_jobs=n_jobs) for n_jobs in (2, 5)):
        assert np.array_equal(whole.theta, other.theta)
        assert np.array_equal(whole.gap, other.gap)
        assert np.array_equal(whole.n_iter, other.n_iter)
    rows = rng.permutation(len(X))[:70]
    some = infer(X[rows], topics, **options, n_jobs=2)
    assert np.array_equal(whole.theta[rows], some.theta)
    assert np.array_equal(whole.log_likelihood[rows], some.log_likelihood)
    halves = [infer(half, topics, **options).theta for half in (X[:37], X[37:])]
    assert np.array_equal(whole.theta, np.concatenate(halves))


@pytest.mark.parametrize("name", NAMES)
def test_certificate_agrees_with_the_reference(name, problem):
    X, topics, _ = problem
    topics = topics.astype(np.float32)
    fast = infer(X[:10], topics, method=name, random_state=0)
    slow = infer(X[:10], topics, method=name, random_state=0, engine="reference")
    np.testing.assert_allclose(fast.theta.sum(axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(fast.log_likelihood, slow.log_likelihood, rtol=1e-4)
    x = fast.theta.astype(np.float64) @ topics
    np.testing.assert_allclose(fast.log_likelihood, (X[:10] * np.log(x)).sum(axis=1), rtol=1e-5)
    assert (fast.likelihood_gap >= 0).all()
    assert (fast.gap >= 0).all()


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("isa", ["avx512", "avx2", "base"])
def test_instruction_sets_agree(name, isa, make_problem, seed):
    X, topics, _ = make_problem(seed, n_docs=150, n_topics=23, n_words=80)
    engine = get_engine("cpu")
    usual = engine.instruction_set
    expected = infer(X, topics, method=name, random_state=seed)
    try:
        engine.use_instruction_set(isa)
    except EngineError as error:
        pytest.skip(str(error))  # this processor lacks it
    try:
        found = infer(X, topics, method=name, random_state=seed)
    finally:
        engine.use_instruction_set(usual)
    same = found.n_iter == expected.n_iter
    assert same.mean() > 0.9
    np.testing.assert_allclose(found.theta[same], expected.theta[same], atol=1e-5)


@cases("alpha", [1e-3, 0.5, 1.0, 5.0, "vector"])
@cases("name", NAMES)
def test_extreme_documents_give_finite_results(name, alpha):
    rng = np.random.default_rng(2)
    for n_topics in (1, 3, 40):
        topics = rng.dirichlet(np.full(30, 0.2), n_topics)
        topics[topics < 1e-3] = 0.0  # some words are left with no topic at all
        topics /= topics.sum(axis=1, keepdims=True)
        X = np.zeros((7, 30))
        X[1, 4] = 1  # one word
        X[2, 5] = 1e6 if name != "cgs" else 1e4  # many tokens of one word
        X[3] = 1e6 / 30 if name != "cgs" else 1e3 / 30  # and spread
        X[4] = 0.01
        X[5, ::3] = 2.75
        X[6, :2] = 1e-6, 1e6 if name != "cgs" else 10
        prior = np.linspace(0.01, 3, n_topics) if alpha == "vector" else alpha
        result = infer(X, topics, method=name, doc_topic_prior=prior, random_state=0)
        assert np.isfinite(result.theta).all()
        assert (result.theta >= 0).all()
        np.testing.assert_allclose(result.theta.sum(axis=1), 1, atol=1e-5)
        assert np.isfinite(result.log_likelihood).all()
        assert np.isfinite(result.likelihood_gap).all()
        share = np.broadcast_to(prior, n_topics) / np.broadcast_to(prior, n_topics).sum()
        np.testing.assert_allclose(result.theta[0], share, rtol=1e-5)
        assert result.n_iter[0] == 0


def test_million_token_documents_with_cgs():
    topics = [[0.7, 0.3], [0.2, 0.8]]
    X = [[10**6, 0], [5 * 10**5, 5 * 10**5]]
    result = infer(X, topics, method=CGS(burn_in=2, n_samples=1), random_state=0)
    np.testing.assert_allclose(result.theta.sum(axis=1), 1, atol=1e-5)


@cases("name", NAMES)
def test_no_documents(name):
    assert infer(np.zeros((0, 2)), [[0.5, 0.5]], method=name).theta.shape == (0, 1)
    assert infer(np.zeros((3, 2)), [[0.5, 0.5]], method=name).theta.tolist() == [[1.0]] * 3


@cases("name", NAMES)
def test_documents_of_one_topic_each_are_recognised(name):
    topics = np.kron(np.eye(4), np.full((1, 5), 0.2))
    X = np.kron(np.eye(4), np.full((1, 5), 10.0))
    theta = infer(X, topics, method=METHODS[name](), random_state=0).theta
    assert (theta.diagonal() > 0.97).all()
