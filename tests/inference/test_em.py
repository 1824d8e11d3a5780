"""EM against its reference and known properties of EM."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from opelda import TopicModel
from opelda.engines import CPUEngine
from opelda.engines.seam import Task, Wanted
from opelda.errors import InputError
from opelda.inference import EM, Topics, infer
from opelda.inference._method import Document
from tests.cases import cases


@given(data=st.data())
def test_kernel_equals_reference(data, draw_problem, assert_same):
    X, topics, alpha = draw_problem(data)
    method = EM(
        n_iter=data.draw(st.integers(1, 12), label="n_iter"),
        n_kept=data.draw(st.integers(1, 24), label="n_kept"),
    )
    assert_same(X, topics, method=method, doc_topic_prior=alpha)


@pytest.mark.parametrize(
    ("n_topics", "n_kept"), [(40, 16), (40, 17), (100, 33), (300, 16), (9, 16)]
)
def test_kernel_equals_reference_on_longer_documents(n_topics, n_kept, make_problem, assert_same):
    X, topics, _ = make_problem(3, n_docs=20, n_topics=n_topics, n_words=200, n_tokens=150)
    assert_same(X, topics, method=EM(n_kept=n_kept))


@cases("alpha", [0.05, 1.0, "vector"])
def test_all_topics_and_many_iterations_reach_the_maximum(alpha, make_problem, best_mixture):
    X, topics, _ = make_problem(5, n_docs=8, n_topics=12)
    weight = np.linspace(0.05, 0.8, 12) if alpha == "vector" else np.full(12, alpha)
    found = infer(X, topics, method=EM(n_iter=20_000, n_kept=12), doc_topic_prior=weight)
    for d, theta in zip(X, found.theta, strict=True):
        np.testing.assert_allclose(theta, best_mixture(d, topics, weight), atol=2e-5)


def test_every_iteration_increases_the_objective(make_problem):
    X, topics, _ = make_problem(6, n_docs=20, n_topics=15)
    alpha = 0.1

    def height(n_iter):
        method = EM(n_iter=n_iter, n_kept=15)
        theta = infer(X, topics, method=method, doc_topic_prior=alpha, engine="reference").theta
        theta = theta.astype(np.float64)
        return (X * np.log(theta @ topics)).sum(axis=1) + alpha * np.log(theta).sum(axis=1)

    heights = np.array([height(n_iter) for n_iter in range(1, 12)])
    assert (np.diff(heights, axis=0) >= -1e-4).all()
    assert (heights[-1] > heights[0] + 0.1).any()


def test_dropped_topics_have_the_priors_share(make_problem):
    X, topics, _ = make_problem(7, n_docs=30, n_topics=20)
    X[3] = 0
    alpha = np.linspace(0.1, 1.0, 20)
    found = infer(X, topics, method=EM(n_kept=5), doc_topic_prior=alpha)
    share = alpha / (X.sum(axis=1, keepdims=True) + alpha.sum())
    kept = found.theta > share * (1 + 1e-5)
    assert (kept.sum(axis=1) <= 5).all()
    np.testing.assert_allclose(found.theta[~kept], share[~kept], rtol=1e-5)
    np.testing.assert_allclose(found.picked.toarray() + share, found.theta, atol=1e-6)
    assert found.picked[[3]].nnz == 0


def test_kept_topics_explain_the_most_tokens(make_problem):
    X, topics, _ = make_problem(8, n_docs=40, n_topics=30)
    found = infer(X, topics, method=EM(n_kept=4))
    for d, row in zip(X, found.picked.toarray(), strict=True):
        explained = topics @ (d / topics.mean(axis=0))
        assert set(np.flatnonzero(row)) <= set(np.argsort(-explained)[:4])


def test_ties_between_topics_keep_the_first():
    topics = np.tile([[0.25, 0.75]], (40, 1))
    found = infer([[3, 1]], topics, method=EM(n_kept=7))
    assert np.array_equal(found.picked.indices, np.arange(7))


def test_only_requested_results_are_computed(make_problem):
    X, topics, _ = make_problem(9)
    engine = CPUEngine(1)
    given = (
        Topics(topics).on(engine),
        engine.documents(csr_array(X)),
        Task(EM(), np.full(10, 0.1), 0),
    )
    sparse = engine.infer(*given, Wanted(theta=False, certificate=False))
    dense = engine.infer(*given, Wanted(certificate=False, picks=False))
    assert sparse.theta is None
    assert dense.picks is None
    assert dense.certificate is None
    theta = sparse.picks.rest[:, None] * sparse.picks.start
    rows = np.repeat(np.arange(len(X)), np.diff(sparse.picks.indptr))
    theta[rows, sparse.picks.topics] += sparse.picks.shares
    np.testing.assert_allclose(theta, dense.theta, atol=1e-6)


@cases("learning", ["ml", "online", "streaming"])
def test_sparse_and_dense_mixtures_teach_equal_topics(learning, make_problem, monkeypatch):
    X, _, _ = make_problem(10, n_docs=200, n_topics=5)
    options = {
        "inference": "em",
        "learning": learning,
        "preset": "paper",
        "batch_size": 50,
        "random_state": 0,
    }
    sparse = TopicModel(5, **options).fit(X).components_
    monkeypatch.setattr(EM, "kernel", lambda self, n_topics, seed: None)
    dense = TopicModel(5, **options).fit(X).components_
    np.testing.assert_allclose(sparse, dense, atol=1e-5)


def test_reference_keeps_the_sum_of_tokens(make_problem):
    X, topics, _ = make_problem(11, n_docs=3)
    for counts in X:
        held = counts > 0
        document = Document(counts[held], topics[:, held], np.full(10, 0.3))
        theta, n_iter = EM(n_iter=3, n_kept=2).reference(document, 0)
        assert n_iter == 3
        assert np.isclose(theta.sum(), 1)


@cases("wrong", [{"n_iter": 0}, {"n_kept": 0}, {"n_kept": 2.5}])
def test_bad_parameters_are_rejected(wrong):
    with pytest.raises(InputError, match=r"n_.* must be a whole number"):
        infer([[1, 2]], [[0.5, 0.5]], method=EM(**wrong))
