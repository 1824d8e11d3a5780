"""CCCP: it increases f, reaches the optimum, and solves its inner problem exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.inference import infer
from opelda.inference._method import Document
from opelda.inference.cccp import CCCP, best_mixture

from .numpy_methods_helpers import Contract, concave_optimum, corpus, documents, objective


class TestContract(Contract):
    method = CCCP()
    random = False
    wrong = ({"n_iter": 0}, {"n_inner": 1.5}, {"tol": -1}, {"epsilon": 0.0}, {"epsilon": 0.1})


@given(documents(), st.integers(1, 4))
@settings(max_examples=150, deadline=None)
def test_objective_never_decreases(document, n_inner):
    stages = list(CCCP(n_iter=25, n_inner=n_inner, tol=0.0)._climb(document))
    f = np.array([objective(t, document.counts, document.beta, document.alpha) for _, t in stages])
    np.testing.assert_allclose(f, [value for value, _ in stages], rtol=1e-9, atol=1e-9)
    assert (np.diff(f) >= -1e-10 * (1 + np.abs(f[1:]))).all()


@pytest.mark.parametrize("alpha", [1.0, 1.3, 4.0])
def test_result_reaches_the_concave_optimum(alpha):
    X, topics, _ = corpus(3, n_docs=3, n_topics=4, n_words=30, n_tokens=80)
    result = infer(X, topics, doc_topic_prior=alpha, method=CCCP(n_iter=2000, tol=0.0))
    best = np.array([concave_optimum(x, topics, alpha) for x in X])
    np.testing.assert_allclose(result.objective, best, atol=2e-4)
    assert (best - result.objective <= result.gap + 1e-5).all()


def test_disjoint_topics_give_a_dirichlet_mode():
    topics = np.repeat(np.eye(3), 2, axis=1) / 2
    alpha = np.array([1.5, 3.0, 1.0])
    theta = infer([[4, 1, 0, 0, 3, 2]], topics, doc_topic_prior=alpha, method=CCCP(tol=0.0)).theta
    wanted = np.array([5, 0, 5]) + alpha - 1
    np.testing.assert_allclose(theta[0], wanted / wanted.sum(), atol=1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_gap_below_alpha_one_counts_vanished_topics(seed):
    X, topics, _ = corpus(seed, n_docs=5, n_topics=6, n_words=40, n_tokens=200)
    result = infer(X, topics, doc_topic_prior=0.2, method=CCCP(n_iter=3000, tol=0.0))
    sunken = (result.theta < 1e-8).sum(axis=1)
    assert (sunken > 0).any()
    np.testing.assert_allclose(result.gap, 0.8 * sunken, atol=1e-2)


def test_tol_stops_early():
    X, topics, _ = corpus(5, n_docs=3, n_topics=4, n_words=30, n_tokens=80)
    loose, tight = (infer(X, topics, method=CCCP(tol=tol)).n_iter for tol in (1e-2, 1e-9))
    assert (loose <= tight).all()
    assert loose.sum() < tight.sum()
    assert infer(X, topics, method=CCCP(n_iter=3, tol=0.0)).n_iter.tolist() == [3, 3, 3]


def test_expected_counts_sum_to_the_tokens():
    X, topics, theta = corpus(6, n_docs=1, n_topics=4, n_words=30, n_tokens=80)
    counts = Document(X[0].astype(float), topics, np.ones(4)).expected_counts(theta[0])
    np.testing.assert_allclose(counts.sum(), 80)


def test_best_mixture_with_one_vanishing_count():
    theta = best_mixture(np.array([1e-200, 7.0, 7.0]), np.array([0.0, 8.0, 10.0]))
    mu = np.sqrt(50) - 2  # 7 / (8 + mu) + 7 / (10 + mu) = 1
    np.testing.assert_allclose(theta, [0, 7 / (8 + mu), 7 / (10 + mu)], atol=1e-12)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-10, 1e-3]),
    st.sampled_from([1e-3, 1.0, 1e9]),
)
@settings(max_examples=200, deadline=None)
def test_surrogate_satisfies_the_kkt_conditions(seed, floor, spread):
    """The conditions of Kuhn and Tucker: slopes are equal, and no larger at the floor."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    a = rng.gamma(0.3, size=n) * (rng.random(n) < 0.8)
    a[0] += 1e-3
    b = spread * rng.gamma(0.3, size=n) * (rng.random(n) < 0.8)
    theta = best_mixture(a, b, floor)
    assert abs(theta.sum() - 1) < 1e-12
    assert (theta >= floor * (1 - 1e-12)).all()
    inner = theta > floor * (1 + 1e-9)
    slopes = a / np.maximum(theta, 1e-300) - b
    scale = np.abs(a / np.maximum(theta, 1e-300)).max() + b.max()
    mu = slopes[inner].max()
    assert (slopes[inner] >= mu - 1e-9 * scale).all()
    assert (slopes[~inner] <= mu + 1e-9 * scale).all()
