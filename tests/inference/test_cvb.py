"""CVB against its reference and against a token-by-token computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.inference import CVB, infer


@given(data=st.data(), n_iter=st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_kernel_equals_reference(draw_problem, assert_same, data, n_iter):
    X, topics, alpha = draw_problem(data)
    assert_same(X, topics, method=CVB(n_iter=n_iter, tol=0), doc_topic_prior=alpha)


@pytest.mark.parametrize("seed", range(3))
def test_kernel_stops_at_the_references_iteration(make_problem, seed):
    X, topics, _ = make_problem(seed, n_docs=30, n_words=30)
    fast = infer(X, topics, method="cvb")
    slow = infer(X, topics, method="cvb", engine="reference")
    same = fast.n_iter == slow.n_iter  # the change may lie within rounding of tol
    assert same.mean() > 0.9
    assert fast.n_iter.min() < 50
    np.testing.assert_allclose(fast.theta[same], slow.theta[same], atol=1e-5)


def token_by_token(d, topics, alpha, n_iter):
    """One q per token; the tokens of a word move together."""
    words = np.repeat(np.arange(len(d)), d)
    q = topics.T[words] * alpha
    q /= q.sum(axis=1, keepdims=True)
    for _ in range(n_iter):
        for j in np.unique(words):
            own = np.flatnonzero(words == j)
            others = np.delete(np.arange(len(words)), own[0])
            mean = q[others].sum(axis=0)
            variance = (q[others] * (1 - q[others])).sum(axis=0)
            log_q = np.log(alpha + mean) - variance / (2 * (alpha + mean) ** 2)
            new = topics[:, j] * np.exp(log_q - log_q.max())
            q[own] = new / new.sum()
    return (alpha + q.sum(axis=0)) / (alpha.sum() + len(words))


@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("n_iter", [1, 2, 30])
def test_cvb_equals_its_token_by_token_form(make_problem, alpha, n_iter):
    X, topics, _ = make_problem(4, n_docs=6, n_words=25)
    method = CVB(n_iter=n_iter, tol=0)
    ours = infer(X, topics, method=method, doc_topic_prior=alpha).theta
    for d, theta in zip(X.astype(int), ours, strict=True):
        exact = token_by_token(d, topics, np.full(len(topics), alpha), n_iter)
        np.testing.assert_allclose(theta, exact, atol=1e-5)


@pytest.mark.parametrize("bad", [{"n_iter": 0}, {"tol": -0.1}])
def test_bad_parameters_are_rejected(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        infer([[1, 0]], [[0.5, 0.5]], method=CVB(**bad))
