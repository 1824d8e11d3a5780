"""The CPU engine: every kernel with every instruction set, any number of threads, large topics."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from opelda import _native
from opelda.engines import CPUEngine, ReferenceEngine
from opelda.engines.cpu import _engine as _cpu
from opelda.engines.cpu import _kernels as _cpu_kernels
from opelda.engines.cpu import _tables as _cpu_tables
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.seam import MIXTURES, Documents, Step, Wanted
from opelda.errors import EngineError, InputError
from opelda.inference import CGS, CVB, CVB0, EM, FW, OFW, OPE, TLI, VB
from opelda.learning._rules import ML, Online, Streaming
from tests.cases import cases

from .made import (
    TERMS,
    make_documents,
    make_task,
    make_topics,
    make_weights,
    plain_weights,
    same_bytes,
)

KERNELS = [
    OPE(variant="ope3"),
    EM(),
    VB(n_iter=20, tol=0),
    CVB0(burn_in=3, n_samples=2),
    CVB(n_iter=10, tol=0),
    CGS(burn_in=3, n_samples=3),
    FW(n_iter=20),
]


def made(seed, n_docs=40, n_words=60, n_topics=21):
    rng = np.random.default_rng(seed)
    return make_documents(rng, n_docs, n_words), make_topics(rng, n_topics, n_words)


def infer(engine, X, beta, method):
    return engine.infer(engine.topics(beta), engine.documents(X), make_task(len(beta), method))


def test_reading_rows_stays_within_the_array():
    X, beta = made(1)
    table, rows = TopicTable.of(beta, None), Documents(X).part()
    batch = _cpu_kernels.native_batch(table, rows, np.ones(len(beta), np.float32))
    for ahead in (0, 1, 12, 10_000):
        _native.read_rows(batch, ahead=ahead, n_threads=2)


def test_unknown_instruction_set_is_rejected():
    with pytest.raises(EngineError, match="does not support the instruction set 'mmx'"):
        CPUEngine().use_instruction_set("mmx")


@cases("n_threads", [0, 1.5, "2"])
def test_bad_n_threads_is_rejected(n_threads):
    with pytest.raises(InputError, match="n_threads must be"):
        CPUEngine(n_threads)


# 7 topics fill no vector, 100 leave a part of a tile, 300 and 520 have coarse rows
@pytest.mark.parametrize("n_topics", [7, 16, 100, 300, 520])
def test_every_instruction_set_agrees_with_the_reference(every_instruction_set, n_topics):
    X, beta = made(5, n_docs=30, n_topics=n_topics)
    assert (TopicTable.of(beta, None).coarse(1)[0] is not None) == (n_topics >= 256)
    fast = infer(CPUEngine(2), X, beta, OPE())
    dense = infer(CPUEngine(2), X, beta, OPE(screen=False))
    assert same_bytes(fast, dense)
    assert_close(fast, infer(ReferenceEngine(), X, beta, OPE()))


@pytest.mark.parametrize("n_topics", [7, 40, 100])
@pytest.mark.parametrize("method", KERNELS, ids=repr)
def test_every_kernel_agrees_with_the_reference(every_instruction_set, method, n_topics):
    X, beta = made(6, n_docs=20, n_topics=n_topics)
    fast, slow = (infer(engine, X, beta, method) for engine in (CPUEngine(2), ReferenceEngine()))
    assert np.array_equal(fast.n_iter, slow.n_iter)
    assert_close(fast, slow)


def assert_close(fast, slow):
    """Compare mixtures and certificates, except for ties that rounding decides."""
    close = np.abs(fast.theta - slow.theta).max(axis=1) < 1e-5
    assert close.mean() > 0.9
    for name in TERMS:
        found, expected = (getattr(s.certificate, name)[close] for s in (fast, slow))
        rtol, atol = (1e-3, 1e-3) if "gap" in name else (1e-5, 1e-4)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol, err_msg=name)


@pytest.mark.parametrize("method", [OPE(n_iter=20), *KERNELS, OFW(n_iter=5)], ids=repr)
def test_mixtures_do_not_depend_on_threads(every_instruction_set, method):
    X, beta = made(7, n_docs=150)
    one = infer(CPUEngine(1), X, beta, method)
    for n_threads in (2, 3, 8):
        assert same_bytes(infer(CPUEngine(n_threads), X, beta, method), one)


@cases("rule", [ML(), Online(), Streaming()], ids=repr)
@cases("method", [OPE(n_iter=20), EM(), VB()], ids=repr)
def test_learning_does_not_depend_on_threads(every_instruction_set, method, rule):
    X, _ = made(8, n_docs=200, n_words=300)
    hosts, chosen = [], np.arange(0, 200, 2)
    for n_threads in (1, 2, 3, 8):
        engine = CPUEngine(n_threads)
        weights, documents = engine.random_weights(300, 21, 0.1, 0), engine.documents(X)
        task = make_task(21, method)
        for number in (1, 2):
            step = Step(number, 0.5, 300.0, 0)
            engine.update(weights, documents, task, rule, step, chosen=chosen)
        statistics = engine.statistics(weights, documents, task, divide=rule.divide)
        engine.apply(weights, statistics, rule, Step(3, 0.5, 300.0, 0))
        hosts.append(weights.host())
    assert all(same_bytes(host, hosts[0]) for host in hosts)


def test_draws_and_counts_do_not_depend_on_threads(every_instruction_set):
    """Against NumPy's own sums as well, with fractions."""
    rng = np.random.default_rng(1)
    X = rng.gamma(0.3, 2.0, (300, 50)) * (rng.random((300, 50)) < 0.2)
    X = sparse.csr_array(X.astype(np.float32))
    host, results = plain_weights(rng.dirichlet(np.full(50, 0.1), 20)), []
    for n_threads in (1, 2, 5):
        engine = CPUEngine(n_threads)
        tokens, weights = engine.tokens(engine.documents(X), 20), engine.weights(host)
        options = {"seed": 0, "n_draws": 2}
        drawn = engine.sweep(weights, tokens, np.full(20, 0.1), **options)
        cells = drawn.cells.toarray()
        engine.sweep(weights, tokens, np.full(20, 0.1), counts=drawn, **options)
        engine.blend(weights, drawn, 0.3)
        results.append((cells.tobytes(), weights.rows.tobytes(), tokens.topics.tobytes()))
    assert len(set(results)) == 1
    times = np.minimum(np.ceil(tokens.rows.counts), 16).astype(int)
    expected = np.zeros((50, 20))
    tokens = engine.tokens(engine.documents(X), 20)
    drawn = engine.sweep(engine.weights(host), tokens, np.full(20, 0.1), **options)
    where = (np.repeat(tokens.rows.words, times), tokens.topics)
    np.add.at(expected, where, np.repeat(tokens.rows.counts / times, times))
    np.testing.assert_allclose(cells * 2.0**-drawn.shift, expected, rtol=1e-5, atol=1e-3)


@cases("method", [OPE(n_iter=20), EM(), VB(), CGS(), OFW(n_iter=5)], ids=repr)
@cases("wanted", [Wanted(factors=True), MIXTURES])
def test_large_topics_are_laid_out_per_chunk(monkeypatch, method, wanted):
    rng = np.random.default_rng(9)
    host, X = make_weights(rng, 60, 21), make_documents(rng, 40, 60)
    engine = CPUEngine(2)
    weights, documents = engine.weights(host), engine.documents(X)
    task = make_task(21, method)
    empty = X.sum(axis=1) == 0

    def inferred(weights):
        found = engine.infer(weights, documents, task, wanted)
        if found.factors is not None:  # factors of empty documents are undefined
            found.factors[empty] = 0
        return found

    whole = inferred(weights)
    assert weights._derived is not None
    monkeypatch.setattr(_cpu_tables, "MOST_BYTES", 0)
    for chunk in (1, 7, 40, 100):
        monkeypatch.setattr(_cpu, "CHUNK", chunk)
        weights = engine.weights(host)
        assert same_bytes(inferred(weights), whole)
        certificate = engine.certify(weights, documents, whole.theta, task.alpha)
        engine.read(weights)
        assert weights._derived is None
    if whole.certificate is not None:
        for name in TERMS:
            ours, theirs = (getattr(c, name) for c in (certificate, whole.certificate))
            np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3)


@pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
def test_needs_every_word_disables_chunked_layout(monkeypatch):
    rng = np.random.default_rng(10)
    host, X = make_weights(rng, 30, 5), make_documents(rng, 10, 30)
    engine, task = CPUEngine(1), make_task(5, TLI())
    whole = engine.infer(engine.weights(host), engine.documents(X), task)
    monkeypatch.setattr(_cpu_tables, "MOST_BYTES", 0)
    monkeypatch.setattr(_cpu, "CHUNK", 3)
    assert same_bytes(engine.infer(engine.weights(host), engine.documents(X), task), whole)


def test_rows_without_padding_are_not_copied():
    engine, rng = CPUEngine(1), np.random.default_rng(0)
    host = make_weights(rng, 30, 16)
    assert np.shares_memory(engine.weights(host).rows, host.rows)
    across = replace(host, rows=np.asfortranarray(host.rows))
    assert np.array_equal(engine.weights(across).rows, host.rows)


def test_cgs_rejects_documents_above_100_million_tokens():
    engine = CPUEngine(1)
    X = sparse.csr_array(np.array([[1, 2], [1e8, 1]], np.float32))
    with pytest.raises(InputError, match=r"Document 1 has more than 100,000,000 tokens"):
        infer(engine, X, np.full((2, 2), 0.5), CGS())


def test_table_built_during_a_weight_change_is_not_cached(monkeypatch):
    """As where one thread serves and another learns."""
    rng = np.random.default_rng(10)
    engine = CPUEngine(1)
    weights = engine.weights(make_weights(rng, 30, 7))
    real = _cpu_tables.topic_rows

    def topic_rows(weights, *arguments, **options):
        table = real(weights, *arguments, **options)
        weights.reset(np.arange(30), rng.random(7))  # as a concurrent writer does
        return table

    with monkeypatch.context() as patch:
        patch.setattr(_cpu_tables, "topic_rows", topic_rows)
        before = engine.read(weights)
    assert weights._derived is None
    assert not np.allclose(before, engine.read(weights))
    assert weights._derived is not None
    assert pickle.loads(pickle.dumps(weights))._derived is None


def test_word_numbers_beyond_the_weights_never_reach_the_kernels():
    rng = np.random.default_rng(11)
    engine = CPUEngine(1)
    weights = engine.weights(make_weights(rng, 30, 7))
    wide = engine.documents(make_documents(rng, 5, 40))
    with pytest.raises(InputError, match="the topics have 30 words"):
        engine.read(weights, np.array([3, 30], np.int32))
    with pytest.raises(InputError, match="the topics have 30 words"):
        engine.infer(weights, wide, make_task(7))
    with pytest.raises(InputError, match="the topics have 30 words"):
        engine.sweep(weights, engine.tokens(wide, 7), np.ones(7), seed=0)
