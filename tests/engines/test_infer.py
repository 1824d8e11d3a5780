"""Mixtures: every method on every engine, against the reference and against formulas."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import ReferenceEngine
from opelda.engines._solutions import joined
from opelda.engines.seam import MIXTURES, Wanted, content_keys, seeded
from opelda.inference import (
    CCCP,
    CGS,
    CVB,
    CVB0,
    EM,
    FW,
    HAMCMC,
    METHODS,
    OFW,
    OPE,
    PMD,
    SMM,
    TLI,
    VB,
    Exact,
)
from opelda.inference._method import Document
from tests.cases import cases

from .made import (
    SEEDS,
    TERMS,
    as_lambda,
    as_topics,
    certificate,
    make_documents,
    make_task,
    make_topics,
    make_weights,
    mixtures,
    same_bytes,
)

KERNELS = [
    OPE(n_iter=20),
    OPE(n_iter=15, variant="ope3"),
    OPE(n_iter=15, init="random", coins="shared", n_restarts=2),
    OPE(n_iter=15, schedule="literal"),
    OPE(n_iter=30, tol=0.05),
    EM(),
    EM(n_iter=3, n_kept=3),
    VB(n_iter=20, tol=0),
    VB(n_iter=10, tol=0, init="random"),
    CVB0(burn_in=3, n_samples=2),
    CVB(n_iter=10, tol=0),
    CGS(burn_in=3, n_samples=3),
    FW(n_iter=20),
]
PLAIN = [
    OFW(n_iter=10),
    CCCP(n_iter=5),
    SMM(n_iter=5),
    TLI(),
    PMD(n_particles=20, n_iter=3),
    HAMCMC(n_iter=10, burn_in=5),
]
# finds a maximum by other steps than its reference; tests/inference/test_exact.py compares maxima
OTHER_STEPS = [Exact()]
NAMES = {"ids": repr}
every_method = pytest.mark.parametrize("method", KERNELS + PLAIN + OTHER_STEPS, **NAMES)
comparable_methods = pytest.mark.parametrize("method", KERNELS + PLAIN, **NAMES)
some_methods = pytest.mark.parametrize(
    "method", [KERNELS[0], EM(), Exact(), VB(), CGS(), OFW()], **NAMES
)
pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")


def test_every_method_is_tested():
    assert {method.name for method in KERNELS + PLAIN + OTHER_STEPS} == set(METHODS)
    assert all(method.kernel(7, 0) is not None for method in KERNELS + OTHER_STEPS)
    assert all(method.kernel(7, 0) is None for method in PLAIN)


def made(seed, n_docs=16, n_words=40, n_topics=7):
    rng = np.random.default_rng(seed)
    X, beta = make_documents(rng, n_docs, n_words), make_topics(rng, n_topics, n_words)
    alpha = rng.uniform(0.1, 1.5, n_topics)
    return X, beta, alpha


def assert_near(tested, found, expected):
    """Compare mixtures and certificates, up to the documents where rounding decided a tie."""
    near = np.abs(found.theta - expected.theta).max(axis=1) <= tested.theta
    assert near.mean() >= 1 - tested.others
    assert np.array_equal(found.n_iter[near], expected.n_iter[near])
    for name in TERMS:
        ours, theirs = (getattr(s.certificate, name)[near] for s in (found, expected))
        tolerance = tested.gap if "gap" in name else tested.gap / 10
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tested.gap, err_msg=name)
    np.testing.assert_allclose(found.n_tokens, expected.n_tokens, rtol=1e-6)


@comparable_methods
@pytest.mark.parametrize("n_topics", [1, 7, 40])
def test_mixtures_equal_the_references(tested, engine, method, n_topics):
    X, beta, alpha = made(n_topics, n_topics=n_topics)
    task = make_task(n_topics, method, alpha, seed=5 + (3 << 32))
    found, expected = (
        e.infer(e.topics(beta), e.documents(X), task) for e in (engine, ReferenceEngine())
    )
    assert_near(tested, found, expected)
    assert (found.theta >= 0).all()
    np.testing.assert_allclose(found.theta.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("method", [m for m in KERNELS + PLAIN if m.name != "tli"], **NAMES)
def test_reference_engine_runs_the_method_per_document(method):
    X, beta, alpha = made(2)
    engine, seed = ReferenceEngine(), 11
    found = engine.infer(
        engine.topics(beta), engine.documents(X), make_task(7, method, alpha, seed)
    )
    keys = seeded(content_keys(X.indptr, X.indices, X.data), seed)
    for d, counts in enumerate(X.toarray().astype(np.float64)):
        held = counts > 0
        if held.any():
            document = Document(counts[held], beta[:, held], alpha, int(keys[d]))
            theta, n_iter = method.reference(document, seed)
            assert np.array_equal(found.theta[d], theta)
            assert found.n_iter[d] == n_iter


@every_method
def test_weights_and_their_topics_give_equal_mixtures(tested, engine, method):
    rng = np.random.default_rng(3)
    host, X = make_weights(rng, 40, 7), make_documents(rng, 16, 40)
    weights, documents = engine.weights(host), engine.documents(X)
    task = make_task(7, method)
    found = engine.infer(weights, documents, task)
    given = engine.topics(as_topics(as_lambda(host)))
    assert_near(tested, found, engine.infer(given, documents, task))
    assert same_bytes(found, engine.infer(weights, documents, task))  # asked again


@cases("method", KERNELS + PLAIN + OTHER_STEPS)
def test_empty_documents_get_the_prior_mean(engine, method):
    X, beta, alpha = made(4)
    X = sparse.vstack([X[:2] * 0, X[2:5], X[:1] * 0], format="csr")
    found = engine.infer(engine.topics(beta), engine.documents(X), make_task(7, method, alpha))
    empty = np.array([0, 1, 5])
    np.testing.assert_allclose(found.theta[empty], np.tile(alpha / alpha.sum(), (3, 1)), rtol=1e-6)
    assert found.n_iter[empty].tolist() == [0, 0, 0]
    assert found.n_tokens[empty].tolist() == [0, 0, 0]
    log_prior = (alpha - 1) @ np.log(alpha / alpha.sum())
    for name, value in zip(TERMS, (0, 0, 0, log_prior), strict=True):
        np.testing.assert_allclose(getattr(found.certificate, name)[empty], value, rtol=1e-6)
    if found.picks is not None:
        assert np.diff(found.picks.indptr)[empty].tolist() == [0, 0, 0]
    nothing = engine.infer(
        engine.topics(beta), engine.documents(X[:0]), make_task(7, method, alpha)
    )
    assert nothing.theta.shape == (0, 7)


@every_method
def test_words_without_a_topic_are_ignored(engine, method):
    X, beta, alpha = made(5)
    beta[:, [3, 8]] = 0
    beta[:, 9] = 1e-16  # below the smallest probability
    without = X.toarray()
    without[:, [3, 8, 9]] = 0
    task, topics = make_task(7, method, alpha), engine.topics(beta)
    found = engine.infer(topics, engine.documents(X), task)
    expected = engine.infer(topics, engine.documents(sparse.csr_array(without)), task)
    assert (without.sum(axis=1) != X.sum(axis=1)).any()
    np.testing.assert_allclose(found.n_tokens, without.sum(axis=1), rtol=1e-6)
    assert same_bytes(found, expected)
    theta = found.theta
    ours, theirs = (
        engine.certify(topics, engine.documents(part), theta, alpha)
        for part in (X, sparse.csr_array(without))
    )
    assert same_bytes(ours, theirs)


@some_methods
def test_topics_of_a_word_subset_give_equal_mixtures(engine, method):
    """Random numbers of a document are keyed by its word numbers in the vocabulary."""
    X, beta, alpha = made(6)
    ids = np.flatnonzero(np.random.default_rng(0).random(40) < 0.6).astype(np.int32)
    only = X.toarray()
    only[:, np.setdiff1d(np.arange(40), ids)] = 0
    task = make_task(7, method, alpha)
    whole = engine.infer(engine.topics(beta), engine.documents(sparse.csr_array(only)), task)
    few = engine.infer(
        engine.topics(beta[:, ids], ids), engine.documents(sparse.csr_array(only[:, ids])), task
    )
    assert same_bytes(whole, few)


@every_method
def test_mixture_depends_only_on_the_document(engine, method):
    """Any order, any split: the same bytes, joined."""
    X, beta, alpha = made(7)
    task, topics = make_task(7, method, alpha), engine.topics(beta)
    whole = engine.infer(topics, engine.documents(X), task)
    order = np.random.default_rng(0).permutation(X.shape[0])
    shuffled = engine.infer(topics, engine.documents(X[order]), task)
    assert np.array_equal(shuffled.theta, whole.theta[order])
    ends = [0, 1, 6, 6, 13, 16]
    parts = [
        engine.infer(topics, engine.documents(X[first:last]), task)
        for first, last in pairwise(ends)
    ]
    assert same_bytes(joined(parts), whole)
    assert joined(parts[:1]) is parts[0]


@every_method
def test_fewer_requested_results_do_not_change_the_others(engine, method):
    X, beta, alpha = made(8, n_docs=8)
    task, topics, documents = (
        make_task(7, method, alpha),
        engine.topics(beta),
        engine.documents(X),
    )
    full = X.sum(axis=1) > 0
    rich = engine.infer(topics, documents, task, Wanted(factors=True))
    assert rich.certificate is not None
    assert rich.n_tokens is not None
    for wanted in (MIXTURES, Wanted(theta=False), Wanted(picks=False), Wanted(certificate=False)):
        lean = engine.infer(topics, documents, task, wanted)
        assert np.array_equal(lean.n_iter, rich.n_iter)
        if wanted.theta:
            assert np.array_equal(lean.theta, rich.theta)
        if wanted.certificate:
            assert same_bytes(lean.certificate, rich.certificate)
        if wanted.picks and rich.picks is not None:
            assert same_bytes(lean.picks, rich.picks)
        assert lean.theta is not None or lean.picks is not None
    if rich.picks is not None:
        np.testing.assert_allclose(mixtures(rich.picks)[full], rich.theta[full], atol=1e-6)


@given(SEEDS, st.integers(1, 20), st.sampled_from([0.02, 1.0, 3.0]))
def test_certificates_equal_the_formulas(tested, engine, seed, n_topics, size):
    rng = np.random.default_rng(seed)
    host, X = make_weights(rng, 30, n_topics), make_documents(rng, 8, 30)
    alpha = size * rng.uniform(0.5, 1.5, n_topics)
    theta = rng.dirichlet(np.ones(n_topics), 8).astype(np.float32)
    expected = certificate(X, as_topics(as_lambda(host)), theta.astype(float), alpha)
    weights, documents = engine.weights(host), engine.documents(X)
    for topics in (weights, engine.topics(as_topics(as_lambda(host)))):
        found = engine.certify(topics, documents, theta, alpha)
        for name, values in zip(TERMS, expected, strict=True):
            # single precision holds theta to 6e-8, which 1 / theta magnifies
            np.testing.assert_allclose(
                getattr(found, name), values, rtol=max(tested.gap, 1e-6), atol=1e-4, err_msg=name
            )


@every_method
def test_certificate_belongs_to_the_returned_mixtures(tested, engine, method):
    X, beta, alpha = made(9)
    topics, documents = engine.topics(beta), engine.documents(X)
    found = engine.infer(topics, documents, make_task(7, method, alpha))
    alone = engine.certify(topics, documents, found.theta, alpha)
    for name in TERMS:
        ours, theirs = getattr(found.certificate, name), getattr(alone, name)
        tolerance = tested.gap if "gap" in name else tested.gap / 10
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tested.gap, err_msg=name)
