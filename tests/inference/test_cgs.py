"""CGS against its reference and against the exact posterior of tiny documents."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from opelda.errors import InputError
from opelda.inference import CGS, infer


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_kernel_equals_reference(draw_problem, data, seed):
    """The same tokens in the same topics: sums in doubles, so only an exact tie could differ."""
    X, topics, alpha = draw_problem(data, counts=(0, 1, 2, 3, 7, 0.5, 2.5, 0.3))
    method = CGS(burn_in=data.draw(st.integers(0, 3)), n_samples=data.draw(st.integers(1, 3)))
    options = {"method": method, "doc_topic_prior": alpha, "random_state": seed}
    fast = infer(X, topics, **options)
    slow = infer(X, topics, **options, engine="reference")
    np.testing.assert_allclose(fast.theta, slow.theta, atol=1e-6)
    assert np.array_equal(fast.n_iter, slow.n_iter)


def exact_mean(d, topics, alpha):
    """E[(N + alpha) / (|d| + sum alpha)] over all assignments of whole tokens."""
    n_topics = len(topics)
    words = np.repeat(np.arange(len(d)), d)
    states = np.array(list(product(range(n_topics), repeat=len(words))))
    sizes = np.array([np.bincount(z, minlength=n_topics) for z in states])
    log_p = (gammaln(alpha + sizes) - gammaln(alpha)).sum(axis=1)
    with np.errstate(divide="ignore"):
        log_p += np.log(topics[states, words]).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    return (p / p.sum()) @ (sizes + alpha) / (len(words) + alpha.sum())


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize(
    ("d", "alpha"),
    [([2, 1, 1], [0.5, 0.5, 0.5]), ([0, 3, 1], [0.2, 1.0, 3.0]), ([1, 1, 2], [1.0, 1.0, 1.0])],
)
def test_mean_of_long_chains_is_the_posterior_mean(d, alpha, seed):
    topics = np.array([[0.6, 0.3, 0.1], [0.0, 0.5, 0.5], [0.3, 0.2, 0.5]])
    options = {"method": CGS(burn_in=50, n_samples=500), "doc_topic_prior": alpha}
    chains = (infer([d], topics, random_state=64 * seed + i, **options) for i in range(64))
    runs = np.array([chain.theta[0] for chain in chains], np.float64)
    error = runs.mean(axis=0) - exact_mean(d, topics, np.array(alpha))
    # independent chains: Student's t with 63 degrees of freedom exceeds 7 once in 4e8
    standard = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(error) < 7 * standard + 1e-6).all()
    assert standard.max() < 0.01


def test_fractional_counts_become_tokens_of_less_weight():
    topics = [[1.0, 0.0], [0.0, 1.0]]
    theta = infer([[2.5, 0.25]], topics, method=CGS(), doc_topic_prior=1.0).theta[0]
    np.testing.assert_allclose(theta, [3.5 / 4.75, 1.25 / 4.75], rtol=1e-6)


def test_seeds_differ_and_repeat():
    topics, X = [[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], [[5, 5, 5]]
    first, again, other = (
        infer(X, topics, method="cgs", random_state=seed).theta for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_too_long_document_is_rejected():
    X = np.array([[1, 1], [6e7, 6e7]])
    with pytest.raises(InputError, match="Document 1 has more than 100,000,000 tokens"):
        infer(X, [[0.5, 0.5]], method="cgs")


@pytest.mark.parametrize("bad", [{"burn_in": -1}, {"n_samples": 0}])
def test_bad_parameters_are_rejected(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        infer([[1, 0]], [[0.5, 0.5]], method=CGS(**bad))
