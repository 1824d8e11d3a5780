"""HAMCMC: its slope, its quasi-Newton algebra, its history, and its mean."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from opelda.inference import infer, sampling
from opelda.inference._method import Document
from opelda.inference.sampling import (
    HAMCMC,
    Position,
    curvature_pairs,
    inverse_hessian_root,
    inverse_hessian_times,
    look,
)
from tests.cases import cases

from .numpy_methods_helpers import Contract, concave_optimum, corpus, posterior_mean

OVERLAPPING = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
DOCUMENTS = {
    "two topics": Document(
        np.array([9.0, 5.0]), np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([1.0, 2.0])
    ),
    "three topics": Document(np.array([4.0, 2.0, 3.0]), OVERLAPPING, np.array([1.5, 1.0, 2.0])),
    "fractions": Document(np.array([30.0, 5.0, 12.5]), OVERLAPPING, np.array([0.5, 0.7, 0.6])),
}


class TestContract(Contract):
    method = HAMCMC(n_iter=60, burn_in=20)
    random = True
    wrong = (
        {"n_iter": 0},
        {"burn_in": -1},
        {"burn_in": 50, "n_iter": 50},
        {"memory": 1},
        {"step": 0.0},
        {"step": 2.0},
    )


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", DOCUMENTS)
def test_sample_mean_is_the_posterior_mean(name, seed):
    """Over 60 keys the error of one run has a root mean square of at most 0.06 (L1)."""
    document = DOCUMENTS[name]
    method = HAMCMC(n_iter=1500, burn_in=300)
    keys = range(8 * seed, 8 * seed + 8)
    runs = [method.reference(replace(document, key=key), seed=0)[0] for key in keys]
    assert np.abs(np.mean(runs, axis=0) - posterior_mean(document)).sum() < 0.1


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("n_tokens", [10, 100_000])
def test_sample_variance_is_the_posterior_variance(n_tokens, seed):
    """With disjoint topics the posterior is Dirichlet(counts + alpha) and its variance is known.

    Over 40 keys the ratio of all variances' sums has a standard deviation below 0.08.
    """
    counts, alpha = n_tokens * np.array([0.5, 0.3, 0.2]), np.array([2.0, 1.0, 3.0])
    method = HAMCMC(n_iter=3000)
    found = []
    for key in range(3 * seed, 3 * seed + 3):
        samples = list(method._samples(Document(counts, np.eye(3), alpha, key)))[300:]
        weights, eta = np.array([s[0] for s in samples]), np.array([s[1] for s in samples])
        theta = np.exp(eta) / np.exp(eta).sum(axis=1, keepdims=True)
        mean = np.average(theta, axis=0, weights=weights)
        found.append(np.average((theta - mean) ** 2, axis=0, weights=weights).sum())
    exact = (counts + alpha) / (counts + alpha).sum()
    exact_variance = (exact * (1 - exact)).sum() / (counts.sum() + alpha.sum() + 1)
    assert np.mean(found) == pytest.approx(exact_variance, rel=0.3)


@cases("name", DOCUMENTS)
def test_slope_is_the_gradient_in_softmax_coordinates(name):
    document = DOCUMENTS[name]

    def potential(eta):
        theta = np.exp(eta) / np.exp(eta).sum()
        # log density of theta, plus the logarithm of d theta / d eta on sum(eta) = 0
        log_density = document.counts @ np.log(theta @ document.beta)
        log_density += (document.alpha - 1) @ np.log(theta) + np.log(theta).sum()
        return -log_density

    eta = np.linspace(-1, 1, len(document.alpha))
    point, shares = look(document, eta)
    np.testing.assert_allclose(point.slope, approx_fprime(eta, potential, 1e-7), atol=1e-4)
    assert point.slope.sum() == pytest.approx(0, abs=1e-9)
    assert shares.sum() == pytest.approx(document.counts.sum() + document.alpha.sum())


@pytest.mark.parametrize("seed", range(1))
def test_curvature_is_at_most_half_the_tokens(seed):
    """The bound that sets the step: eigenvalues of the Hessian <= (N + sum alpha) / 2."""
    rng = np.random.default_rng(seed)
    document = DOCUMENTS["fractions"]
    total = document.counts.sum() + document.alpha.sum()
    largest = 0.0
    for _ in range(50):
        eta = rng.normal(scale=3, size=3)
        hessian = approx_fprime(eta, lambda e: look(document, e)[0].slope, 1e-6)
        largest = max(largest, np.linalg.eigvalsh((hessian + hessian.T) / 2)[-1])
    assert 0.02 * total < largest <= total / 2 + 1e-3


@pytest.fixture
def pairs():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    hessian = root @ root.T + np.eye(5)
    return [(s, hessian @ s) for s in rng.normal(size=(3, 5))]


def test_l_bfgs_equals_explicit_bfgs(pairs):
    H = 0.3 * np.eye(5)
    for s, y in pairs:
        left = np.eye(5) - np.outer(s, y) / (y @ s)
        H = left @ H @ left.T + np.outer(s, s) / (y @ s)
    found = np.column_stack([inverse_hessian_times(pairs, 0.3, e) for e in np.eye(5)])
    np.testing.assert_allclose(found, H)
    s, y = pairs[-1]
    np.testing.assert_allclose(inverse_hessian_times(pairs, 0.3, y), s)


def test_the_noise_has_covariance_h(pairs):
    inputs = np.eye(5 + len(pairs))
    R = np.column_stack([inverse_hessian_root(pairs, 0.3, e[:5], e[5:]) for e in inputs])
    H = np.column_stack([inverse_hessian_times(pairs, 0.3, e) for e in np.eye(5)])
    np.testing.assert_allclose(R @ R.T, H)


def test_pairs_of_negative_curvature_are_left_out():
    still, slope = np.zeros(2), np.zeros(2)
    along = np.array([1.0, 0.0])
    assert len(curvature_pairs([Position(still, slope), Position(along, 5 * along)], 10.0)) == 1
    concave = Position(along, -5 * along)
    steep = Position(along, np.array([1.0, 9.0]))
    same = Position(still, slope)
    for other in (concave, steep, same):
        assert curvature_pairs([Position(still, slope), other], 10.0) == []


def test_history_excludes_the_moved_sample(monkeypatch):
    seen, moved = [], []

    def pairs_of(points, steepest):
        seen.append([id(p.slope) for p in points])
        return curvature_pairs(points, steepest)

    def times(pairs, scale, v):
        moved.append(id(v))
        return inverse_hessian_times(pairs, scale, v)

    monkeypatch.setattr(sampling, "curvature_pairs", pairs_of)
    monkeypatch.setattr(sampling, "inverse_hessian_times", times)
    HAMCMC(n_iter=30, burn_in=0, memory=4).reference(DOCUMENTS["fractions"], seed=0)
    for t in range(3, 30):
        assert len(seen[t]) == 2 * 4 - 2
        assert moved[t] not in seen[t]
        assert moved[t] in seen[t - 1]  # it is one of the last samples all the same


@pytest.mark.parametrize("seed", range(1))
def test_long_documents_reach_the_optimum(seed):
    X, topics, _ = corpus(seed, n_docs=2, n_topics=5, n_words=60, n_tokens=200_000, alpha=2.0)
    result = infer(X, topics, doc_topic_prior=1.0, method=HAMCMC(), random_state=seed)
    for x, value in zip(X, result.log_likelihood, strict=True):
        assert concave_optimum(x.astype(float), topics, 1.0) - value < 2.5
