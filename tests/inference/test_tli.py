"""TLI: its linear programs, threshold, likelihood and warnings."""

import numpy as np
import pytest
from scipy.optimize import linprog

from opelda.inference import infer, tli
from opelda.inference._method import Document
from opelda.inference.tli import TLI, TLIWarning, linear_inverse
from tests.cases import cases

from .numpy_methods_helpers import Contract, concave_optimum, corpus

DISJOINT = np.repeat(np.eye(3), 2, axis=1) / 2


@pytest.mark.filterwarnings("ignore::opelda.inference.tli.TLIWarning")
class TestContract(Contract):
    method = TLI()
    random = False
    wrong = ({"delta": -0.1}, {"delta": 0.5}, {"threshold": -1}, {"n_iter": 0}, {"tol": 2})


@cases("delta", [0.0, 0.01, 0.2])
def test_linear_inverse_inverts(delta):
    _, topics, _ = corpus(1, n_docs=1, n_topics=5, n_words=40, n_tokens=1)
    inverse = linear_inverse(topics, delta)
    assert np.abs(inverse.matrix @ topics.T - np.eye(5)).max() <= delta + 1e-7
    assert np.abs(inverse.matrix).max() == inverse.bound


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_inverse_has_minimal_entries(delta):
    """By the dual program: lambda_i = max y_i - delta |y|_1 subject to |A y|_1 <= 1."""
    _, topics, _ = corpus(2, n_docs=1, n_topics=3, n_words=7, n_tokens=1)
    matrix = linear_inverse(topics, delta).matrix
    for i in range(3):
        # y = p - q with p, q >= 0, and z_j >= |(A y)_j|
        cost = np.concatenate((np.full(3, delta), np.full(3, delta), np.zeros(7)))
        cost[i] -= 1
        cost[3 + i] += 1
        both = np.hstack((topics.T, -topics.T))
        bounds = np.vstack(
            (
                np.hstack((both, -np.eye(7))),
                np.hstack((-both, -np.eye(7))),
                np.concatenate((np.zeros(6), np.ones(7))),
            )
        )
        dual = linprog(cost, bounds, np.concatenate((np.zeros(14), [1.0])))
        assert np.abs(matrix[i]).max() == pytest.approx(-dual.fun, abs=1e-7)


def test_disjoint_topics_need_no_more_than_one_minus_delta():
    assert linear_inverse(DISJOINT, 0.1).bound == pytest.approx(0.9)


@pytest.mark.parametrize("seed", range(1))
def test_topics_of_long_documents_are_recovered(seed):
    _, topics, _ = corpus(seed, n_docs=1, n_topics=6, n_words=200, n_tokens=1)
    theta = np.array([[0.6, 0, 0.4, 0, 0, 0], [0, 1.0, 0, 0, 0, 0], [0.2, 0.2, 0.2, 0, 0.2, 0.2]])
    rng = np.random.default_rng(seed + 1)
    X = np.array([rng.multinomial(100_000, p / p.sum()) for p in theta @ topics])
    found = infer(X, topics, method=TLI()).theta
    np.testing.assert_allclose(found, theta, atol=0.02)


def test_kept_topics_have_the_most_likely_mixture():
    X, topics, _ = corpus(4, n_docs=3, n_topics=6, n_words=60, n_tokens=20_000, alpha=0.2)
    result = infer(X, topics, method=TLI(tol=1e-6, n_iter=20_000))
    for x, theta, value in zip(X, result.theta, result.log_likelihood, strict=True):
        best = concave_optimum(x.astype(float), topics[theta > 0], 1.0)
        assert best - 0.02 - 1e-3 <= value <= best + 1e-3  # tol * N, and single precision


def test_tau_is_the_papers_threshold():
    """Two tokens less than tau asks for, and the topic is gone."""
    method = TLI(delta=0.0)  # disjoint topics: lambda = 1, the estimate is the share of tokens
    tau = 2 * np.sqrt(np.log(3) / 1000)
    inverse = linear_inverse(DISJOINT, 0.0)
    smooth = 0.999 * DISJOINT + 0.001 / 6  # so that words of a removed topic stay possible
    for half, kept in ((int(tau * 500), False), (int(tau * 500) + 1, True)):
        counts = np.array([500.0 - half, 500 - half, half, half, 0, 0])
        document = Document(counts, smooth, np.ones(3))
        support = method._infer(document, inverse)[0] > 0
        assert support.tolist() == [True, kept, False]


def test_too_similar_topics_are_reported():
    topics = [[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    with pytest.warns(
        TLIWarning, match=r"all topics for 2 of 3 documents: 2 topics have no linear"
    ):
        result = infer([[500, 500, 1000], [0, 0, 0], [9, 1, 0]], topics, method=TLI())
    np.testing.assert_allclose(result.theta[0], [0.25, 0.25, 0.5], atol=1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_too_short_documents_are_reported(seed):
    X, topics, _ = corpus(seed, n_docs=3, n_topics=6, n_words=200, n_tokens=5)
    with pytest.warns(TLIWarning, match="for 3 of 3 documents: no set of topics"):
        result = infer(X, topics, method=TLI(tol=1e-5, n_iter=10_000))
    assert (result.likelihood_gap <= 1e-4).all()  # all topics, as likely as can be


def test_words_missing_from_the_kept_topics_are_reported():
    with pytest.warns(TLIWarning, match="for 1 of 2 documents"):
        result = infer([[999, 0, 1, 0, 0, 0], [1000, 0, 0, 0, 0, 0]], DISJOINT, method=TLI())
    np.testing.assert_allclose(result.theta, [[0.999, 0.001, 0], [1, 0, 0]], atol=1e-6)


def test_inverse_is_cached_per_topics_and_delta(monkeypatch):
    calls = []

    def counted(topics, delta):
        calls.append(delta)
        return linear_inverse(topics, delta)

    monkeypatch.setattr(tli, "linear_inverse", counted)
    tli.cached_inverse.cache_clear()
    X, topics, _ = corpus(6, n_docs=2, n_topics=3, n_words=20, n_tokens=50_000)
    for method in (TLI(), TLI(threshold=1.0), TLI(delta=0.02)):
        infer(X, topics, method=method)
    infer(X, topics.copy(), method=TLI())  # the same topics, in another array
    assert calls == [0.01, 0.02]
    infer(X, topics[::-1], method=TLI())
    assert len(calls) == 3
    for seed in range(5):
        infer(X, corpus(seed, 1, 3, 20, 1)[1], method=TLI(threshold=0.0))
    assert tli.cached_inverse.cache_info().currsize == 4


def test_document_with_every_word_needs_no_batch():
    X, topics, _ = corpus(7, n_docs=1, n_topics=3, n_words=10, n_tokens=50_000)
    assert (X > 0).all()
    document = Document(X[0].astype(float), topics, np.ones(3))
    theta, _ = TLI().reference(document, seed=0)
    np.testing.assert_allclose(theta, infer(X, topics, method=TLI()).theta[0], atol=1e-6)
