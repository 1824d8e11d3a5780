"""`max_gap` solves a concave problem to the requested accuracy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, minimize

from opelda.optimize import Box, L1Ball, Polytope, Simplex, Term, maximize
from opelda.optimize._finish import PickedVertices

N = 4
ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)
DOMAINS = {
    "simplex": Simplex(N),
    "shrunken": Simplex(N, 0.05),
    "box": Box(np.full(N, -1), [2, 1, 1, 3]),
    "l1": L1Ball(N, 2),
    "polytope": Polytope(np.vstack([-np.eye(N), np.arange(1, N + 1)]), [0, 0, 0, 0, 4]),
    "oracle": lambda direction: Simplex(N).oracle(direction),
}
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=15, deadline=None)
every_domain = pytest.mark.parametrize("name", DOMAINS)


def quadratic(Q, c):
    return Term(lambda x: x @ Q @ x / 2 + c @ x, lambda x: Q @ x + c)


def towards(target):
    """-|x - target|^2 as two terms."""
    return quadratic(-2 * np.eye(len(target)), target), quadratic(0 * np.eye(len(target)), target)


def projection(target):
    """The nearest point of the simplex, by sorting."""
    falling = np.sort(target)[::-1]
    shifts = (np.cumsum(falling) - 1) / np.arange(1, len(target) + 1)
    return np.maximum(target - shifts[np.flatnonzero(falling > shifts)[-1]], 0)


def start(name):
    return Simplex(N).center() if name == "oracle" else None


@every_domain
@few
@given(
    seed=seeds,
    n_iter=st.sampled_from([1, 7, 100]),
    schedule=st.sampled_from(["practical", "literal"]),
    keep=st.sampled_from(["last", "best"]),
)
def test_concave_quadratic_reaches_the_requested_gap(name, seed, n_iter, schedule, keep):
    rng = np.random.default_rng(seed)
    roots, (c1, c2) = rng.normal(size=(2, N, N)), rng.normal(size=(2, N)) * 3
    Q1, Q2 = (-root @ root.T for root in roots)
    domain, max_gap = DOMAINS[name], 1e-9
    result = maximize(
        quadratic(Q1, c1),
        quadratic(Q2, c2),
        domain=domain,
        x0=start(name),
        n_iter=n_iter,
        max_gap=max_gap,
        schedule=schedule,
        keep=keep,
        random_state=seed,
    )
    assert result.converged
    assert result.gap <= max_gap
    if name != "oracle":
        assert domain.violation(result.x) <= 1e-9
    # No vertex, and so no point of the domain, has more than this along f'.
    slope = (Q1 + Q2) @ result.x + c1 + c2
    oracle = domain if name == "oracle" else domain.oracle
    assert slope @ (oracle(slope) - result.x) <= max_gap + 1e-12
    assert result.f_history[-1] >= result.f_history[result.history_iter <= n_iter][-1] - 1e-12


@few
@given(seed=seeds, where=st.sampled_from(["vertex", "face", "inside"]))
def test_projections_onto_the_simplex_are_exact(seed, where):
    rng = np.random.default_rng(seed)
    inner = rng.dirichlet(np.ones(6)) * 0.8 + 0.2 / 6
    target = {"vertex": 3 * np.eye(6)[2] + inner, "face": inner, "inside": inner}[where].copy()
    if where == "face":
        target[:3] -= 2 + rng.random(3)
    expected = projection(target)
    assert (expected > 0).sum() == {"vertex": 1, "face": 3, "inside": 6}[where]
    result = maximize(*towards(target), domain=Simplex(6), max_gap=1e-12, random_state=seed)
    assert result.converged
    np.testing.assert_allclose(result.x, expected, atol=1e-6)
    assert result.x[expected == 0].max(initial=0) <= 1e-12


@few
@given(seed=seeds)
def test_box_clips_and_ball_shrinks(seed):
    target = np.random.default_rng(seed).normal(size=N) * 2
    box = maximize(*towards(target), domain=Box(np.full(N, -1), 1), max_gap=1e-12)
    np.testing.assert_allclose(box.x, np.clip(target, -1, 1), atol=1e-6)
    ball = maximize(*towards(target), domain=L1Ball(N, 0.5), max_gap=1e-12)
    far = np.abs(target).sum() > 0.5
    shrunk = 0.5 * np.sign(target) * projection(np.abs(target) / 0.5) if far else target
    np.testing.assert_allclose(ball.x, shrunk, atol=1e-6)


def mixture(seed, proportions=None):
    """The log likelihood of 8 known distributions' proportions; with counts as they predict."""
    rng = np.random.default_rng(seed)
    beta, counts = rng.dirichlet(np.full(30, 0.3), 8) + 1e-9, rng.poisson(3, 30)
    if proportions is not None:
        beta /= beta.sum(axis=1, keepdims=True)
        counts = 100 * proportions @ beta
    return Term(lambda x: counts @ np.log(x @ beta), lambda x: beta @ (counts / (x @ beta)))


@few
@given(seed=seeds)
def test_mixture_proportions_match_a_peer(seed):
    g1 = mixture(seed)
    result = maximize(g1, ZERO, domain=Simplex(8), n_iter=50, max_gap=1e-8, random_state=seed)
    peer = minimize(
        lambda x: -g1.value(x),
        np.full(8, 1 / 8),
        jac=lambda x: -g1.gradient(x),
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(8)},
        method="SLSQP",
        options={"ftol": 1e-12},
    )
    assert result.converged
    assert g1.value(peer.x / peer.x.sum()) <= result.f + 1e-8


@few
@given(seed=seeds, used=st.integers(1, 8))
def test_mixture_proportions_on_a_face_are_recovered(seed, used):
    """By Gibbs' inequality, proportions that predict the counts maximise the likelihood."""
    truth = np.zeros(8)
    truth[:used] = np.random.default_rng(seed).dirichlet(np.full(used, 5.0))
    g1 = mixture(seed, truth)
    result = maximize(g1, ZERO, domain=Simplex(8), n_iter=50, max_gap=1e-8, random_state=seed)
    assert result.converged
    assert g1.value(truth) <= result.f + 1e-8
    np.testing.assert_allclose(result.x, truth, atol=1e-2)


@few
@given(seed=seeds, power=st.integers(-4, 1), alone=st.booleans())
def test_steps_stay_inside_the_domain_of_logarithms(seed, power, alone):
    """Every vertex is at minus infinity; with the prior alone the maximum is known."""
    weights = np.random.default_rng(seed).random(8) * 10.0**power + 10.0**power
    weights[0] += 1
    prior = Term(lambda x: weights @ np.log(x), lambda x: weights / x)
    g1 = ZERO if alone else mixture(seed)
    result = maximize(g1, prior, domain=Simplex(8), n_iter=50, max_gap=1e-9, random_state=seed)
    assert result.converged
    assert (result.x > 0).all()
    if alone:
        best = weights / weights.sum()
        assert prior.value(best) - result.f <= 1e-9 + 1e-12


def test_terms_may_raise_at_the_boundary():
    raising = Term(lambda x: 3 * math.log(x[0]) + math.log(x[1]), lambda x: [3 / x[0], 1 / x[1]])
    result = maximize(raising, ZERO, domain=Simplex(2), n_iter=3, max_gap=1e-10)
    np.testing.assert_allclose(result.x, [0.75, 0.25], atol=1e-5)


def test_any_exact_oracle_solves_the_problem():
    """The doubly stochastic matrix nearest to another, over permutations never listed."""
    target = np.random.default_rng(0).normal(size=(5, 5)).ravel()

    def best_permutation(direction):
        permutation = np.zeros((5, 5))
        permutation[linear_sum_assignment(direction.reshape(5, 5), maximize=True)] = 1
        return permutation.ravel()

    x0 = np.full(25, 0.2)
    result = maximize(*towards(target), domain=best_permutation, x0=x0, max_gap=1e-10)
    assert result.converged
    matrix = result.x.reshape(5, 5)
    np.testing.assert_allclose([matrix.sum(axis=0), matrix.sum(axis=1)], 1)
    permutations = [best_permutation(d) for d in np.random.default_rng(1).normal(size=(500, 25))]
    assert (np.array(permutations) @ (target - result.x)).max() <= (
        result.x @ (target - result.x) + 1e-10
    )


def test_history_continues_and_a_callback_may_stop():
    terms, options = towards(np.array([0.3, -0.2, 0.5])), {"domain": Box(np.full(3, -1), 1)}
    seen = []
    result = maximize(*terms, n_iter=25, max_gap=1e-10, callback=seen.append, **options)
    assert result.history_iter.tolist()[:4] == [1, 10, 20, 25]
    assert result.history_iter.tolist()[4:] == list(range(26, result.n_iter + 1))
    assert [record.iteration for record in seen] == result.history_iter.tolist()
    assert result.gap == result.gap_history.min() == result.gap_history[-1]
    stopped = maximize(
        *terms, n_iter=25, max_gap=1e-300, callback=lambda record: record.iteration > 25, **options
    )
    assert stopped.n_iter == 26
    assert not stopped.converged


def test_the_same_seed_gives_the_same_finish():
    g1 = mixture(3)
    options = {"domain": Simplex(8), "n_iter": 40, "max_gap": 1e-9, "random_state": 5}
    first, second = (maximize(g1, ZERO, **options) for _ in range(2))
    np.testing.assert_array_equal(first.x, second.x)
    asked_late = maximize(g1, ZERO, **{**options, "max_gap": None})
    np.testing.assert_array_equal(
        first.f_history[: len(asked_late.f_history)], asked_late.f_history
    )


@few
@given(seed=seeds, n=st.integers(1, 6), first=st.sampled_from([0, 1]))
def test_picks_represent_the_iterate(seed, n, first):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    picks = PickedVertices(x, first)
    for t in range(first + 1, first + 40):
        vertex = np.sign(rng.normal(size=n))
        x = ((t - 1) * x + vertex) / t
        picks.add(vertex)
    atoms, weights = picks.atoms()
    np.testing.assert_allclose(weights @ atoms, x)
    assert (weights > 0).all()
    assert weights.sum() == pytest.approx(1)
    assert len(atoms) <= n + 2
