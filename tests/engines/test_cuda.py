"""GPU-specific behaviour: kernel limits, transfers, and work that stays on the host."""

import logging
import pickle

import numpy as np
import pytest
from scipy import sparse

from opelda import TopicModel
from opelda.corpus import generate
from opelda.engines import CPUEngine, get_engine
from opelda.engines.cuda import _device as _cuda_device
from opelda.engines.cuda import _documents as _cuda_documents
from opelda.engines.cuda import _kernels as _cuda_kernels
from opelda.engines.seam import Step
from opelda.inference import CGS, CVB0, EM, OPE, VB, Exact
from opelda.learning._rules import Online

from . import test_draws as draws
from .conftest import no_gpu
from .made import make_documents, make_task, make_topics, make_weights, same_bytes
from .tokens_made import cells_of, draw, tokens_of

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.skipif(no_gpu() is not None, reason=no_gpu() or "there is a GPU"),
]
INFERRED = [OPE(n_iter=20), EM(), VB(n_iter=10), CVB0(burn_in=3, n_samples=3)]
INFERRED.append(Exact(max_loss=1e-8))  # so close that no mixture differs
METHODS = pytest.mark.parametrize("method", INFERRED, ids=repr)


@pytest.fixture
def engine():
    return get_engine("cuda")


@pytest.mark.parametrize(("n_words", "n_topics"), [(100, 40), (400, 300), (900, 800)])
@pytest.mark.parametrize("fractions", [False, True])
def test_documents_of_many_topics(engine, n_words, n_topics, fractions):
    """Slots in few and in many registers, and in memory; draws are the processor's."""
    rng = np.random.default_rng(n_topics)
    counts = rng.integers(1, 3, (12, n_words)).astype(np.float32)
    counts[1::2, rng.permutation(n_words)[20:]] = 0
    counts *= np.float32(0.5 if fractions else 1)
    topics, alpha = make_topics(rng, n_topics, n_words), np.full(n_topics, 0.5)
    cpu = CPUEngine(2)
    theirs, ours, again = (tokens_of(e, counts, n_topics) for e in (cpu, engine, engine))
    drawn = [draw(e, t, topics, alpha) for e, t in ((cpu, theirs), (engine, ours), (engine, again))]
    for seed in (1, 2):
        # (after a draw that rounding decides, later draws of the document differ)
        assert (np.asarray(ours.topics) == np.asarray(theirs.topics)).mean() > 0.8
        assert np.array_equal(ours.topics, again.topics)
        assert np.array_equal(cells_of(drawn[1]), cells_of(drawn[2]))
        assert np.array_equal(cells_of(drawn[0]).sum(axis=1), cells_of(drawn[1]).sum(axis=1))
        same = {"topics": np.asarray(theirs.topics)}
        ours, again = (tokens_of(engine, counts, n_topics, **same) for _ in range(2))
        start = drawn[0]
        drawn = [
            e.sweep(None, tokens, alpha, counts=start, prior=0.1, seed=seed)
            for e, tokens in ((cpu, theirs), (engine, ours), (engine, again))
        ]


@pytest.mark.parametrize(("n_topics", "prior", "heavy"), [(9, 20.0, 20.0), (200, 0.5, 2e4)])
def test_every_token_is_drawn_from_its_conditional(engine, n_topics, prior, heavy):
    seed = np.random.SeedSequence().entropy % 2**32  # holds for any
    rng = np.random.default_rng(seed)
    X = draws.made(seed)
    X.data *= rng.choice([1.0, 1.0, 1.0, heavy], X.nnz).astype(np.float32)
    alpha = rng.dirichlet(np.ones(n_topics)) * prior
    drawn = draws.swept(X, n_topics, alpha, 0.1, int(seed), engine=engine)
    assert draws.is_right(draws.surprises(X, *drawn, alpha, 0.1, rng)), f"seed {seed}"


@METHODS
def test_documents_of_any_length_and_number(engine, method, monkeypatch):
    """One launch or several, shared memory or not: the same bytes, and the processor's mixtures."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.9, (60, 1400)).astype(np.float32)
    for row, n in zip(X, rng.choice([0, 1, 20, 40, 100, 200, 400, 1400], 60), strict=True):
        row[rng.permutation(1400)[n:]] = 0
    X, topics = sparse.csr_array(X), make_topics(rng, 33, 1400)
    task = make_task(33, method)
    found = [engine.infer(engine.topics(topics), engine.documents(X), task)]
    monkeypatch.setattr(_cuda_documents, "FEW_DOCS", 0)
    found.append(engine.infer(engine.topics(topics), engine.documents(X), task))
    monkeypatch.setattr(_cuda_kernels, "MOST_SHARED", 0)
    monkeypatch.setattr(_cuda_kernels, "MOST_MEMORY", 2**20)
    found.append(engine.infer(engine.topics(topics), engine.documents(X), task))
    assert same_bytes(found[0], found[1])
    assert same_bytes(found[0], found[2])
    cpu = CPUEngine(2)
    theirs = cpu.infer(cpu.topics(topics), cpu.documents(X), task)
    near = np.abs(found[0].theta - theirs.theta).max(axis=1) < 1e-4
    assert near.mean() > 0.9


@METHODS
@pytest.mark.parametrize("chosen", [None, np.arange(0, 40, 3)])
def test_large_collections_are_copied_in_blocks(engine, method, chosen, monkeypatch):
    """Blocks of a few documents, or of one oversized document, give the same bytes."""
    rng = np.random.default_rng(3)
    X, topics, host = make_documents(rng, 40, 50), make_topics(rng, 7, 50), make_weights(rng, 50, 7)
    task, alpha, theta = make_task(7, method), np.full(7, 0.1), rng.dirichlet(np.ones(7), 40)
    found = []
    for most in (None, 1000, 1):
        monkeypatch.setattr(_cuda_documents, "AT_ONCE", most)
        fixed, documents = engine.topics(topics), engine.documents(X)
        inferred = engine.infer(fixed, documents, task)
        bounds = engine.certify(fixed, documents, theta, alpha)
        weights = engine.weights(pickle.loads(pickle.dumps(host)))
        summed = engine.statistics(weights, documents, task, divide=True, chosen=chosen)
        how = {"chosen": chosen, "certify": True}
        done = engine.update(weights, documents, task, Online(), Step(2, 0.5, 40, 0), **how)
        found.append((inferred, bounds, summed, weights.host(), done.mean_gap))
        assert documents.fits is (most is None)
    for other in found[1:]:
        assert all(same_bytes(*pair) for pair in zip(found[0][:-1], other[:-1], strict=True))
        assert np.isclose(found[0][-1], other[-1])


@pytest.mark.parametrize("fractions", [False, True])
def test_large_token_arrays_are_copied_in_blocks(engine, fractions, monkeypatch):
    """Sweep after sweep the same topics, counts and sizes as tokens that stay on the GPU."""
    rng = np.random.default_rng(4)
    counts = make_documents(rng, 40, 50, fractions).toarray()
    topics, alpha, found = make_topics(rng, 7, 50), np.full(7, 0.2), []
    for most in (None, 20_000, 1):
        monkeypatch.setattr(_cuda_documents, "AT_ONCE", most)
        tokens = tokens_of(engine, counts, 7)
        assert (getattr(tokens, "blocks", None) is None) is (most is None)
        drawn, seen = draw(engine, tokens, topics, alpha), []
        for seed in (1, 2):
            drawn = engine.sweep(None, tokens, alpha, counts=drawn, prior=0.1, seed=seed)
            seen += [
                np.array(tokens.topics),
                cells_of(drawn),
                *vars(engine.histogram(tokens, 0.5)).values(),
            ]
        found.append(seen)
    for other in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(found[0], other, strict=True))


@pytest.mark.parametrize("max_loss", [0.01, 1e-7])
@pytest.mark.parametrize(("n_topics", "n_words"), [(5, 30), (60, 400), (300, 900)])
def test_gpu_exact_reaches_max_loss(engine, n_topics, n_words, max_loss):
    """The bound holds beside the processor's best mixture, which is known more closely."""
    rng = np.random.default_rng(n_topics)
    topics = make_topics(rng, n_topics, n_words)
    topics[:, ::7] *= rng.random((n_topics, len(topics[0, ::7]))) < 0.2  # some words in few topics
    topics[0] += 1e-3 / n_words
    topics /= topics.sum(axis=1, keepdims=True)
    X = make_documents(rng, 60, n_words, True)
    cpu = CPUEngine(2)
    task = make_task(n_topics, Exact(max_loss=max_loss))
    ours = engine.infer(engine.topics(topics), engine.documents(X), task)
    exact = make_task(n_topics, Exact(max_loss=1e-9))
    best = cpu.infer(cpu.topics(topics), cpu.documents(X), exact)
    again = cpu.certify(cpu.topics(topics), cpu.documents(X), ours.theta, task.alpha)
    assert (ours.loss <= max_loss).all()
    behind = best.certificate.log_likelihood - again.log_likelihood
    assert (behind <= ours.loss + 1e-9 * X.sum(axis=1)).all()
    assert np.allclose(ours.certificate.log_likelihood, again.log_likelihood)
    assert np.allclose(ours.theta.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("above", [5e-8, 1e-4, -1e-9])
def test_certificates_take_alpha_in_double_precision(engine, above):
    """In single precision alpha = 1 + 5e-8 is 1, and a zero share would have no cost."""
    rng = np.random.default_rng(0)
    X, topics, alpha = make_documents(rng, 20, 60, True), make_topics(rng, 40, 60), 1 + above
    theta = rng.dirichlet(np.full(40, 0.5), 20).astype(np.float32) * (rng.random((20, 40)) < 0.5)
    ours, theirs = (
        e.certify(e.topics(topics), e.documents(X), theta, np.full(40, alpha))
        for e in (engine, CPUEngine(1))
    )
    assert np.allclose(ours.gap, theirs.gap, rtol=1e-9, atol=1e-9)
    assert np.allclose(ours.log_prior, theirs.log_prior, rtol=1e-9, atol=1e-12)


def test_weights_stay_on_the_gpu_and_rules_read_them_on_the_host(engine):
    rng = np.random.default_rng(1)
    host, X = make_weights(rng, 50, 7), make_documents(rng, 40, 50)
    weights, documents = engine.weights(host), engine.documents(X)
    engine.update(weights, documents, make_task(7), Online(), Step(2, 0.5, 40, 0))
    copied = pickle.loads(pickle.dumps(weights))
    assert same_bytes(copied.host(), weights.host())
    for each in (weights, copied):
        each.add(3, np.array([5]), np.array([2.0]))
        each.recount()
        engine.update(each, documents, make_task(7), Online(), Step(3, 0.5, 40, 0))
    assert same_bytes(copied.host(), weights.host())


def test_methods_without_a_gpu_kernel_run_on_the_host_and_log_once(engine, caplog):
    rng = np.random.default_rng(2)
    X, topics = make_documents(rng, 9, 20), make_topics(rng, 4, 20)
    _cuda_device.tell.cache_clear()
    task = make_task(4, CGS(burn_in=2, n_samples=2))
    with caplog.at_level(logging.INFO, "opelda"):
        found = [
            e.infer(e.topics(topics), e.documents(X), task) for e in (engine, engine, CPUEngine(1))
        ]
    assert same_bytes(found[0], found[1])
    assert np.allclose(found[0].theta, found[2].theta)
    assert [record.message for record in caplog.records] == [
        "CGS has no GPU kernel for these parameters; the CPU infers these mixtures."
    ]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gpu_topics_predict_like_cpu_topics(seed):
    made = generate(1500, n_words=300, n_topics=8, n_tokens=60, random_state=seed)
    train, test = sparse.csr_array(made.X[:1200]), sparse.csr_array(made.X[1200:])
    models = [
        TopicModel(8, engine=name, random_state=seed).fit(train) for name in ("cuda", "cuda", "cpu")
    ]
    assert np.array_equal(models[0].components_, models[1].components_)
    ours, _, theirs = (model.score(test) for model in models)
    assert abs(ours - theirs) < 0.02


def test_auto_chooses_the_gpu_and_logs_once(monkeypatch, caplog):
    monkeypatch.setattr("opelda.engines.LEAST_WORK", 3000)
    _cuda_device.tell.cache_clear()
    made = generate(60, n_words=50, n_topics=3, random_state=0)
    X, few = sparse.csr_array(made.X), sparse.csr_array(made.X[:4])
    how = {"engine": "auto", "random_state": 0, "n_passes": 1, "n_sweeps": 1}
    with caplog.at_level(logging.INFO, "opelda"):
        model = TopicModel(3, **how).fit(X)
    assert model._state.weights.owner == "cuda"
    assert sum("selects the GPU" in record.message for record in caplog.records) == 1
    assert model.transform(few).shape == (4, 3)
    assert model._state.weights.owner == "cuda"
    assert model.fit(few)._state.weights.owner == "cpu"


@pytest.mark.parametrize("n", [0, 1, 1000, 2**23 + 1, 2**24, 2**24 + 7, 3 * 2**23 + 5])
def test_large_arrays_survive_a_round_trip(engine, n):
    """Arrays larger than two copy buffers, copied while the GPU is busy."""
    values = np.random.default_rng(n).integers(0, 2**31, n).astype(np.int32)
    there = engine.device.array(values)
    values_then = values.copy()
    values[:] = 0
    assert np.array_equal(engine.device.host(there + 1), values_then + 1)
    assert np.array_equal(engine.device.host(there[::2]), values_then[::2])
