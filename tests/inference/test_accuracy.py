"""Requested accuracy: every method reaches max_loss or names the documents that miss it."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from opelda import TopicModel
from opelda.errors import InputError
from opelda.inference import METHODS, OPE, AccuracyWarning, Exact, PerToken, Topics, infer
from opelda.metrics import log_predictive_probability
from tests.cases import cases

pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
QUICK = {"hamcmc": {"n_iter": 60, "burn_in": 20}, "pmd": {"n_particles": 20, "n_iter": 5}}


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("engine", ["cpu", "reference"])
def test_every_method_reaches_the_requested_max_loss(method, engine, make_problem):
    X, topics, _ = make_problem(1, n_docs=5, n_topics=8)
    method = METHODS[method](**QUICK.get(method, {}))
    plain = infer(X, topics, method=method, random_state=0, engine=engine)
    result = infer(X, topics, method=method, random_state=0, engine=engine, max_loss=0.1)
    assert (result.loss <= 0.1).all()
    tokens = X.sum(axis=1)
    own = tokens * np.log1p(plain.likelihood_gap / tokens) <= 0.1 - 1e-5
    if method.name != "exact":
        assert np.array_equal(result.theta[own], plain.theta[own])
    each = infer(X, topics, method=method, random_state=0, engine=engine, max_loss=PerToken(1e-4))
    assert (each.loss <= 1e-4 * tokens).all()


def test_sufficiently_accurate_mixtures_are_unchanged(make_problem):
    X, topics, _ = make_problem(2, n_docs=40)
    plain = infer(X, topics, method="vb", random_state=0)
    tokens = X.sum(axis=1)
    own = tokens * np.log1p(plain.likelihood_gap / tokens)
    asked = float(np.median(own))
    result = infer(X, topics, method="vb", random_state=0, max_loss=asked)
    same = (result.theta == plain.theta).all(axis=1)
    assert np.array_equal(same, own <= asked)


def test_max_loss_of_exact_and_of_infer_combine():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(30, 0.2), 10)
    X = rng.poisson(1.0, (3, 30)) * 1e12
    with pytest.warns(AccuracyWarning, match="3 documents"):
        assert infer(X, topics, method=Exact(max_loss=1e-6)).missed.tolist() == [0, 1, 2]
    loose = infer(X / 1e12, topics, method="exact", max_loss=5.0)
    assert loose.method.max_loss == 5.0
    assert loose.n_iter.sum() < infer(X / 1e12, topics, method="exact").n_iter.sum()
    both = infer(X / 1e12, topics, method=Exact(max_loss=1e-4), max_loss=5.0)
    assert (both.loss <= 1e-4).all()


@pytest.mark.parametrize("engine", ["cpu", "reference"])
@pytest.mark.parametrize("alpha", [None, 1.5])
def test_transform_reaches_max_loss(engine, alpha, make_problem):
    X, _, _ = make_problem(8, n_docs=10, n_topics=4)
    model = TopicModel(
        4, preset="paper", doc_topic_prior=alpha, batch_size=5, random_state=0, engine=engine
    ).fit(X)
    for method in ("exact", "em", "vb", "cccp"):
        model.set_params(transform_method=method, max_loss=0.01, sparse_output=False)
        found = model.infer(X)
        assert (found.loss <= 0.01).all(), method
        np.testing.assert_allclose(model.transform(X), found.theta, rtol=1e-6, err_msg=method)
        few = model.set_params(sparse_output=True).transform(X)
        np.testing.assert_allclose(few.toarray(), found.theta, rtol=1e-6, err_msg=method)


@pytest.mark.parametrize("seed", range(1))
def test_exact_mixtures_are_sparse(make_problem, seed):
    X, topics, _ = make_problem(seed, n_docs=50, n_topics=100, n_words=200, n_tokens=60)
    result = infer(X, topics, method="exact")
    few = infer(X, topics, method="exact", sparse_output=True)
    assert (result.theta > 0).sum(axis=1).mean() <= 30
    assert isinstance(few.theta, sparse.csr_array)
    assert few.theta.nnz == (result.theta > 0).sum()
    assert np.array_equal(few.theta.toarray(), result.theta)
    assert np.array_equal(few.loss, result.loss)


@pytest.mark.parametrize("method", ["ope", "em", "vb", "cccp", "exact"])
def test_sparse_output_is_the_same_mixture(method, make_problem):
    X, topics, _ = make_problem(5)
    X[3] = 0
    for options in ({}, {"max_loss": 0.5}):
        dense = infer(X, topics, method=method, random_state=0, **options)
        few = infer(X, topics, method=method, random_state=0, sparse_output=True, **options)
        np.testing.assert_allclose(few.theta.toarray(), dense.theta, rtol=1e-6)
        assert np.array_equal(few.loss, dense.loss)


@pytest.mark.parametrize("max_loss", [0.1, 1e-5])
def test_mixture_depends_only_on_the_document(max_loss, make_problem):
    X, topics, _ = make_problem(6, n_docs=200, n_topics=40)
    table = Topics(topics)
    options = {"method": OPE(n_iter=10), "max_loss": max_loss, "random_state": 0}
    whole = infer(X, table, n_jobs=1, **options)
    for threads in (2, 7):
        assert np.array_equal(infer(X, table, n_jobs=threads, **options).theta, whole.theta)
    order = np.random.default_rng(0).permutation(200)
    assert np.array_equal(infer(X[order], table, **options).theta, whole.theta[order])
    assert np.array_equal(infer(X[60:65], table, **options).loss, whole.loss[60:65])


def test_documents_that_miss_max_loss_are_named():
    rng = np.random.default_rng(1)
    topics = rng.dirichlet(np.full(30, 0.2), 10)
    X = rng.poisson(1.0, (9, 30)).astype(float)
    X[[2, 5]] *= 1e12
    with pytest.warns(AccuracyWarning, match=r"2 documents missed .* \(rows 2, 5\)"):
        result = infer(X, topics, max_loss=1e-6, random_state=0)
    assert result.missed.tolist() == [2, 5]
    assert (result.loss[[2, 5]] > 1e-6).all()
    assert (np.delete(result.loss, [2, 5]) <= 1e-6).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(infer(X, topics, max_loss=PerToken(1e-6), random_state=0).missed) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda model, X: infer(X, model.components_, max_loss=1e-9),
        lambda model, X: model.infer(X),
        lambda model, X: model.transform(X),
        lambda model, X: model.set_output(transform="pandas").transform(X),
        lambda model, X: model.fit_transform(X),
        lambda model, X: make_pipeline(model).transform(X),
        lambda model, X: model.score(X),
        lambda model, X: log_predictive_probability(model, X, method=None),
    ],
)
def test_accuracy_warning_names_the_callers_file(call):
    X = np.random.default_rng(1).poisson(1.0, (9, 30)) * 1000
    model = TopicModel(3, preset="fast", max_loss=1e-9, random_state=0).fit(X)
    with pytest.warns(AccuracyWarning) as found:
        call(model, X)
    assert {warning.filename for warning in found} == {__file__}


def test_empty_documents_have_zero_loss():
    result = infer([[0, 0], [1, 2]], [[0.5, 0.5], [0.9, 0.1]], max_loss=0.01, random_state=0)
    assert result.loss[0] == 0
    np.testing.assert_allclose(result.theta[0], 0.5)


@cases("value", [0, -1, 1e-12, "0.1", float("nan"), True])
@cases("asked", [lambda x: x, PerToken, lambda x: PerToken(0.1, x)])
def test_bad_max_loss_is_rejected(asked, value):
    with pytest.raises(InputError, match="max_loss must be a number from 1e-09"):
        infer([[1, 2]], [[0.5, 0.5]], max_loss=asked(value))
    with pytest.raises(InputError, match="max_loss must be a number from 1e-09"):
        infer([[1, 2]], [[0.5, 0.5]], method=Exact(asked(value)))


def test_the_smaller_of_two_limits_counts(make_problem):
    X, topics, _ = make_problem(1, n_docs=12, n_topics=8)
    result = infer(X, topics, max_loss=PerToken(1e-3, at_most=0.01), random_state=0)
    assert (result.loss <= np.minimum(1e-3 * X.sum(axis=1), 0.01)).all()
