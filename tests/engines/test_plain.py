"""Held-out scores: every engine against the explicit formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.engines import get_engine

from .conftest import ENGINES, no_gpu
from .made import SEEDS, make_documents, make_topics

NAMES = [pytest.param(name, marks=[pytest.mark.cuda] * (name == "cuda")) for name in ENGINES]


def made(name):
    if name == "cuda" and no_gpu() is not None:
        pytest.skip(no_gpu())
    return ENGINES[name].make()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=SEEDS, n_topics=st.integers(1, 70))
def test_document_likelihood_equals_the_formula(name, dtype, seed, n_topics):
    engine, rng = made(name), np.random.default_rng(seed)
    X, topics = make_documents(rng, 12, 40), make_topics(rng, n_topics, 40).astype(dtype)
    topics[:, 3] = 0  # which counts as 1e-30
    theta = rng.dirichlet(np.ones(n_topics), 12).astype(np.float32)
    found = engine.predict(topics, engine.documents(X), theta)
    x = np.maximum(theta.astype(np.float64) @ topics.astype(np.float64), 1e-30)
    assert found.dtype == np.float64
    assert np.allclose(found, (X.toarray() * np.log(x)).sum(axis=1), rtol=1e-12, atol=1e-12)


@pytest.mark.cuda
@pytest.mark.skipif(no_gpu() is not None, reason=no_gpu() or "there is a GPU")
def test_scores_do_not_depend_on_blocks(monkeypatch):
    rng, engine = np.random.default_rng(0), get_engine("cuda")
    X, topics = make_documents(rng, 60, 50), make_topics(rng, 9, 50)
    theta = rng.dirichlet(np.ones(9), 60).astype(np.float32)
    whole = engine.predict(topics, engine.documents(X), theta)
    monkeypatch.setattr("opelda.engines.cuda._documents.AT_ONCE", 1000)
    assert np.array_equal(engine.predict(topics, engine.documents(X), theta), whole)
