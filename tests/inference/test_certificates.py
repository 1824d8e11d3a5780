"""Certificates against their definition and against independently found optima."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from opelda.inference import METHODS, OPE, infer
from tests.cases import cases

# these corpora are not what TLI is made for, and it says so
pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")


def corpus(seed, n_docs=5, n_words=25, n_topics=5, n_tokens=40):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.4), n_topics)
    words = rng.dirichlet(np.full(n_topics, 0.4), n_docs) @ topics
    return rng.multinomial(n_tokens, words / words.sum(axis=1, keepdims=True)), topics


def objective(theta, d, topics, alpha):
    return d @ np.log(theta @ topics) + np.sum((alpha - 1) * np.log(theta))


def recomputed(theta, d, topics, alpha):
    """Both gaps by their definition, max_v <slope, v> - <slope, theta>."""
    theta = theta.astype(np.float64)
    likelihood = topics @ (d / (theta @ topics))
    slope = likelihood + (alpha - 1) / theta
    return np.max(slope) - slope @ theta, np.max(likelihood) - likelihood @ theta


def best_by_scipy(d, topics, alpha):
    """The concave problem's optimum (alpha >= 1), in softmax coordinates."""

    def loss(eta):
        theta = np.exp(eta - eta.max())
        theta = np.maximum(theta / theta.sum(), 1e-300)
        slope = topics @ (d / (theta @ topics)) + (alpha - 1) / theta
        return -objective(theta, d, topics, alpha), -theta * (slope - slope @ theta)

    return -minimize(loss, np.zeros(len(topics)), jac=True, method="L-BFGS-B", tol=1e-14).fun


def best_likelihood_by_em(d, topics, n_iter=20_000):
    theta = np.full(len(topics), 1 / len(topics))
    for _ in range(n_iter):
        theta = theta * (topics @ (d / (theta @ topics))) / d.sum()
    return d @ np.log(theta @ topics)


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("alpha", [0.2, 1.0, 1.5])
def test_gaps_equal_an_independent_recomputation(method, alpha):
    X, topics = corpus(1)
    topics32 = topics.astype(np.float32).astype(np.float64)
    result = infer(X, topics, method=method, doc_topic_prior=alpha, random_state=0)
    alpha32 = float(np.float32(alpha))
    for i, d in enumerate(X):
        seen = d > 0
        beta = topics32[:, seen]
        theta = result.theta[i].astype(np.float64)
        if (theta <= 0).any():  # at the edge the slope of the prior is infinite: floored inside
            theta = np.maximum(theta, 1e-30)
        gap, likelihood_gap = recomputed(theta, d[seen], beta, alpha32)
        f_likelihood = d[seen] @ np.log(theta @ beta)
        f_prior = (alpha32 - 1) * np.log(theta).sum()
        scale = d.sum() + len(topics)
        assert (
            abs(result.likelihood_gap[i] - likelihood_gap) <= 1e-4 * likelihood_gap + 1e-5 * scale
        )
        if theta.min() > 1e-12:
            assert abs(result.gap[i] - gap) <= 1e-4 * gap + 1e-5 * scale
            assert abs(result.log_prior[i] - f_prior) <= 1e-5 * (1 + abs(f_prior))
        assert abs(result.log_likelihood[i] - f_likelihood) <= 1e-5 * abs(f_likelihood)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1.0, 1.2, 3.0]),
    st.sampled_from(["ope", "em", "vb", "cvb0", "fw", "cccp"]),
    st.integers(1, 200),
)
def test_gap_bounds_the_loss_for_concave_priors(seed, alpha, method, n_tokens):
    X, topics = corpus(seed, n_docs=3, n_tokens=n_tokens)
    result = infer(X, topics, method=method, doc_topic_prior=alpha, random_state=seed)
    for i, d in enumerate(X):
        seen = d > 0
        best = best_by_scipy(d[seen], topics[:, seen], alpha)
        slack = 1e-4 * (d.sum() + len(topics))
        assert best - result.objective[i] <= result.gap[i] + slack


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ope", "em", "vb", "cvb", "cgs", "fw"]))
def test_likelihood_gap_bounds_the_likelihood_loss(seed, method):
    X, topics = corpus(seed, n_docs=2)
    result = infer(X, topics, method=method, doc_topic_prior=0.3, random_state=seed)
    for i, d in enumerate(X):
        seen = d > 0
        best = best_likelihood_by_em(d[seen], topics[:, seen], n_iter=3_000)
        loss = best - result.log_likelihood[i]
        assert loss <= result.likelihood_loss[i] + 1e-4 * d.sum()
        assert result.likelihood_loss[i] <= result.likelihood_gap[i] + 1e-9


@pytest.mark.parametrize("seed", range(1))
def test_gap_of_a_stationary_point_is_zero(seed):
    X, topics = corpus(seed)
    result = infer(X, topics, method="cccp", doc_topic_prior=1.5)
    assert (result.gap <= 1e-3 * X.sum(axis=1)).all()


@pytest.mark.parametrize("seed", range(1))
def test_gap_shrinks_with_more_iterations(seed):
    X, topics = corpus(seed, n_docs=50)
    gaps = [
        infer(X, topics, method=OPE(n_iter=t), doc_topic_prior=1.3, random_state=seed).gap.mean()
        for t in (10, 100, 1000)
    ]
    assert gaps[0] > gaps[1] > gaps[2]


@cases("method", ["ope", "em", "vb"])
def test_log_likelihood_equals_double_precision(method):
    """One topic and a word a document: the objective is the logarithm of the word's probability."""
    likely = np.exp(np.random.default_rng(0).uniform(-25, 0, 4000))
    topic = (likely / likely.sum()).astype(np.float32)
    found = infer(sparse.eye_array(4000, format="csr"), topic[None], method=method)
    np.testing.assert_allclose(found.objective, np.log(topic.astype(np.float64)), rtol=1e-12)
