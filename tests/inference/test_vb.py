"""VB against its reference, scikit-learn, its own bound and the exact evidence."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from sklearn.decomposition._lda import _update_doc_distribution

from opelda.errors import InputError
from opelda.inference import VB, infer
from opelda.inference._method import Document
from opelda.inference.vb import bound
from tests.cases import cases


def as_document(d, topics, alpha):
    alpha = np.broadcast_to(alpha, len(topics)).astype(np.float64)
    keep = d > 0
    return Document(d[keep].astype(np.float64), topics[:, keep], alpha)


@given(data=st.data(), init=st.sampled_from(["fixed", "random"]), n_iter=st.integers(1, 12))
@settings(max_examples=80, deadline=None)
def test_kernel_equals_reference(draw_problem, assert_same, data, init, n_iter):
    X, topics, alpha = draw_problem(data)
    method = VB(n_iter=n_iter, tol=0, init=init)
    assert_same(X, topics, method=method, doc_topic_prior=alpha, random_state=3)


def test_vb_start_with_zero_last_weight(assert_same):
    """The initial last weight of a topic is 0 for any start: here 1/2 + 8/16 in total."""
    topics = np.random.default_rng(0).dirichlet(np.ones(3), 16)
    how = {"method": VB(n_iter=3, tol=0), "doc_topic_prior": 0.5, "random_state": 0}
    assert_same(np.array([[8, 0, 0], [1, 3, 4]]), topics, **how)


@pytest.mark.parametrize("seed", range(4))
def test_kernel_stops_at_the_references_iteration(make_problem, seed):
    X, topics, _ = make_problem(seed, n_docs=60)
    fast = infer(X, topics, method="vb", random_state=0)
    slow = infer(X, topics, method="vb", random_state=0, engine="reference")
    same = fast.n_iter == slow.n_iter  # the bound's change may lie within rounding of tol
    assert same.mean() > 0.9
    assert fast.n_iter.min() < 50
    np.testing.assert_allclose(fast.theta[same], slow.theta[same], atol=1e-5)


@cases("alpha", [0.05, 0.5, 2.0])
@cases("n_iter", [1, 3, 100])
def test_vb_equals_scikit_learn(make_problem, alpha, n_iter):
    # both starts give all topics the same gamma, and only ratios of exp(E log theta) matter
    X, topics, _ = make_problem(1)
    gamma, _ = _update_doc_distribution(
        X.astype(np.float64), topics, alpha, n_iter, 0.0, False, None
    )
    ours = infer(X, topics, method=VB(n_iter=n_iter, tol=0), doc_topic_prior=alpha)
    np.testing.assert_allclose(ours.theta, gamma / gamma.sum(axis=1, keepdims=True), atol=2e-5)


@given(data=st.data(), init=st.sampled_from(["fixed", "random"]))
@settings(max_examples=40, deadline=None)
def test_bound_never_falls(draw_problem, data, init):
    X, topics, alpha = draw_problem(data)
    for d in X:
        document = as_document(d, topics, 1 / len(topics) if alpha is None else alpha)
        if not len(document.counts) or not document.beta.sum(axis=0).all():
            continue
        _, bounds = VB(n_iter=30, tol=0, init=init).ascend(document, seed=5)
        assert np.diff(bounds).min() >= -1e-10 * (1 + np.abs(bounds).max())


@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_kernels_bound_never_falls(make_problem, alpha):
    X, topics, _ = make_problem(2, n_docs=5)
    documents = [as_document(d, topics, alpha) for d in X]
    before = np.full(len(X), -np.inf)
    for n_iter in range(1, 25):
        theta = infer(X, topics, method=VB(n_iter=n_iter, tol=0), doc_topic_prior=alpha).theta
        # gamma's sum is known after any iteration
        gamma = theta * (X.sum(axis=1, keepdims=True) + alpha * len(topics))
        after = np.array([bound(*pair) for pair in zip(documents, gamma, strict=True)])
        assert (after >= before - 1e-5 * np.abs(after)).all()
        before = after


@cases(("alpha", "slack"), [(0.1, 1.6), (0.7, 0.9), (2.0, 0.4)])
def test_bound_is_below_the_evidence(alpha, slack):
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(4), 3)
    d = np.array([2.0, 1.0, 0.0, 1.0])
    words = np.repeat(np.arange(4), d.astype(int))
    terms = []
    for z in product(range(3), repeat=len(words)):
        sizes = np.bincount(z, minlength=3)
        prior = gammaln(3 * alpha) - gammaln(3 * alpha + len(z))
        prior += (gammaln(alpha + sizes) - gammaln(alpha)).sum()
        terms.append(prior + np.log(topics[list(z), words]).sum())
    evidence = np.logaddexp.reduce(terms)
    _, bounds = VB(n_iter=200, tol=0).ascend(as_document(d, topics, alpha), seed=0)
    assert bounds[-1] <= evidence
    assert bounds[-1] > evidence - slack


def test_one_topic_has_zero_loss():
    document = as_document(np.array([2.0, 0.5]), np.array([[0.3, 0.7]]), 0.4)
    exact = 2.0 * np.log(0.3) + 0.5 * np.log(0.7)
    np.testing.assert_allclose(VB(n_iter=2).ascend(document, seed=0)[1], exact, rtol=1e-12)


def test_word_held_only_by_a_vanishing_topic():
    """The second word's topic is too small for single precision beside the first's."""
    topics = np.array([[1.0, 0.0], [0.0, 1.0]])
    X = np.array([[1e6, 1e-2]], np.float32)
    options = {"method": VB(n_iter=20, tol=0), "doc_topic_prior": 0.01}
    fast = infer(X, topics, **options)
    slow = infer(X, topics, **options, engine="reference")
    np.testing.assert_allclose(fast.theta, slow.theta, rtol=1e-5)
    np.testing.assert_allclose(fast.theta[0, 1], (1e-2 + 0.01) / (1e6 + 0.03), rtol=1e-4)


def test_vb_kernel_with_topics_that_fade_late():
    """Most topics seem done with; then the last that has the second word fades like them."""
    topics = np.zeros((32, 4))
    topics[0, :3] = 4.05021343e-04, 1.54122034e-12, 4.61603059e-04
    topics[1, :3] = 9.78682572e-04, 0.0, 7.20577957e-04
    topics[2, :3] = 3.98837402e-08, 5.41883290e-05, 1.62117971e-10
    topics[:, 3] = 1 - topics.sum(axis=1)
    X = np.array([[0.03243061, 0.00115118, 0.36692525, 0.0]], np.float32)
    for n_iter in range(1, 16):
        options = {"method": VB(n_iter=n_iter, tol=0), "doc_topic_prior": 0.012064024716517114}
        fast = infer(X, topics, **options)
        slow = infer(X, topics, **options, engine="reference")
        np.testing.assert_allclose(fast.theta, slow.theta, atol=1e-5)


@cases("bad", [{"n_iter": 0}, {"tol": -1.0}, {"init": "ones"}])
def test_bad_parameters_are_rejected(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        infer([[1, 0]], [[0.5, 0.5]], method=VB(**bad))
