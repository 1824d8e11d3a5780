"""SGRLD: one update against the equation, its noise, and its posterior."""

import numpy as np
import pytest
from scipy import sparse

from opelda.engines import CPUEngine, ReferenceEngine, _weights
from opelda.engines.seam import HostWeights, Step, TokenCounts
from opelda.learning._rules import SGRLD
from tests import equations
from tests.cases import cases

from .made import PRIORS, as_lambda, make_documents, make_prior, make_task, make_weights, same_bytes

K, V, SEED, RHO, D = 5, 25, 7, 0.4, 30.0
RULE = SGRLD(n_draws=3)
every_prior = pytest.mark.parametrize("prior", PRIORS)
every_number = pytest.mark.parametrize("number", [1, 4])


def made(engine, prior, number):
    """Return weights, a random start for the first update, and documents with fractions."""
    rng = np.random.default_rng(number)
    documents = engine.documents(make_documents(rng, 12, V))
    if number > 1:
        return engine.weights(make_weights(rng, V, K, prior)), documents
    start = engine.random_weights(V, K, make_prior(rng, prior, V, K), SEED)
    return engine.weights(start.host()), documents


def noise(number, shape=(V, K)):
    return np.random.default_rng([SEED, 6, number]).standard_normal(shape, np.float32)


def prior_of(weights):
    eta = np.asarray(weights.host().prior, np.float64)
    shape = weights.n_topics, weights.n_words
    return np.broadcast_to(eta.T if eta.ndim == 2 else eta, shape)


@every_prior
@every_number
@cases("at_once", [7, 4096])  # words, of 25
def test_update_equals_the_equation(monkeypatch, tested, engine, prior, number, at_once):
    monkeypatch.setattr(_weights, "WORDS_AT_ONCE", at_once)
    weights, documents = made(engine, prior, number)
    task, chosen = make_task(K, seed=SEED | number << 32), np.array([2, 3, 5, 8, 11])
    some = engine.documents(documents.matrix[chosen])
    drawn = engine.sweep(weights, engine.tokens(some, K), task.alpha, seed=task.seed, n_draws=3)
    counts = np.ldexp(drawn.cells.toarray().T.astype(np.float64), -drawn.shift)
    np.testing.assert_allclose(counts.sum(), some.matrix.sum(), rtol=1e-4)
    lam, eta = as_lambda(weights.host()), prior_of(weights)
    if number == 1:  # the random start differs between topics and weighs as much as the prior
        lam *= np.mean(eta.sum(axis=1) / lam.sum(axis=1))
    after = equations.sgrld(lam, counts, eta, RHO, D / len(chosen), noise(number).T)

    done = RULE.update(engine, weights, documents, task, Step(number, RHO, D, SEED), chosen=chosen)

    found = as_lambda(weights.host())
    np.testing.assert_allclose(found, after, rtol=5e-6, atol=1e-7)
    np.testing.assert_allclose(weights.totals, found.sum(axis=1), rtol=1e-6)
    assert weights.n_updates == 1
    assert done.rho == RHO
    assert np.isnan(done.mean_gap)


@every_number
def test_update_without_tokens_changes_nothing(engine, number):
    weights, documents = made(engine, "number", number)
    before = engine.weights(weights.host()).host()
    empty = engine.documents(documents.matrix[:3] * 0)
    step = Step(number, RHO, D, SEED)
    assert RULE.update(engine, weights, empty, make_task(K), step) is None
    assert same_bytes(weights.host(), before)


@every_number
def test_interrupted_update_changes_nothing(monkeypatch, engine, number):
    monkeypatch.setattr(_weights, "WORDS_AT_ONCE", 7)
    weights, documents = made(engine, "number", number)
    if number == 1:
        weights = engine.random_weights(V, K, 0.05, SEED)
    topics = engine.read(weights).copy()
    prior_of, n_asked = weights.prior_of, 0

    def interrupted(words):
        nonlocal n_asked
        n_asked += 1
        if n_asked == 4:  # the second part of four
            raise KeyboardInterrupt
        return prior_of(words)

    weights.prior_of = interrupted
    step, task = Step(number, RHO, D, SEED), make_task(K)
    with pytest.raises(KeyboardInterrupt):
        RULE.update(engine, weights, documents, task, step)
    assert np.array_equal(engine.read(weights), topics)
    assert weights.n_updates == 0
    weights.prior_of = prior_of
    assert RULE.update(engine, weights, documents, task, step) is not None
    assert not np.array_equal(engine.read(weights), topics)


def moved(seed, number=3, n_words=4000, counts=None, rho=RHO, population=D, size=1.0):
    """Return theta before and after a move, its drift and each topic's step.

    Theta is far from zero, so only its size can be mirrored.
    """
    rng = np.random.default_rng(seed)
    rows = rng.uniform(5 * size, 20 * size, (n_words, K)).astype(np.float32)
    weights = CPUEngine(1).weights(HostWeights(rows, 10.0))
    if counts is None:
        counts = rng.poisson(2.0, (n_words, K))
    drawn = TokenCounts(sparse.csr_array(counts.astype(np.int64)), 0)
    totals = weights.totals
    SGRLD().move(weights, drawn, Step(number, rho, population, seed), n_docs=10)
    found = population / 10 * counts.sum(axis=0)
    eps = 2 * rho / (1 + found / np.minimum(10.0 * n_words, totals))
    drift = 10.0 - rows + population / 10 * (counts - rows / totals * counts.sum(axis=0))
    return rows, drift, eps, weights.host().rows


@pytest.mark.parametrize("seed", range(10))
def test_noise_has_the_stated_moments(seed):
    """Within 5 standard errors of 20,000 normal numbers, which one run in a million leaves."""
    noises = []
    for number in (3, 4):
        rows, drift, eps, after = moved(seed, number)
        noises.append((after - rows - eps / 2 * drift) / np.sqrt(eps * rows))
    n = noises[0].size
    for xi in noises:
        assert abs(xi.mean()) < 5 / np.sqrt(n)
        assert abs(xi.var() - 1) < 5 * np.sqrt(2 / n)
        assert abs((xi**4).mean() - 3) < 5 * np.sqrt(96 / n)
        among = np.corrcoef(xi.T) - np.eye(K)
        assert np.abs(among).max() < 5 / np.sqrt(n / K)
        assert abs((xi[1:] * xi[:-1]).mean()) < 5 / np.sqrt(n)
    assert abs((noises[0] * noises[1]).mean()) < 5 / np.sqrt(n)


@pytest.mark.parametrize("seed", range(5))
@cases("rho", [0.1, 1.0])
@cases("size", [1e-3, 1.0, 1e3])
def test_langevin_steps_are_bounded(seed, rho, size):
    """At least 1 - rho of a topic remains, for any weight and population."""
    counts = np.zeros((200, K), np.int64)
    counts[0] = 1000  # all tokens are of one word, most of them of the first topic
    counts[0, 0] *= 50
    rows, _, _, after = moved(seed, 3, 200, counts, rho, population=1e12, size=size)
    kept = after[1:].sum(axis=0) / rows[1:].sum(axis=0)
    assert (kept > 1 - rho - 1e-3).all()
    if size < 1:
        np.testing.assert_allclose(kept, 1 - rho, atol=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_draws_follow_the_posterior(seed):
    """With given tokens that is Dirichlet(eta + n), of known mean and variance.

    2,000 topics are as many independent chains; each forgets at rate rho.
    """
    n, eta, n_chains = np.array([60.0, 25.0, 10.0, 5.0]), 6.0, 2000
    weights = ReferenceEngine().weights(HostWeights(np.full((4, n_chains), 6, np.float32), eta))
    drawn = TokenCounts(sparse.csr_array(np.tile(n.astype(np.int64)[:, None], n_chains)), 0)
    for t in range(2, 300):
        SGRLD().move(weights, drawn, Step(t, 0.02, 10.0, seed), n_docs=10)
    topics = weights.rows / weights.totals
    a = n + eta
    mean, variance = a / a.sum(), a * (a.sum() - a) / a.sum() ** 2 / (a.sum() + 1)
    # 5 standard errors; the step's own error is some percent of the variance
    assert (np.abs(topics.mean(axis=1) - mean) < 5 * np.sqrt(variance / n_chains)).all()
    np.testing.assert_allclose(topics.var(axis=1), variance, rtol=0.05 + 5 * np.sqrt(2 / n_chains))
