"""Statistics: sums over all or some documents, in one call or added from parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines.seam import Statistics, Step
from opelda.inference import EM
from opelda.learning._rules import ML, Online
from tests import equations
from tests.cases import cases

from .learning_made import SEED, K, V, Vertex, every_rule, held, made, some_methods
from .made import SEEDS, as_lambda, make_task, plain_weights, same_bytes


@every_rule
@some_methods
@cases("number", [1, 2])
def test_update_equals_applied_statistics(tested, engine, method, rule, number):
    """Also with the statistics of parts added, in any order."""
    at_once, documents = made(engine, prior_weight=0.0)
    in_parts, in_steps = engine.weights(at_once.host()), engine.weights(at_once.host())
    task, step = make_task(K, method), Step(number, 0.4, 30.0, SEED)
    engine.update(at_once, documents, task, rule, step)
    whole = engine.statistics(in_steps, documents, task, divide=rule.divide)
    engine.apply(in_steps, whole, rule, step)
    X = documents.matrix
    parts = [
        engine.statistics(in_parts, engine.documents(X[chosen]), task, divide=rule.divide)
        for chosen in ([11], [3, 4, 5, 0], [1, 2, 6], [10, 9, 8, 7])
    ]
    engine.apply(in_parts, parts[0] + parts[1] + (parts[2] + parts[3]), rule, step)
    for weights in (in_steps, in_parts):
        np.testing.assert_allclose(weights.scale, at_once.scale, rtol=1e-6)
        np.testing.assert_allclose(weights.prior_weight, at_once.prior_weight, rtol=1e-12)
        np.testing.assert_allclose(
            as_lambda(weights.host()), as_lambda(at_once.host()), rtol=1e-5, atol=1e-8
        )
        np.testing.assert_allclose(weights.sums, at_once.sums, rtol=1e-6)


@some_methods
@pytest.mark.parametrize("divide", [False, True])
def test_statistics_are_sums_over_documents(tested, engine, method, divide):
    weights, documents = made(engine)
    before, task = weights.host().rows.tobytes(), make_task(K, method)
    whole = engine.statistics(weights, documents, task, divide=divide)
    assert weights.host().rows.tobytes() == before
    X = documents.matrix.toarray()
    assert np.array_equal(whole.words, np.flatnonzero(X.any(axis=0)))
    assert whole.n_docs == 12
    rule = Online() if divide else ML()
    beta, theta = held(engine, weights, documents, task, rule)
    sums = equations.statistics(beta, X.astype(float), theta) if divide else theta.T @ X
    np.testing.assert_allclose(whole.values.T, sums[:, whole.words], rtol=1e-5, atol=1e-7)
    tokens = X.sum(axis=0, dtype=float)[whole.words]
    np.testing.assert_allclose(whole.values.sum(axis=1), tokens, rtol=1e-5)
    np.testing.assert_allclose(whole.mass.sum(), X.sum(dtype=float), rtol=1e-5)
    for cut in range(13):
        parts = [
            engine.statistics(weights, engine.documents(part), task, divide=divide)
            for part in (documents.matrix[:cut], documents.matrix[cut:])
        ]
        for total in (parts[0] + parts[1], parts[1] + parts[0]):
            assert total.n_docs == whole.n_docs
            assert np.array_equal(total.words, whole.words)
            np.testing.assert_allclose(total.values, whole.values, rtol=1e-5, atol=1e-7)
            np.testing.assert_allclose(total.mass, whole.mass, rtol=1e-6)


def test_statistics_of_different_words_are_merged():
    one = Statistics(np.int32([2, 5]), np.array([[1.0], [2.0]]), np.array([3.0]), 2)
    other = Statistics(np.int32([0, 5]), np.array([[4.0], [8.0]]), np.array([12.0]), 3)
    for total in (one + other, other + one):
        assert total.words.tolist() == [0, 2, 5]
        assert total.values.tolist() == [[4.0], [1.0], [10.0]]
        assert (total.mass.tolist(), total.n_docs) == ([15.0], 5)


@given(SEEDS, st.lists(st.integers(0, 11)))
def test_chosen_documents_equal_a_collection_of_them(engine, seed, chosen):
    """In any order, with duplicates."""
    weights, documents = made(engine, seed=seed)
    task, chosen = make_task(K, EM()), np.array(chosen, np.int64)
    alone = engine.documents(sparse.csr_array(documents.matrix.toarray()[chosen].reshape(-1, V)))
    found, expected = (
        engine.statistics(weights, *what, divide=True, chosen=which)
        for *what, which in ((documents, task, chosen), (alone, task, None))
    )
    assert same_bytes(found, expected)
    other, step = engine.weights(weights.host()), Step(2, 0.5, 12.0, SEED)
    done = engine.update(weights, documents, task, Online(), step, chosen=chosen)
    same = engine.update(other, alone, task, Online(), step)
    assert (done is None) == (same is None) == (alone.matrix.nnz == 0)
    assert same_bytes(weights.host(), other.host())


def test_unexplained_tokens_belong_to_no_topic(engine):
    weights = engine.weights(plain_weights([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]]))
    documents = engine.documents(sparse.csr_array(np.float32([[3, 2, 1]])))
    found = engine.statistics(weights, documents, make_task(2, Vertex()), divide=True)
    np.testing.assert_allclose(found.values, [[3, 0], [2, 0], [0, 0]])
    found = engine.statistics(weights, documents, make_task(2, Vertex()), divide=False)
    np.testing.assert_allclose(found.values, [[3, 0], [2, 0], [1, 0]])
    np.testing.assert_allclose(found.mass, [6, 0])
