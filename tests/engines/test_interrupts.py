"""Ctrl-C interrupts a native call and leaves consistent state."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from scipy import sparse

from opelda.engines import CPUEngine
from opelda.engines.cpu import _kernels as _cpu_kernels
from opelda.engines.seam import Step
from opelda.inference import CGS, CVB, CVB0, EM, FW, OPE, VB
from opelda.learning._rules import Online

from .made import make_task, make_topics, same_bytes
from .tokens_made import cells_of

K, V = 64, 400
UNTOUCHED = -1
# each would take many seconds
ENDLESS = [
    OPE(n_iter=5_000, screen=False),
    EM(n_iter=5_000),
    VB(n_iter=5_000, tol=0),
    CVB0(burn_in=5_000),
    CVB(n_iter=5_000, tol=0),
    CGS(burn_in=5_000),
    FW(n_iter=5_000),
]


@pytest.fixture(autouse=True)
def ctrl_c():
    """Raise KeyboardInterrupt, even where a shell has switched Ctrl-C off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def stopped(monkeypatch):
    """Press Ctrl-C as soon as a kernel has finished a document; tell which it has finished."""
    calls, run = [], _cpu_kernels.run

    def watched(settings, call):
        if calls:
            return run(settings, call)
        call.n_iter[:] = UNTOUCHED
        calls.append(call.n_iter)
        press_when(lambda: call.n_iter[0] != UNTOUCHED)
        return run(settings, call)

    monkeypatch.setattr(_cpu_kernels, "run", watched)
    yield calls
    monkeypatch.undo()


def press_when(begun):
    def press():
        while not begun():
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def documents(n_docs=2_000):
    """Many documents; the first has one word and is finished early."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((n_docs, V), density=0.2, rng=rng, dtype=np.float32).tolil()
    X[0] = 0
    X[0, 0] = 1
    X = sparse.csr_array(X)
    X.data[:] = 1.0
    return X


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("method", ENDLESS, ids=lambda method: method.name)
def test_interrupt_stops_inference_between_documents(stopped, method, n_threads):
    engine = CPUEngine(n_threads)
    topics = engine.topics(make_topics(np.random.default_rng(1), K, V))
    with pytest.raises(KeyboardInterrupt):
        engine.infer(topics, engine.documents(documents()), make_task(K, method))
    (n_iter,) = stopped
    assert (n_iter == UNTOUCHED).any()


@pytest.mark.parametrize("method", [VB(n_iter=20_000, tol=0), CGS(burn_in=20_000)], ids=repr)
def test_interrupt_stops_within_a_very_long_document(stopped, method):
    """In the middle of the second: a million weights, thousands of iterations."""
    rng = np.random.default_rng(0)
    n_words = 20_000
    X = np.zeros((2, n_words), np.float32)
    X[0, 0], X[1] = 1.0, 50.0
    engine = CPUEngine(1)
    topics = engine.topics(make_topics(rng, K, n_words))
    with pytest.raises(KeyboardInterrupt):
        engine.infer(topics, engine.documents(sparse.csr_array(X)), make_task(K, method))
    assert len(stopped) == 1


@pytest.mark.parametrize("method", [OPE(n_iter=5_000, screen=False), VB(n_iter=5_000, tol=0)])
def test_stopped_update_changes_nothing(stopped, monkeypatch, method):
    engine, quick = CPUEngine(2), make_task(K)
    X, step = engine.documents(documents()), Step(2, 0.5, 2_000.0, 0)
    weights = engine.random_weights(V, K, 0.1, 0)
    before = weights.host()
    before = type(before)(before.rows.copy(), *list(vars(before).values())[1:])
    with pytest.raises(KeyboardInterrupt):
        engine.update(weights, X, make_task(K, method), Online(), step)
    assert (stopped[0] == UNTOUCHED).any()
    assert same_bytes(weights.host(), before)
    monkeypatch.undo()
    other = engine.random_weights(V, K, 0.1, 0)
    for each in (weights, other):
        engine.update(each, X, quick, Online(), step)
    assert same_bytes(weights.host(), other.host())


def test_interrupted_sweep_can_be_repeated():
    engine, alpha = CPUEngine(2), np.full(K, 0.1)
    weights = engine.random_weights(V, K, 0.1, 0)
    tokens, others = (engine.tokens(engine.documents(documents()), K) for _ in range(2))
    nowhere = np.uint16(K)
    tokens.z[:] = nowhere
    press_when(lambda: tokens.z[0] != nowhere)
    with pytest.raises(KeyboardInterrupt):
        engine.sweep(weights, tokens, alpha, seed=1, n_draws=5_000)
    assert (tokens.z == nowhere).any()
    counts = engine.sweep(weights, others, alpha, seed=1)
    with pytest.raises(ValueError, match="first sweep was not finished"):
        engine.sweep(weights, tokens, alpha, counts=counts, seed=2)
    cells = [cells_of(engine.sweep(weights, each, alpha, seed=1)) for each in (tokens, others)]
    assert np.array_equal(*cells)
    assert np.array_equal(tokens.topics, others.topics)


def test_other_signals_are_handled_without_stopping_the_call(stopped, monkeypatch):
    """A handler that does not raise runs during the call, not after it."""
    seen, engine = [], CPUEngine(2)
    topics = engine.topics(make_topics(np.random.default_rng(1), K, V))
    method = VB(n_iter=200, tol=0)
    X = engine.documents(documents())

    def handler(*_):
        seen.append((stopped[0] == UNTOUCHED).sum())
        seen.append(engine.infer(topics, X, make_task(K, OPE(n_iter=5))).theta)

    signal.signal(signal.SIGINT, handler)
    found = engine.infer(topics, X, make_task(K, method))
    assert seen[0] > 0
    monkeypatch.undo()
    assert same_bytes(found, engine.infer(topics, X, make_task(K, method)))
    assert np.array_equal(seen[1], engine.infer(topics, X, make_task(K, OPE(n_iter=5))).theta)
