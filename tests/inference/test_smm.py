"""SMM: the averaged surrogate, and convergence to stationary points."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import brentq

from opelda.engines.seam import uniforms
from opelda.inference import infer
from opelda.inference.cccp import SMM

from .numpy_methods_helpers import Contract, concave_optimum, corpus, documents


class TestContract(Contract):
    method = SMM(n_iter=40)
    random = True
    wrong = ({"n_iter": 0}, {"n_iter": True}, {"epsilon": 0.0}, {"epsilon": 1e-3})


def slow_smm(document, n_iter):
    """The same recursion, topic by topic, with mu from a root finder."""
    topics, words = range(len(document.alpha)), range(len(document.counts))
    d, beta, alpha = document.counts, document.beta, document.alpha
    theta = [1 / len(alpha) for _ in topics]

    def counts_of(k):
        return theta[k] * sum(
            d[j] * beta[k, j] / sum(theta[i] * beta[i, j] for i in topics) for j in words
        )

    A = [counts_of(k) + max(alpha[k] - 1, 0) for k in topics]
    B = [max(1 - alpha[k], 0) / theta[k] for k in topics]
    for n in range(1, n_iter + 1):
        w, likelihood = 1 / (n + 1), uniforms(document.key, n - 1, 1)[0] < 0.5
        gains = [counts_of(k) if likelihood else max(alpha[k] - 1, 0) for k in topics]
        costs = [0 if likelihood else max(1 - alpha[k], 0) / theta[k] for k in topics]
        A = [(1 - w) * A[k] + 2 * w * gains[k] for k in topics]
        B = [(1 - w) * B[k] + 2 * w * costs[k] for k in topics]

        def excess(log_shift, A=A, B=B):
            shift = np.exp(log_shift)  # mu + min(B)
            return sum(max(A[k] / (B[k] - min(B) + shift), 1e-10) for k in topics) - 1

        shift = np.exp(brentq(excess, -60, 60, xtol=1e-14))
        theta = [max(A[k] / (B[k] - min(B) + shift), 1e-10) for k in topics]
    return theta


@given(documents(least_alpha=0.3))
@settings(max_examples=40, deadline=None)
def test_result_equals_the_explicit_recursion(document):
    if (document.beta.sum(axis=1) == 0).any():
        return  # if a topic without words is the cheapest, mu does not exist
    theta, n_iter = SMM(n_iter=6).reference(document, seed=0)
    assert n_iter == 6
    np.testing.assert_allclose(theta, slow_smm(document, 6), atol=1e-7)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(("alpha", "factor"), [(1.0, 2), (2.0, 8)])
def test_result_approaches_the_concave_optimum(alpha, factor, seed):
    """At EM's pace in log n: like 1 / log n where shares fall to 0, which alpha > 1 prevents."""
    X, topics, _ = corpus(seed, n_docs=4, n_topics=3, n_words=30, n_tokens=80)
    best = np.array([concave_optimum(x, topics, alpha) for x in X])

    def short_of_best(n_iter):
        options = {"doc_topic_prior": alpha, "method": SMM(n_iter=n_iter), "random_state": seed}
        return best - infer(X, topics, **options).objective

    few, many = short_of_best(20), short_of_best(3000)
    assert many.mean() < few.mean() / factor


@pytest.mark.parametrize("seed", range(1))
def test_result_below_alpha_one_is_nearly_stationary(seed):
    X, topics, _ = corpus(seed, n_docs=12, n_topics=4, n_words=40, n_tokens=300)
    few, many = (
        infer(X, topics, doc_topic_prior=0.5, method=SMM(n_iter=n_iter), random_state=seed).gap
        for n_iter in (20, 4000)
    )
    assert many.mean() < few.mean() / 2
