"""Exact: for any document, no mixture beats the result by more than max_loss."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize

from opelda.engines import CPUEngine
from opelda.engines.cpu import _kernels as _cpu_kernels
from opelda.inference import AccuracyWarning, PerToken, Topics, infer
from tests.cases import cases

pytestmark = pytest.mark.filterwarnings("ignore::opelda.inference.TLIWarning")
LOSSES = (1.0, 0.1, 0.01, 1e-4, 1e-6)


def single(topics):
    """Return topics as kernels know them, in double precision."""
    known = np.asarray(topics, np.float32).astype(np.float64)
    known[known < 1e-15] = 0.0
    return known


def log_likelihood(d, topics, theta):
    """sum_j d_j log x_j in extended precision, the mixture made to sum to 1."""
    theta = theta.astype(np.longdouble) / theta.astype(np.longdouble).sum()
    held = (d > 0) & (topics > 0).any(axis=0)
    x = theta @ topics[:, held].astype(np.longdouble)
    return float((d[held].astype(np.longdouble) * np.log(x)).sum())


def best_by_scipy(d, topics, weight):
    """Return the largest sum_j d_j log x_j + sum_k weight_k log theta_k that L-BFGS finds."""
    held = (d > 0) & (topics > 0).any(axis=0)
    d, topics = d[held].astype(np.float64), topics[:, held]

    def negative(eta):
        theta = np.exp(eta - eta.max())
        theta = np.maximum(theta / theta.sum(), 1e-300)
        x = theta @ topics
        slope = topics @ (d / x) + weight / theta
        return -(d @ np.log(x) + weight @ np.log(theta)), -theta * (slope - slope @ theta)

    start = np.zeros(len(topics))
    return -minimize(negative, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).fun


@given(data=st.data())
def test_every_document_reaches_max_loss(data, draw_problem):
    X, topics, _ = draw_problem(data, alphas=(None,))
    asked = data.draw(st.sampled_from(LOSSES), label="max_loss")
    result = infer(X, topics, method="exact", max_loss=asked)
    assert (result.loss <= asked).all()
    assert len(result.missed) == 0
    assert np.array_equal(result.loss, result.likelihood_loss)
    np.testing.assert_allclose(result.theta.sum(axis=1), 1, rtol=1e-5)
    assert (result.theta >= 0).all()
    reference = infer(X, topics, method="exact", engine="reference").theta
    known = single(topics)
    for d, theta, other, loss in zip(X, result.theta, reference, result.loss, strict=True):
        found = log_likelihood(d, known, theta)
        best = max(best_by_scipy(d, known, np.zeros(len(topics))), log_likelihood(d, known, other))
        assert best - found <= loss + 1e-9 * (1 + d.sum())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["ope", "em", "vb", "cvb0", "fw", "cccp"]))
def test_every_methods_bound_is_valid_and_tight(seed, method):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(60, 0.1), 15)
    X = rng.poisson(0.5, (8, 60))
    result = infer(X, topics, method=method, random_state=seed)
    best = infer(X, topics, method="exact", engine="reference").theta
    for i, d in enumerate(X):
        behind = log_likelihood(d, single(topics), best[i])
        behind -= log_likelihood(d, single(topics), result.theta[i])
        assert behind - 1e-6 <= result.likelihood_loss[i] <= behind + 0.011


@pytest.mark.parametrize("alpha", [1.0, 1.001, 1.5, 8.0, "vector", "some at 1"])
@pytest.mark.parametrize("method", ["exact", "em"])
@pytest.mark.parametrize("n_words", [9, 40])
def test_loss_includes_a_concave_prior(alpha, method, n_words, make_problem):
    X, topics, _ = make_problem(3, n_docs=6, n_topics=12, n_words=n_words)
    prior = np.full(12, alpha) if isinstance(alpha, float) else np.linspace(1.0, 3.0, 12)
    if alpha == "some at 1":
        prior[:6] = 1.0
    result = infer(X, topics, method=method, doc_topic_prior=prior, max_loss=0.01)
    assert (result.loss <= 0.01).all()
    for d, f, loss in zip(X, result.objective, result.loss, strict=True):
        assert best_by_scipy(d, single(topics), prior - 1) - f <= loss + 1e-4
    if alpha != 1.0:
        assert (result.likelihood_loss > 0).all()


def hard_cases():
    rng = np.random.default_rng(0)
    plain = rng.dirichlet(np.full(30, 0.2), 8)
    yield "duplicate topics", np.repeat(plain, 5, axis=0), rng.poisson(1.0, (6, 30))
    alike = plain[:1] * (1 + 1e-6 * rng.standard_normal((40, 30)))
    yield "topics all but alike", alike / alike.sum(axis=1, keepdims=True), rng.poisson(1, (6, 30))
    yield "more topics than words", rng.dirichlet(np.full(4, 0.3), 300), rng.poisson(2, (6, 4)) + 1
    yield "one word", rng.dirichlet(np.full(30, 0.2), 50), np.eye(30, dtype=int)[:6] * 7
    yield "many tokens", plain, rng.poisson(1e6 / 30, (6, 30))
    zeros = np.where(plain < 0.02, 0, plain)
    yield "exact zeros", zeros / zeros.sum(axis=1, keepdims=True), rng.poisson(1.0, (6, 30))
    only = 0.999 * np.eye(12) + 0.001 / 12
    yield "a topic a word", only / only.sum(axis=1, keepdims=True), rng.poisson(2.0, (6, 12))
    rare = np.full((20, 30), 1e-12)
    rare[:, :10] = rng.dirichlet(np.full(10, 0.3), 20)
    rare[3, 20] = 0.5
    yield "nearly impossible words", rare / rare.sum(axis=1, keepdims=True), rng.poisson(1, (6, 30))
    none = plain.copy()
    none[:, 5] = 0
    yield "impossible words", none / none.sum(axis=1, keepdims=True), rng.poisson(1.0, (6, 30))
    yield "fractions", plain, rng.gamma(0.1, 1.0, (6, 30))
    huge = rng.dirichlet(np.full(30, 0.2), 20_000)
    yield "20,000 topics", huge, rng.poisson(1.0, (6, 30))


@pytest.mark.parametrize(("topics", "X"), [pytest.param(*c[1:], id=c[0]) for c in hard_cases()])
@pytest.mark.parametrize("asked", [1.0, 0.01, 1e-4])
def test_hard_cases(topics, X, asked):
    result = infer(X, topics, method="exact", max_loss=asked)
    assert (result.loss <= asked).all()
    known = single(topics)
    if len(topics) > 1000:
        return
    best = infer(X, topics, method="exact", engine="reference").theta
    for d, theta, other, loss in zip(X, result.theta, best, result.loss, strict=True):
        d = np.asarray(d, np.float32)
        behind = log_likelihood(d, known, other) - log_likelihood(d, known, theta)
        assert behind <= loss + 1e-12 * d.sum()


@cases(
    "X",
    [
        np.where(np.arange(40) < 3, 50, 1e-15),
        np.where(np.arange(40) < 20, 50, 1e-12),
        np.full(40, 1e-6),
        np.full(40, 1e-19),
        np.full(40, 1.0),
        np.where(np.arange(40) < 20, 1e13, 1e-19),
    ],
    ids=["hardly there", "many hardly there", "few tokens", "next to none", "a topic each", "both"],
)
@pytest.mark.parametrize("method", ["exact", "em", "fw", "ope"])
@cases("engine", ["cpu", "reference"])
@pytest.mark.filterwarnings("ignore::opelda.inference.AccuracyWarning")
def test_finite_loss_implies_positive_word_probabilities(X, method, engine):
    """Forty topics without common words are all needed, even with tiny shares."""
    result = infer(X[None], np.eye(40), method=method, doc_topic_prior=1e-30, engine=engine)
    theta = result.theta[0].astype(np.longdouble)
    if (theta == 0).any():
        assert np.isinf(result.loss[0])
        return
    d = X.astype(np.float32).astype(np.longdouble)
    behind = (d * (np.log(d / d.sum()) - np.log(theta / theta.sum()))).sum()
    assert behind <= result.loss[0] + 1e-15 * d.sum()
    asked = infer(X[None], np.eye(40), method=method, engine=engine, max_loss=PerToken(1e-3))
    assert (asked.theta > 0).all()
    assert len(asked.missed) == 0


@pytest.mark.parametrize("n_topics", [100, 300])
def test_many_topics_may_be_needed(n_topics):
    X = np.random.default_rng(0).integers(1, 9, (2, n_topics))
    result = infer(X, np.eye(n_topics), method="exact")
    np.testing.assert_allclose(result.theta, X / X.sum(axis=1, keepdims=True), rtol=0.2)
    assert (result.loss <= 0.01).all()


def test_duplicate_topics_do_not_prevent_accuracy():
    rng = np.random.default_rng(2)
    topics = np.repeat(rng.dirichlet(np.full(60, 0.1), 33), 3, axis=0)
    X = rng.poisson(0.8, (40, 60))
    assert len(infer(X, topics, method="exact", max_loss=1e-7).missed) == 0


@pytest.mark.parametrize("alpha", [[1e6, 1.0, 1e6], [50.0, 50.0, 50.0], [1.0, 1 + 1e-9, 1.0]])
@pytest.mark.parametrize("method", ["em", "vb", "fw", "exact", "ope"])
@pytest.mark.filterwarnings("ignore::opelda.inference.AccuracyWarning")
def test_bounds_hold_for_steep_priors(alpha, method):
    rng = np.random.default_rng(3)
    topics, alpha = rng.dirichlet(np.full(20, 0.3), 3), np.array(alpha)
    X = rng.poisson(1.0, (5, 20))
    result = infer(X, topics, method=method, doc_topic_prior=alpha, random_state=0)
    known = alpha.astype(np.float32).astype(np.float64)
    for d, theta, loss in zip(X, result.theta.astype(np.longdouble), result.loss, strict=True):
        if ((theta == 0) & (known > 1)).any():
            assert np.isinf(loss)
            continue
        theta = theta / theta.sum()
        f = log_likelihood(d, single(topics), theta)
        f += float(((known - 1)[known > 1] * np.log(theta[known > 1])).sum())
        assert best_by_scipy(d, single(topics), known - 1) - f <= loss + 1e-9 * alpha.sum()


def test_every_instruction_set_reaches_max_loss(make_problem):
    X, topics, _ = make_problem(7, n_docs=100, n_topics=50)
    engine = CPUEngine(1)
    best = engine.instruction_set
    try:
        for name in ("base", best):
            engine.use_instruction_set(name)
            result = infer(X, topics, method="exact", engine=engine, max_loss=1e-4)
            assert (result.loss <= 1e-4).all()
    finally:
        engine.use_instruction_set(best)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100))
def test_stated_losses_hold_for_a_million_documents(seed):
    """Of every kind of document, against mixtures found by other methods and other arithmetic."""
    rng = np.random.default_rng(seed)
    n_topics, n_words = int(rng.integers(2, 120)), int(rng.integers(2, 400))
    topics = rng.dirichlet(np.full(n_words, rng.choice([0.02, 0.1, 1.0])), n_topics)
    if seed % 3 == 0:
        topics = topics + 1e-6
        topics /= topics.sum(axis=1, keepdims=True)
    table = Topics(topics.astype(np.float32) / topics.astype(np.float32).sum(1, keepdims=True))
    theta = rng.dirichlet(np.full(n_topics, 0.1), 10_000)
    X = sparse.csr_array(rng.poisson(theta @ topics * rng.gamma(1, 60, (10_000, 1))), dtype=float)
    asked = float(rng.choice(LOSSES))
    ours = [infer(X, table, method=m, max_loss=asked, random_state=0) for m in ("exact", "ope")]
    ours += [infer(X, table, method="em")]
    others = [infer(X, table, method="exact", max_loss=1e-7)]
    others += [infer(X, table, method="vb", doc_topic_prior=0.01)]
    known = table.components.astype(np.float64)
    entries = X.tocoo()

    def values(theta):
        theta = theta.astype(np.float64) / theta.astype(np.float64).sum(axis=1, keepdims=True)
        x = np.einsum("ik,ki->i", theta[entries.row], known[:, entries.col])
        with np.errstate(divide="ignore"):
            return np.bincount(entries.row, entries.data * np.log(x), X.shape[0])

    best = np.max([values(other.theta) for other in others], axis=0)
    tokens = X.sum(axis=1)
    for result in ours:
        assert (best - values(result.theta) <= result.loss + 1e-10 * (1 + tokens)).all()
    assert (ours[0].loss <= asked).all()
    assert (ours[1].loss <= asked).all()


def many_topics(n_topics, rng):
    """Return topics without a word in common, counts of all words, and the best log-likelihood.

    In the optimal mixture, a topic's share is its fraction of the tokens.
    """
    n_words = 5 * n_topics
    of_topic = rng.permutation(np.arange(n_words) % n_topics)
    topics = np.zeros((n_topics, n_words))
    topics[of_topic, np.arange(n_words)] = rng.uniform(0.2, 1, n_words)
    topics = single(topics / topics.sum(axis=1, keepdims=True))
    counts = rng.poisson(3, n_words) + 1.0
    shares = np.bincount(of_topic, counts) / counts.sum()
    return topics, counts[None], log_likelihood(counts, topics, shares)


@given(seed=st.integers(0, 2**32 - 1), n_topics=st.integers(130, 300))
def test_documents_of_hundreds_of_topics_reach_max_loss(seed, n_topics):
    topics, X, best = many_topics(n_topics, np.random.default_rng(seed))
    found = infer(X, topics, method="exact", max_loss=1e-3)
    assert found.loss[0] <= 1e-3
    assert best - log_likelihood(X[0], topics, found.theta[0]) <= found.loss[0]


@pytest.mark.parametrize("n_topics", [40, 300])
def test_spent_work_leaves_a_valid_bound(n_topics, monkeypatch):
    """Kernels count multiply-adds: no document takes much longer than its gradients allow."""
    topics, X, best = many_topics(n_topics, np.random.default_rng(0))
    within = infer(X, topics, method="exact", max_loss=1e-6)
    monkeypatch.setattr(_cpu_kernels, "CERTIFICATE_WORK", -(10**15))
    monkeypatch.setattr(_cpu_kernels, "ACCURACY_WORK", -(10**15))
    with pytest.warns(AccuracyWarning):
        found = infer(X, topics, method="exact", max_loss=1e-6)
    assert found.missed.tolist() == [0]
    assert found.n_iter[0] < within.n_iter[0]
    assert 1e-6 < found.loss[0] < np.inf
    certified = infer(X, topics, method="em")
    for result in (found, certified):
        assert best - log_likelihood(X[0], topics, result.theta[0]) <= result.loss[0]
    several = infer(np.repeat(X, 70, axis=0), topics, method="em", n_jobs=2)
    assert (several.loss == certified.loss[0]).all()


@given(seed=st.integers(0, 2**32 - 1), above=st.sampled_from([5e-8, 1e-9, 1e-4, 0.1]))
def test_loss_uses_the_prior_in_double_precision(seed, above):
    """Of alpha = 1 + 5e-8 single precision makes 1: f is minus infinity where a share is 0."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(12, 0.3), 4)
    X = rng.poisson(2, (3, 12)) + 1.0
    alpha = np.full(4, 1 + above)
    for method in ("fw", "ope", "em", "exact"):
        found = infer(X, topics, doc_topic_prior=1 + above, method=method, random_state=0)
        for d, theta, loss in zip(X, found.theta.astype(np.float64), found.loss, strict=True):
            if not theta.all():
                assert loss == np.inf
                continue
            f = log_likelihood(d, single(topics), theta) + (alpha - 1) @ np.log(theta / theta.sum())
            best = best_by_scipy(d, single(topics), alpha - 1)
            assert best - f <= loss + 1e-9
