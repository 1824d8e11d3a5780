"""The CPU engine: every kernel with every instruction set, and what it does not have."""

import numpy as np
import pytest
from scipy import sparse

from opelda.engines import CPUEngine, get_engine
from opelda.errors import EngineError
from opelda.inference import CGS, CVB, CVB0, FW, OPE, VB, Topics, infer
from opelda.inference._inputs import as_batch, as_prior


def make_batch(seed, n_docs=40, n_words=60, n_topics=21, empty=True):
    rng = np.random.default_rng(seed)
    topics = Topics(0.99 * rng.dirichlet(np.full(n_words, 0.2), n_topics) + 0.01 / n_words)
    X = rng.poisson(0.3, (n_docs, n_words)).astype(np.float32)
    if empty:
        X[rng.integers(n_docs)] = 0
        X[:, rng.integers(n_words)] = 0
    theta = rng.dirichlet(np.ones(n_topics), n_docs).astype(np.float32)
    return as_batch(sparse.csr_array(X), topics, as_prior(None, n_topics)), X, topics, theta


def test_reading_rows_reads_past_nothing():
    batch, *_ = make_batch(1)
    for ahead in (0, 1, 12, 10_000):
        CPUEngine().read_rows(batch, ahead=ahead, n_threads=2)


def test_unknown_engine_and_kernel():
    with pytest.raises(EngineError, match="no engine 'abacus'"):
        get_engine("abacus")
    batch, *_ = make_batch(0)
    with pytest.raises(EngineError, match="no kernel 'abacus'"):
        CPUEngine().infer("abacus", batch, {})


# 7 topics fill no vector, 100 leave a part of a tile, 300 and 520 have coarse rows
@pytest.mark.parametrize("n_topics", [7, 16, 100, 300, 520])
def test_every_instruction_set_agrees_with_the_reference(every_instruction_set, n_topics):
    _, X, topics, _ = make_batch(5, n_docs=30, n_topics=n_topics)
    assert (topics.coarse is not None) == (n_topics >= 256)
    fast = infer(X, topics, random_state=1)
    dense = infer(X, topics, random_state=1, method=OPE(screen=False))
    slow = infer(X, topics, random_state=1, engine="reference")
    assert np.array_equal(fast.theta, dense.theta)
    assert_close(fast, slow)


@pytest.mark.parametrize("n_topics", [7, 40, 100])
@pytest.mark.parametrize(
    "method",
    [
        OPE(variant="ope3"),
        VB(n_iter=20, tol=0),
        CVB0(burn_in=3, n_samples=2),
        CVB(n_iter=10, tol=0),
        CGS(burn_in=3, n_samples=3),
        FW(n_iter=20),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_kernel_agrees_with_the_reference(every_instruction_set, method, n_topics):
    _, X, topics, _ = make_batch(6, n_docs=20, n_topics=n_topics)
    fast = infer(X, topics, random_state=1, method=method)
    slow = infer(X, topics, random_state=1, method=method, engine="reference")
    assert np.array_equal(fast.n_iter, slow.n_iter)
    assert_close(fast, slow)


def assert_close(fast, slow):
    """Compare mixtures and certificates where no tie within rounding went the other way."""
    close = np.abs(fast.theta - slow.theta).max(axis=1) < 1e-5
    assert close.mean() > 0.9
    for name in ("gap", "likelihood_gap"):
        found, expected = getattr(fast, name)[close], getattr(slow, name)[close]
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3, err_msg=name)
    for name in ("log_likelihood", "log_prior"):
        found, expected = getattr(fast, name)[close], getattr(slow, name)[close]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4, err_msg=name)


def test_unknown_instruction_set():
    with pytest.raises(EngineError, match="no instruction set 'mmx'"):
        CPUEngine().use_instruction_set("mmx")
