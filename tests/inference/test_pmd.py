"""PMD: densities and posterior mean."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import digamma
from scipy.stats import dirichlet

from opelda.inference import infer
from opelda.inference._method import Document
from opelda.inference.sampling import (
    DEFENCE,
    PMD,
    Proposal,
    concentration,
    log_dirichlet,
    log_normalizer,
)

from .numpy_methods_helpers import Contract, concave_optimum, corpus, posterior_mean

OVERLAPPING = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.2, 0.3, 0.5]])
DOCUMENTS = {
    "two topics": Document(
        np.array([4.0, 2.0]), np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0.5, 0.5])
    ),
    "one token": Document(np.ones(1), np.array([[0.8], [0.1]]), np.array([0.3, 2.0])),
    "three topics": Document(np.array([4.0, 2.0, 3.0]), OVERLAPPING, np.array([1.5, 1.0, 2.0])),
    "fractions": Document(np.array([30.0, 5.0, 12.5]), OVERLAPPING, np.array([0.5, 0.7, 0.6])),
}


class TestContract(Contract):
    method = PMD(n_particles=20, n_iter=4)
    random = True
    wrong = ({"n_particles": 1}, {"n_particles": 10.0}, {"n_iter": 0})


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", DOCUMENTS)
def test_sample_mean_is_the_posterior_mean(name, seed):
    """Over 60 keys the error of one run has a root mean square of 0.006 to 0.012 (L1)."""
    document = DOCUMENTS[name]
    method = PMD(n_particles=200, n_iter=10)
    keys = range(8 * seed, 8 * seed + 8)
    runs = [method.reference(replace(document, key=key), seed=0)[0] for key in keys]
    assert np.abs(np.mean(runs, axis=0) - posterior_mean(document)).sum() < 0.03


def test_every_iteration_draws_particles(monkeypatch):
    drawn, draw = [], Proposal.draw
    monkeypatch.setattr(Proposal, "draw", lambda q, rng, n: drawn.append(n) or draw(q, rng, n))
    theta, n_iter = PMD(n_particles=7, n_iter=3).reference(DOCUMENTS["fractions"], seed=0)
    assert drawn == [7] * n_iter == [7] * 3
    assert theta.sum() == pytest.approx(1)


@pytest.mark.parametrize("seed", range(1))
def test_more_particles_are_more_accurate(seed):
    document = DOCUMENTS["fractions"]
    exact = posterior_mean(document)

    def error(n_particles):
        method, keys = PMD(n_particles=n_particles, n_iter=3), range(30 * seed, 30 * seed + 30)
        runs = (method.reference(replace(document, key=key), seed=0)[0] for key in keys)
        return np.mean([np.abs(theta - exact).sum() for theta in runs])

    assert error(800) < error(20) / 2


@pytest.fixture
def proposal():
    centres = np.array([[0.8, 0.1, 0.1], [0.2, 0.2, 0.6]])
    return Proposal(np.array([0.4, 1.5, 0.7]), centres, np.log([0.3, 0.7]), 12.0)


def test_proposal_density_equals_the_mixture_density(proposal):
    alpha, centres, log_weights, s = proposal
    theta = np.array([[0.5, 0.2, 0.3], [0.05, 0.05, 0.9]])
    q = DEFENCE * dirichlet(alpha).pdf(theta.T)
    for centre, weight in zip(centres, np.exp(log_weights), strict=True):
        q += (1 - DEFENCE) * weight * dirichlet(alpha + s * centre).pdf(theta.T)
    wanted = np.log(q / dirichlet(alpha).pdf(theta.T))
    np.testing.assert_allclose(proposal.log_ratio(np.log(theta)), wanted)


@pytest.mark.parametrize("seed", range(1))
def test_proposal_draws_follow_its_density(proposal, seed):
    """E_q[prior / q] = 1 and E_q[theta prior / q] = the prior's mean; both are bounded."""
    n = 40_000
    log_theta = proposal.draw(np.random.default_rng(seed), n)
    weight = np.exp(-proposal.log_ratio(log_theta))
    assert weight.max() <= 1 / DEFENCE
    sample = np.column_stack((weight, weight[:, np.newaxis] * np.exp(log_theta)))
    exact = np.concatenate(([1.0], proposal.alpha / proposal.alpha.sum()))
    assert (np.abs(sample.mean(axis=0) - exact) < 5 * sample.std(axis=0) / np.sqrt(n)).all()
    near = np.exp(log_theta).mean(axis=0)
    kernels = proposal.alpha + proposal.s * (np.exp(proposal.log_weights) @ proposal.centres)
    wanted = (1 - DEFENCE) * kernels / kernels.sum()
    wanted += DEFENCE * proposal.alpha / proposal.alpha.sum()
    np.testing.assert_allclose(near, wanted, atol=5 * 0.3 / np.sqrt(n))


@pytest.mark.parametrize("seed", range(1))
def test_kernels_follow_the_cloud(seed):
    document = Document(np.full(4, 250.0), np.full((3, 4), 0.25), np.full(3, 0.5))
    weights = np.full(2000, 1 / 2000)
    cloud = np.random.default_rng(seed).dirichlet([20.0, 30.0, 50.0], 2000)
    # variance of the cloud: mean (1 - mean) / 101; of a kernel: mean (1 - mean) / (s + 2.5)
    assert concentration(document, weights, cloud) + 2.5 == pytest.approx(101 / 0.3, rel=0.1)
    assert concentration(document, weights, np.tile(cloud[0], (2000, 1))) == 1000.0
    assert concentration(document, weights, np.eye(3)[np.arange(2000) % 3]) < 1.0


@pytest.mark.parametrize("seed", range(1))
def test_the_draws_are_dirichlet_down_to_tiny_shapes(seed):
    shapes = np.array([0.02, 0.5, 3.0])
    n = 20_000
    logs = log_dirichlet(np.random.default_rng(seed), np.tile(shapes, (n, 1)))
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=1), 1)
    for sample, exact in (
        (np.exp(logs), shapes / shapes.sum()),
        (logs, digamma(shapes) - digamma(shapes.sum())),
    ):
        error = np.abs(sample.mean(axis=0) - exact)
        assert (error < 6 * sample.std(axis=0) / np.sqrt(n)).all()


def test_normaliser_equals_the_integral_of_the_density():
    shapes, theta = np.array([0.3, 2.0, 5.0]), np.array([0.2, 0.5, 0.3])
    log_density = log_normalizer(shapes) + (shapes - 1) @ np.log(theta)
    assert log_density == pytest.approx(dirichlet(shapes).logpdf(theta))


@pytest.mark.parametrize("seed", range(1))
def test_long_documents_reach_the_optimum(seed):
    X, topics, _ = corpus(seed, n_docs=2, n_topics=5, n_words=60, n_tokens=200_000, alpha=2.0)
    result = infer(X, topics, doc_topic_prior=1.0, method=PMD(), random_state=seed)
    for x, value in zip(X, result.log_likelihood, strict=True):
        # the mean lies about K/2 below the maximum, were the posterior sampled rather than averaged
        assert concave_optimum(x.astype(float), topics, 1.0) - value < 2.5
