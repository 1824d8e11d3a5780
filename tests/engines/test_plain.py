"""Held-out scores and distant rows: every engine against the explicit formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import get_engine

from .conftest import ENGINES, no_gpu
from .made import SEEDS, make_documents, make_topics

NAMES = [pytest.param(name, marks=[pytest.mark.cuda] * (name == "cuda")) for name in ENGINES]


def made(name):
    if name == "cuda" and no_gpu() is not None:
        pytest.skip(no_gpu())
    return ENGINES[name].make()


def make_rows(rng, n_rows, n_words):
    """Return rows of length 1 with a duplicate and an empty row."""
    X = np.abs(rng.normal(size=(n_rows, n_words))) * (rng.random((n_rows, n_words)) < 0.3)
    X[0], X[1] = X[2], 0
    length = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(length > 0, length, 1)


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


@pytest.mark.parametrize("name", NAMES)
@given(seed=SEEDS, n_begun=st.integers(0, 3), n_rows=st.integers(12, 600))
def test_rows_are_chosen_by_squared_distance(name, seed, n_begun, n_rows):
    engine, rng = made(name), np.random.default_rng(seed)
    X, draws = make_rows(rng, n_rows, 20), rng.random(4)
    chosen = engine.far_apart(sparse.csr_array(X), draws, n_begun)
    given_rows, n = [*range(n_rows - n_begun, n_rows)], n_rows - n_begun
    for row, draw in zip(chosen, draws, strict=True):
        nearest = np.max(X[:n] @ X[given_rows].T, axis=1, initial=0)
        distance = np.where(X[:n].any(axis=1) & (nearest < 1 - 1e-9), 1 - nearest, 0)
        share = np.cumsum(distance**2) / (distance**2).sum()
        # the interval of the row, give or take rounding, holds the number that was drawn
        assert (share[row - 1] if row else 0) - 1e-9 <= draw <= share[row] + 1e-9
        assert distance[row] > 0
        given_rows.append(row)


@pytest.mark.parametrize("name", NAMES)
def test_too_few_distinct_rows_give_none(name):
    X = sparse.csr_array(np.repeat(np.eye(3), 5, axis=0))
    engine, draws = made(name), np.random.default_rng(0).random(4)
    assert sorted(engine.far_apart(X, draws[:3]) // 5) == [0, 1, 2]
    assert engine.far_apart(X, draws) is None
    assert engine.far_apart(X, draws[:3], 1) is None
    assert engine.far_apart(sparse.csr_array((4, 3)), draws) is None


@pytest.mark.cuda
@pytest.mark.skipif(no_gpu() is not None, reason=no_gpu() or "there is a GPU")
def test_scores_do_not_depend_on_blocks(monkeypatch):
    rng, engine = np.random.default_rng(0), get_engine("cuda")
    X, topics = make_documents(rng, 60, 50), make_topics(rng, 9, 50)
    theta = rng.dirichlet(np.ones(9), 60).astype(np.float32)
    whole = engine.predict(topics, engine.documents(X), theta)
    monkeypatch.setattr("opelda.engines.cuda._documents.AT_ONCE", 1000)
    assert np.array_equal(engine.predict(topics, engine.documents(X), theta), whole)
