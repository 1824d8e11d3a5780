"""OPE: the kernel against its reference, screening, picks, schedules and variants."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opelda.engines.cpu._tables import TopicTable
from opelda.errors import InputError
from opelda.inference import OPE, Topics, infer
from opelda.inference.ope import VARIANTS
from tests.cases import cases

SCHEDULES = ("practical", "literal")
PICKS = ("document", "shared", "balanced")
ALPHAS = (None, 0.5, 1.0, 2.5, "vector")


def corpus(seed, n_docs=6, n_words=30, n_topics=12, n_tokens=25, sparsity=0.2):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, sparsity), n_topics)
    theta = rng.dirichlet(np.full(n_topics, 0.3), n_docs)
    words = theta @ topics
    X = rng.multinomial(n_tokens, words / words.sum(axis=1, keepdims=True))
    return X.astype(np.float32), topics


def prior(alpha, n_topics):
    return np.linspace(0.05, 1.7, n_topics) if alpha == "vector" else alpha


def decided(X, topics, result, **options):
    """Documents whose reference does not change when the topics' last bits do: no near-ties."""
    stable = np.ones(len(X), bool)
    for seed in range(4):
        noise = np.random.default_rng(seed).uniform(-1, 1, topics.shape)
        moved = infer(X, topics * (1 + 3e-6 * noise), engine="reference", **options)
        stable &= np.abs(moved.theta - result.theta).max(axis=1) < 1e-3
    return stable


methods = st.builds(
    OPE,
    n_iter=st.integers(2, 60),
    variant=st.sampled_from(VARIANTS),
    schedule=st.sampled_from(SCHEDULES),
    coins=st.sampled_from(PICKS),
    n_restarts=st.integers(1, 3),
    tol=st.sampled_from([0.0, 0.01, 0.3]),
    epsilon=st.sampled_from([1e-10, 1e-4]),
    nu=st.floats(0, 1),
)


@given(
    methods,
    st.integers(0, 2**32 - 1),
    st.sampled_from(ALPHAS),
    st.integers(1, 40),
    st.integers(1, 60),
    st.floats(0.05, 0.95),
)
def test_kernel_equals_reference(method, seed, alpha, n_topics, n_tokens, p):
    if method.variant in ("bope", "g-ope", "newope"):
        method = method.set_params(p=p)
    X, topics = corpus(seed, n_docs=4, n_topics=n_topics, n_tokens=n_tokens)
    options = {"doc_topic_prior": prior(alpha, n_topics), "method": method, "random_state": seed}
    fast = infer(X, topics, **options)
    slow = infer(X, topics, engine="reference", **options)
    sure = decided(X, topics, slow, **options)
    assume(sure.any())
    assert np.abs(fast.theta - slow.theta)[sure].max() <= 1e-5
    if method.n_restarts == 1:  # or runs of other lengths may end at one mixture, and tie
        assert np.array_equal(fast.n_iter[sure], slow.n_iter[sure])
    scale = X.sum(axis=1) + n_topics
    for name in ("gap", "likelihood_gap", "log_likelihood", "log_prior"):
        quick, exact = getattr(fast, name)[sure], getattr(slow, name)[sure]
        assert (np.abs(quick - exact) <= 1e-4 * np.abs(exact) + 1e-5 * scale[sure]).all(), name


@pytest.mark.parametrize("variant", ["ope", "ope2"])
@pytest.mark.parametrize("seed", range(1))
def test_kernel_equals_reference_on_most_documents_of_an_ordinary_corpus(seed, variant):
    X, topics = corpus(seed, n_docs=200, n_words=400, n_topics=40, n_tokens=70)
    method = OPE(variant=variant)
    fast = infer(X, topics, method=method, random_state=seed)
    slow = infer(X, topics, method=method, random_state=seed, engine="reference")
    assert (np.abs(fast.theta - slow.theta).max(axis=1) <= 1e-5).mean() > 0.98


@given(
    methods,
    st.integers(0, 2**32 - 1),
    st.sampled_from(ALPHAS),
    st.sampled_from([1, 5, 33, 130, 300]),
    st.sampled_from([3, 40, 600]),
)
def test_screening_changes_nothing(method, seed, alpha, n_topics, n_tokens):
    X, topics = corpus(seed, n_docs=8, n_words=80, n_topics=n_topics, n_tokens=n_tokens)
    options = {"doc_topic_prior": prior(alpha, n_topics), "random_state": seed}
    screened = infer(X, topics, method=method.set_params(screen=True), **options)
    dense = infer(X, topics, method=method.set_params(screen=False), **options)
    for name in ("theta", "gap", "likelihood_gap", "log_likelihood", "log_prior", "n_iter"):
        assert np.array_equal(getattr(screened, name), getattr(dense, name)), name
    assert (screened.picked != dense.picked).nnz == 0


@pytest.mark.parametrize("alpha", [None, 1.0])
def test_screening_with_coarse_rows_changes_nothing(alpha):
    for seed in range(3):
        X, topics = corpus(seed, 300, n_words=900, n_topics=300, n_tokens=20 + 60 * seed)
        table = Topics(topics)
        options = {"doc_topic_prior": alpha, "random_state": seed}
        screened = infer(X, table, **options)
        dense = infer(X, table, method=OPE(screen=False), **options)
        assert np.array_equal(screened.theta, dense.theta)
        assert np.array_equal(screened.likelihood_gap, dense.likelihood_gap)


@pytest.mark.heavy
@pytest.mark.parametrize("n_topics", [20, 100, 400])
def test_screening_changes_nothing_on_many_documents(n_topics):
    for seed in range(20):
        X, topics = corpus(seed, 2000, n_words=900, n_topics=n_topics, n_tokens=10 + 10 * seed)
        table = Topics(topics)
        screened = infer(X, table, random_state=seed)
        dense = infer(X, table, random_state=seed, method=OPE(screen=False))
        assert np.array_equal(screened.theta, dense.theta)
        assert np.array_equal(screened.gap, dense.gap)


@pytest.mark.parametrize("n_topics", [9, 260])
def test_coarse_rows_are_tight_upper_bounds(n_topics):
    rng = np.random.default_rng(0)
    table = TopicTable.of(rng.dirichlet(np.full(70, 0.05), n_topics), None)
    coarse, scale = table.coarse(1)
    assert (coarse is None) == (n_topics < 256)
    if coarse is None:
        return
    quads = coarse.view(np.uint8).reshape(70, -1, 16, 4).swapaxes(2, 3)
    codes = quads.reshape(70, -1)[:, :n_topics].astype(np.uint32)
    values = (codes << 20).view(np.float32).astype(np.float64) * 2.0**48
    values *= scale[:, None]
    rows = table.rows[:, :n_topics]
    assert (values >= rows).all()
    assert (values[rows == 0] == 0).all()
    near = rows > rows.max(axis=1, keepdims=True) * 1e-6
    assert (values[near] <= rows[near] * 1.1251).all()


def test_theta_is_the_start_plus_the_picks():
    X, topics = corpus(1, n_docs=20)
    result = infer(X, topics, method=OPE(n_iter=20), random_state=0)
    times = result.picked.toarray() * 20
    np.testing.assert_allclose(times, times.round(), atol=1e-5)
    np.testing.assert_allclose(times.sum(axis=1), 19, atol=1e-4)
    np.testing.assert_allclose(result.theta, result.picked.toarray() + 1 / 12 / 20, atol=1e-6)


@pytest.mark.parametrize("seed", range(1))
def test_pick_weights_of_every_variant(seed):
    def plan(**parameters):
        return OPE(n_iter=40, **parameters)._settings(10, seed=seed)

    t = np.arange(2, 41)
    one = plan(coins="document")
    assert one.a.shape == (1024, 39)
    assert np.allclose(one.a + one.b, t)  # every pick is g1 or g2
    assert abs(one.a[:, -1].mean() - 20.5) < 1.0  # uniform, but for the first, which is g1
    balanced = plan(coins="balanced")
    assert (np.abs(balanced.a - balanced.b) <= 2).all()
    biased = plan(variant="g-ope", p=0.8, coins="document")
    assert np.allclose(biased.a * 0.8 + biased.b * 0.2, t, atol=1e-3)
    assert plan(variant="ope3").a2 is not None
    assert plan(variant="ope1").a2 is None
    first = plan(variant="ope4", nu=1.0)
    second = plan(variant="ope4", nu=0.0)
    half = plan(variant="ope4", nu=0.5)
    assert np.allclose(half.a, (first.a + second.a) / 2)


@pytest.mark.parametrize("variant", VARIANTS)
def test_memory_of_long_walks_is_bounded(variant):
    tracemalloc.start()
    try:
        walk = OPE(n_iter=100_000, variant=variant, n_restarts=12)._settings(10, seed=0)
        assert tracemalloc.get_traced_memory()[1] < 2.5e8
    finally:
        tracemalloc.stop()
    assert len(np.unique(walk.a, axis=0)) == len(walk.a) >= 12  # restarts differ


def test_long_walks_agree_with_the_reference():
    X, topics = corpus(0)
    how = {"method": OPE(n_iter=3000), "random_state": 0}
    fast, slow = (infer(X, topics, engine=engine, **how) for engine in ("cpu", "reference"))
    np.testing.assert_allclose(fast.objective, slow.objective, rtol=1e-4)


@pytest.mark.parametrize("seed", range(1))
def test_random_start_is_shared_and_seeded(seed):
    X, topics = corpus(seed, n_docs=40)
    method = OPE(init="random", n_iter=2)
    one, two = (infer(X, topics, method=method, random_state=s).theta for s in (seed, seed + 1))
    assert not np.allclose(one, two)
    rest = one.copy()
    rest[np.arange(len(X)), one.argmax(axis=1)] = 0
    shared = rest.max(axis=0)
    untouched = np.isclose(one, shared, atol=1e-6)
    assert (untouched.sum(axis=1) >= len(topics) - 1).all()


def test_more_restarts_never_decrease_the_objective():
    X, topics = corpus(3, n_docs=30)
    f = [
        infer(X, topics, method=OPE(n_restarts=r), random_state=1).objective for r in (1, 2, 5, 12)
    ]
    for fewer, more in pairwise(f):
        assert (more >= fewer - 1e-6 * np.abs(fewer)).all()


@pytest.mark.parametrize("seed", range(1))
def test_tol_stops_early_at_that_gap(seed):
    X, topics = corpus(seed, n_docs=50, n_tokens=60)
    method = OPE(n_iter=400, tol=0.05)
    result = infer(X, topics, method=method, doc_topic_prior=1.0, random_state=seed)
    early = result.n_iter < 400
    assert early.mean() > 0.5
    assert (result.gap[early] <= 0.05 * X.sum(axis=1)[early] * 1.001).all()


@pytest.mark.parametrize("seed", range(1))
def test_literal_schedule_collapses_for_small_alpha(seed):
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(500, 0.05), 50)
    theta = rng.dirichlet(np.full(50, 0.05), 60)
    X = np.stack([rng.multinomial(200, p / p.sum()) for p in theta @ topics])

    def error(**parameters):
        found = infer(X, topics, method=OPE(**parameters), random_state=seed)
        return np.abs(found.theta - theta).sum(axis=1).mean()

    assert error() < 0.6 * error(schedule="literal")


@pytest.mark.parametrize("seed", range(1))
def test_longer_walks_have_smaller_likelihood_gaps(seed):
    X, topics = corpus(seed, n_docs=40, n_tokens=80)
    options = {"doc_topic_prior": 1.0, "random_state": seed}
    walks = (infer(X, topics, method=OPE(n_iter=t), **options) for t in (5, 50, 500))
    gaps = [walk.likelihood_gap.mean() for walk in walks]
    assert gaps[0] > gaps[1] > gaps[2]


@cases(
    ("parameters", "message"),
    [
        ({"n_iter": 1}, "n_iter must be a whole number, from 2"),
        ({"n_iter": 2.5}, "n_iter must be a whole number"),
        ({"variant": "ope9"}, "variant must be 'ope', "),
        ({"schedule": "lazy"}, "schedule must be 'practical' or 'literal'"),
        ({"coins": "mine"}, "coins must be"),
        ({"p": 0.7}, "p must be 0.5 in the variant 'ope'"),
        ({"variant": "bope", "p": 1.0}, "p must be a number above 0"),
        ({"nu": -1}, "nu must be"),
        ({"init": "warm"}, "init must be"),
        ({"init": "random", "schedule": "literal"}, "ignores its start"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"tol": -1}, "tol must be"),
        ({"n_restarts": 0}, "n_restarts must be"),
        ({"screen": "yes"}, "screen must be"),
    ],
)
def test_bad_parameters_are_rejected(parameters, message):
    with pytest.raises(InputError, match=message):
        infer([[1.0, 2.0]], [[0.5, 0.5]], method=OPE(**parameters))
