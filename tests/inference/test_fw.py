"""FW against its reference, its rate and the maximum likelihood."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.inference import FW, Topics, infer

STEPS = ("than-ho", "textbook")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("step", STEPS)
def test_kernel_equals_reference(make_problem, seed, step):
    X, topics, _ = make_problem(seed, n_docs=20, n_topics=30)
    topics = topics.astype(np.float32)  # the kernel reads single precision
    method = FW(n_iter=100, step=step)
    fast = infer(X, topics, method=method)
    slow = infer(X, topics, method=method, engine="reference")
    np.testing.assert_allclose(fast.theta, slow.theta, atol=1e-6)
    assert np.array_equal(fast.n_iter, slow.n_iter)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_every_step_is_steepest(draw_problem, data):
    """Follow the kernel's walk; any of several tied topics is correct."""
    X, topics, _ = draw_problem(data)
    table = Topics(topics.astype(np.float32))
    beta = table.components.astype(np.float64)
    beta[beta < 1e-15] = 0.0
    walks = np.array([infer(X, table, method=FW(n_iter=t)).theta for t in range(1, 10)])
    for d, walk in zip(X, walks.swapaxes(0, 1), strict=True):
        seen = (d > 0) & (beta.sum(axis=0) > 0)
        if not seen.any():
            continue
        counts, words = d[seen].astype(np.float64), beta[:, seen]
        first = np.flatnonzero(walk[0] > 0.3)  # 1/3 for the start and 2/3 for the first step, or 1
        start = min(first, key=lambda k: walk[0, k])
        value = np.log(np.maximum(words, 1e-30)) @ counts
        assert value[start] >= value.max() - 1e-12 * abs(value.max())
        theta = np.eye(len(beta))[start]
        for t, after in enumerate(walk):
            step = 2 / (t + 3)
            vertex = np.argmax(after - (1 - step) * theta)
            slope = words @ (counts / np.maximum(theta @ words, 1e-30))
            assert slope[vertex] >= slope.max() * (1 - 1e-12)
            theta = (1 - step) * theta + step * np.eye(len(beta))[vertex]
            np.testing.assert_allclose(after, theta, atol=1e-6)


@given(data=st.data(), n_iter=st.integers(1, 10))
@settings(max_examples=40, deadline=None)
def test_n_iterations_use_at_most_n_plus_one_topics(draw_problem, data, n_iter):
    X, topics, _ = draw_problem(data, max_topics=40)
    result = infer(X[X.sum(axis=1) > 0], topics, method=FW(n_iter=n_iter))
    assert ((result.theta > 0).sum(axis=1) <= n_iter + 1).all()


@pytest.mark.parametrize("seed", range(3))
def test_loss_decreases_at_the_proven_rate(make_problem, best_mixture, seed):
    """f* - f <= 2 C / (T + 2) for textbook steps, C <= sum_j d_j (max_k beta / min_k beta - 1)^2"""
    X, topics, _ = make_problem(seed, n_docs=6, n_words=20, concentration=3.0)
    topics = (topics + 0.05) / (topics + 0.05).sum(axis=1, keepdims=True)
    low, high = topics.min(axis=0), topics.max(axis=0)
    best = np.array([d @ np.log(best_mixture(d, topics, 0.0) @ topics) for d in X])
    curvature = X @ (high / low - 1) ** 2
    for n_iter in (1, 4, 16, 64, 256):
        result = infer(X, topics, method=FW(n_iter=n_iter, step="textbook"))
        loss = best - result.log_likelihood
        assert (loss >= -1e-6 * abs(best)).all(), f"n_iter={n_iter}"
        assert (loss <= 2 * curvature / (n_iter + 2)).all(), f"n_iter={n_iter}"


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("step", STEPS)
def test_certificate_bounds_the_loss(make_problem, best_mixture, step, seed):
    X, topics, _ = make_problem(seed, n_docs=10)
    best = [d @ np.log(best_mixture(d, topics, 0.0) @ topics) for d in X]
    gaps = []
    for n_iter in (10, 100, 1000):
        result = infer(X, topics, method=FW(n_iter=n_iter, step=step))
        assert (best - result.log_likelihood <= result.likelihood_gap + 1e-6).all()
        gaps.append(result.likelihood_gap.mean())
    assert gaps[0] > 3 * gaps[1] > 9 * gaps[2]


def test_fw_starts_at_the_most_likely_topic_and_ties_go_to_the_first():
    topics = np.array([[0.1, 0.9], [0.6, 0.4], [0.6, 0.4]])
    result = infer([[5, 1]], topics, method=FW(n_iter=1))
    # the start is topic 1; the first step goes 2/3 towards topic 1 again, never to its twin
    assert result.theta[0].tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize("bad", [{"n_iter": 0}, {"step": "line"}])
def test_bad_parameters_are_rejected(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        infer([[1, 0]], [[0.5, 0.5]], method=FW(**bad))
