"""What `maximize` promises of its run: seeds, history, stopping and calls of user functions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.optimize import Box, Simplex, Term, maximize
from tests.cases import cases

N = 3
seeds = st.integers(0, 2**32 - 1)
ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)


def quadratic(Q, c):
    return Term(lambda x: x @ Q @ x / 2 + c @ x, lambda x: Q @ x + c)


def random_terms(seed):
    """Two random indefinite quadratics."""
    roots = np.random.default_rng(seed).normal(size=(2, N, N + 1))
    return [quadratic(root[:, :N] + root[:, :N].T, root[:, N]) for root in roots]


@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_same_seed_same_run(seed):
    g1, g2 = random_terms(seed)
    domain = Simplex(N)
    for kind in (int, np.int64, np.random.default_rng, np.random.RandomState):
        first, second = (
            maximize(g1, g2, domain=domain, n_iter=50, random_state=kind(seed)) for _ in range(2)
        )
        np.testing.assert_array_equal(first.x, second.x)
        np.testing.assert_array_equal(first.gap_history, second.gap_history)
    drawn = int(np.random.default_rng(seed).integers(2**32))  # a Generator gives the seed
    third = maximize(g1, g2, domain=domain, n_iter=50, random_state=drawn)
    generator = np.random.default_rng(seed)
    fourth = maximize(g1, g2, domain=domain, n_iter=50, random_state=generator)
    np.testing.assert_array_equal(third.x, fourth.x)


def test_seeds_determine_results_and_generators_advance():
    g1 = Term(lambda x: x[0], lambda x: [1.0, 0.0])
    g2 = Term(lambda x: x[1], lambda x: [0.0, 1.0])
    for source in (np.random.default_rng(0), np.random.RandomState(0), None):
        runs = [
            maximize(g1, g2, domain=Simplex(2), schedule="literal", n_iter=1, random_state=source)
            for _ in range(60)
        ]
        assert {result.x[0] for result in runs} == {0.0, 1.0}


@cases(
    ("schedule", "n_iter", "every", "recorded"),
    [
        ("practical", 25, 10, [1, 10, 20, 25]),
        ("practical", 20, 10, [1, 10, 20]),
        ("practical", 1, 10, [1]),
        ("literal", 4, 1, [0, 1, 2, 3, 4]),
        ("literal", 3, 100, [0, 3]),
    ],
)
def test_history_is_kept_at_the_stated_iterations(schedule, n_iter, every, recorded):
    seen = []
    result = maximize(
        quadratic(-np.eye(N), np.ones(N)),
        ZERO,
        domain=Box(np.zeros(N), 3),
        schedule=schedule,
        n_iter=n_iter,
        max_gap=None,
        history_every=every,
        callback=seen.append,
    )
    assert result.history_iter.tolist() == recorded == [iterate.iteration for iterate in seen]
    assert result.f_history.tolist() == [iterate.f for iterate in seen]
    assert result.gap_history.tolist() == [iterate.gap for iterate in seen]
    assert result.n_iter == n_iter
    assert (result.f, result.gap) == (result.f_history[-1], result.gap_history[-1])
    np.testing.assert_array_equal(result.x, seen[-1].x)


def test_each_gradient_is_evaluated_once_per_iterate():
    calls = {"value": 0, "gradient": 0}

    def counted(name, function):
        def call(x):
            calls[name] += 1
            return function(x)

        return call

    inner = quadratic(-np.eye(N), np.ones(N))
    g1 = Term(counted("value", inner.value), counted("gradient", inner.gradient))
    box = Box(np.zeros(N), 3)
    maximize(g1, ZERO, domain=box, n_iter=30, history_every=1, max_gap=None, check_gradient=False)
    assert calls == {"value": 30, "gradient": 30}
    calls.update(value=0, gradient=0)
    maximize(g1, ZERO, domain=box, n_iter=30, history_every=10, max_gap=None, check_gradient=False)
    assert calls == {"value": 4, "gradient": 30}


def test_terms_may_overwrite_arguments_and_reuse_results():
    buffer = np.empty(N)

    def rude(slope):
        def gradient(x):
            buffer[:] = slope - x
            x[:] = np.nan
            return buffer

        return gradient

    def value(x):
        x[:] = np.nan
        return 0.0

    polite = [Term(lambda x: 0.0, lambda x, s=s: s - x) for s in (1.0, 2.0)]
    rough = [Term(value, rude(slope)) for slope in (1.0, 2.0)]
    box = Box(np.zeros(N), 3)
    expected = maximize(*polite, domain=box, n_iter=20, random_state=0)
    result = maximize(*rough, domain=box, n_iter=20, random_state=0)
    np.testing.assert_array_equal(result.x, expected.x)
    np.testing.assert_array_equal(result.gap_history, expected.gap_history)


def test_x0_is_used_and_unchanged():
    x0 = np.array([0.2, 0.3, 0.5])
    seen = []
    maximize(ZERO, ZERO, domain=Simplex(N), x0=x0, n_iter=5, callback=seen.append)
    np.testing.assert_array_equal(seen[0].x, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(x0, [0.2, 0.3, 0.5])


def test_stops_at_the_first_record_within_max_gap():
    uphill = Term(lambda x: x.sum(), lambda x: np.ones(N))
    options = {"domain": Box(np.zeros(N), 1), "history_every": 5, "n_iter": 1000}
    # The gap of this straight climb is 1.5 / t: below 0.09 from t = 17, recorded at 20.
    result = maximize(uphill, ZERO, max_gap=0.09, **options)
    assert result.n_iter == result.history_iter[-1] == 20
    assert result.converged
    assert result.gap == pytest.approx(1.5 / 20)
    unasked = maximize(uphill, ZERO, **options)
    assert unasked.n_iter == 1000
    assert not unasked.converged


def test_without_max_gap_every_iteration_is_run():
    corner = Term(lambda x: x.sum(), lambda x: np.ones(N))
    options = {"domain": Box(np.zeros(N), 1), "schedule": "literal", "n_iter": 50}
    assert maximize(corner, corner, max_gap=0.0, **options).n_iter == 10
    result = maximize(corner, corner, max_gap=None, **options)
    assert result.n_iter == 50
    assert result.converged


def test_stationary_start_is_left_unless_keep_best():
    bowl = quadratic(np.eye(N), np.zeros(N))
    box = Box(np.full(N, -1), 1)
    result = maximize(bowl, ZERO, domain=box, n_iter=200)
    assert result.gap_history[0] == 0
    assert result.f > 1  # left the minimum for a corner, where f is 1.5
    hill = quadratic(-np.eye(N), np.zeros(N))
    best = maximize(hill, ZERO, domain=box, n_iter=200, keep="best", max_gap=1e-6)
    np.testing.assert_array_equal(best.x, np.zeros(N))
    assert best.converged
    assert best.n_iter == 10  # the first record after the start


@settings(max_examples=20, deadline=None)
@given(seed=seeds)
def test_keep_best_returns_the_recorded_iterate_of_largest_f(seed):
    g1, g2 = random_terms(seed)
    seen = []
    result = maximize(
        g1,
        g2,
        domain=Simplex(N),
        n_iter=40,
        history_every=3,
        keep="best",
        random_state=seed,
        callback=seen.append,
    )
    best = int(np.argmax(result.f_history))
    np.testing.assert_array_equal(result.x, seen[best].x)
    assert result.f == result.f_history.max()
    assert result.gap == result.gap_history[best]
    assert result.converged == (result.gap == 0)
    assert result.n_iter == 40


@pytest.mark.parametrize("when", [1, 20])
def test_callback_that_returns_true_stops_the_run(when):
    result = maximize(
        quadratic(-np.eye(N), np.ones(N)),
        ZERO,
        domain=Box(np.zeros(N), 3),
        callback=lambda iterate: iterate.iteration == when,
    )
    assert result.n_iter == when
    assert not result.converged
