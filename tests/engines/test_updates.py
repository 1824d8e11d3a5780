"""Updates of topics: every rule on every engine, against the equations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from opelda.engines import ReferenceEngine
from opelda.engines.seam import HostWeights, Step
from opelda.inference import CGS, EM, VB
from opelda.learning._rules import ML, SCVB0, Online
from tests import equations
from tests.cases import cases

from .learning_made import (
    METHODS,
    RULES,
    SEED,
    K,
    V,
    Vertex,
    every_method,
    every_rule,
    held,
    made,
    some_methods,
)
from .made import (
    PRIORS,
    as_lambda,
    as_topics,
    make_documents,
    make_prior,
    make_task,
    make_weights,
    same_bytes,
)

every_prior = pytest.mark.parametrize("prior", PRIORS)
pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")


def expected(lam, eta, X, beta, theta, rule, step):
    """Return lambda (for ML: beta) after the update by the equations."""
    first = step.number == 1
    if isinstance(rule, ML):
        mass = X.sum(axis=1) @ theta
        used = mass > 1e-15 * mass.sum()  # unused topics keep their weights
        beta = beta.copy()
        beta[used] = equations.ml(beta[used], X, theta[:, used], step.rho)
        return beta
    if isinstance(rule, Online):
        if first and rule.bound_start:  # it counts at most as many tokens as the documents
            lam = lam * min(1.0, step.population / len(X) * X.sum() / lam.sum())
        if isinstance(rule, SCVB0):  # the start is counts, without a prior
            n = lam if first else lam - eta
            return eta + equations.scvb0(n, beta, X, theta, step.rho, step.population)
        return equations.online(lam, beta, X, theta, eta, step.rho, step.population)
    before = np.broadcast_to(eta, lam.shape) if first and not rule.keep_start else lam
    if rule.keep_prior and not first:
        before = lam + eta
    return equations.streaming(before, beta, X, theta)


@every_rule
@every_method
@pytest.mark.parametrize("number", [1, 4])
def test_update_equals_the_equations(tested, engine, method, rule, number):
    prior = PRIORS[METHODS.index(method) % 3]
    rng = np.random.default_rng(number)
    documents = engine.documents(make_documents(rng, 12, V))
    if number == 1:
        start = engine.random_weights(V, K, make_prior(rng, prior, V, K), SEED)
        weights = engine.weights(start.host())  # in single precision, as the equations here
    else:
        weight = 0.0 if rule in (RULES["ml"], RULES["streaming, start kept"]) else 0.7
        weight = 1.0 if isinstance(rule, SCVB0) else weight
        host = make_weights(rng, V, K, prior, prior_weight=weight)
        rows = host.rows + np.float32(0.5)  # FW's vertices must explain every word
        weights = engine.weights(HostWeights(rows, host.prior, 0.3, weight))
    task = make_task(K, method, seed=SEED | number << 32)
    step = Step(number, 0.4, 30.0, SEED)
    lam, eta = as_lambda(weights.host()), np.asarray(weights.host().prior, np.float64)
    X = documents.matrix.toarray().astype(np.float64)
    beta, theta = held(engine, weights, documents, task, rule)
    after = expected(lam, eta.T if eta.ndim == 2 else eta, X, beta, theta, rule, step)

    done = engine.update(weights, documents, task, rule, step)

    found = as_lambda(weights.host())
    found = as_topics(found) if isinstance(rule, ML) else found
    # host weights are in single precision for every engine; TLI's linear programs
    # are solved to 1e-7
    rtol = 1e-4 if method.name == "tli" else max(5 * tested.rtol, 5e-7)
    np.testing.assert_allclose(found, after, rtol=rtol, atol=1e-8)
    np.testing.assert_allclose(
        weights.sums, weights.host().rows.sum(axis=0, dtype=float), rtol=1e-6
    )
    assert done.rho == 0.4
    assert done.e_seconds >= 0
    assert done.m_seconds >= 0
    assert np.isnan(done.mean_gap)


@cases("rho", [0.4, 1.0])
def test_unused_topic_keeps_its_weights(engine, rho):
    weights, documents = made(engine, prior_weight=0.0)
    before = engine.read(weights).copy()
    engine.update(weights, documents, make_task(K, Vertex()), ML(), Step(3, rho, 30.0, SEED))
    after = engine.read(weights)
    np.testing.assert_allclose(after[1:], before[1:], rtol=2e-6, atol=2e-15)
    tokens = documents.matrix.toarray().sum(axis=0, dtype=float)
    expected = (1 - rho) * before[0] + rho * tokens / tokens.sum()
    np.testing.assert_allclose(after[0], expected, rtol=2e-6, atol=2e-15)


@cases("method", [VB(n_iter=20, tol=0), CGS(burn_in=2, n_samples=3)], ids=repr)
def test_rare_word_belongs_to_its_least_unlikely_topic(engine, method):
    """exp(E[log beta]) underflows in every topic; its ratios do not."""
    rows = np.full((V, K), 2.0, np.float32)
    rows[3] = 0.003
    rows[3, 1] = 0.02  # exp(psi(.02)) is 1e-22, exp(psi(.003)) 1e-145
    weights = engine.weights(HostWeights(rows, 0.1))
    documents = engine.documents(sparse.csr_array(np.eye(V, dtype=np.float32)[[3, 3, 5]]))
    found = engine.statistics(weights, documents, make_task(K, method), divide=True)
    assert found.words.tolist() == [3, 5]
    np.testing.assert_allclose(found.values[0], 2 * np.eye(K)[1], atol=1e-6)


@every_rule
@cases("number", [1, 3])
@cases("what", ["no documents", "empty ones", "zeros", "none chosen"])
def test_update_without_tokens_changes_nothing(engine, rule, number, what):
    weights, documents = made(engine)
    X = documents.matrix
    zeros = sparse.csr_array(([0.0, 0.0], [1, 2], [0, 1, 2]), shape=(2, V))
    given = {"no documents": X[:0], "empty ones": X[:3] * 0, "zeros": zeros, "none chosen": X}
    chosen = np.empty(0, np.int64) if what == "none chosen" else None
    before, topics = weights.host(), engine.read(weights).copy()
    before = replace(before, rows=before.rows.copy())
    step, task = Step(number, 0.4, 30.0, SEED), make_task(K)
    nothing = engine.documents(given[what])
    assert engine.update(weights, nothing, task, rule, step, chosen=chosen, certify=True) is None
    assert same_bytes(weights.host(), before)
    assert np.array_equal(engine.read(weights), topics)
    found = engine.statistics(weights, nothing, task, divide=rule.divide, chosen=chosen)
    assert len(found.words) == len(found.values) == found.mass.sum() == 0
    assert found.n_docs == (0 if chosen is not None else given[what].shape[0])


@some_methods
def test_update_gap_is_the_mean_over_documents(tested, engine, method):
    weights, documents = made(engine)
    task = make_task(K, method)
    found = engine.infer(weights, documents, task)
    full = documents.matrix.sum(axis=1) > 0
    done = engine.update(weights, documents, task, ML(), Step(3, 0.4, 30, SEED), certify=True)
    np.testing.assert_allclose(done.mean_gap, found.certificate.gap[full].mean(), rtol=tested.gap)


class Interrupted(KeyboardInterrupt):
    """Somebody pressed Ctrl-C."""


class Interrupting:
    """A rule that is interrupted, before or after it has changed the weights."""

    def __init__(self, rule, late):
        self.rule, self.divide, self.late = rule, rule.divide, late

    def prepare(self, weights, step, n_docs, mass):
        if self.late:
            self.rule.prepare(weights, step, n_docs, mass)
        raise Interrupted


@every_rule
@cases("late", [False, True])
@cases("number", [1, 2])
@cases("by", ["update", "apply"])
def test_interrupted_update_leaves_valid_weights(engine, rule, late, number, by):
    start = engine.random_weights(V, K, 0.3, SEED)
    weights, documents = made(engine, prior_weight=0.0)
    weights = start if number == 1 else weights
    task, step = make_task(K), Step(number, 0.4, 30.0, SEED)
    topics = engine.read(weights).copy()
    statistics = engine.statistics(weights, documents, task, divide=rule.divide)
    interrupting = Interrupting(rule, late), step
    change, given = {
        "update": (engine.update, (documents, task, *interrupting)),
        "apply": (engine.apply, (statistics, *interrupting)),
    }[by]
    with pytest.raises(Interrupted):
        change(weights, *given)
    host = weights.host()
    np.testing.assert_allclose(weights.sums, host.rows.sum(axis=0, dtype=float), rtol=1e-6)
    read = engine.read(weights)
    np.testing.assert_allclose(read, as_topics(as_lambda(host)), rtol=2e-6, atol=1e-21)
    if number == 1 or not late:  # as if the update had never begun
        assert np.array_equal(read, topics)
    # and learning continues
    assert engine.update(weights, documents, task, rule, step) is not None
    np.testing.assert_allclose(engine.read(weights).sum(axis=1), 1, rtol=1e-5)


@every_prior
@every_rule
@cases("method", [EM(), VB(n_iter=20, tol=0)], ids=repr)
def test_successive_updates_follow_the_reference(engine, method, rule, prior):
    rng = np.random.default_rng(5)
    X, eta = make_documents(rng, 24, V), make_prior(rng, prior, V, K)
    topics = []
    for e in (engine, ReferenceEngine()):
        weights, documents = e.random_weights(V, K, eta, SEED), e.documents(X)
        for t in range(1, 7):
            step = Step(t, (t + 1) ** -0.7, 24.0, SEED)
            chosen = np.arange(4 * t - 4, 4 * t)
            e.update(weights, documents, make_task(K, method), rule, step, chosen=chosen)
        topics.append(e.read(weights))
    np.testing.assert_allclose(*topics, rtol=1e-4, atol=1e-8)
