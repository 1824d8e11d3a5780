"""The result of `maximize`: a valid certificate and a feasible point."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment, minimize

from opelda.optimize import Box, Domain, L1Ball, Polytope, Simplex, Term, maximize

N = 3
CORNERS = np.stack(np.meshgrid([-1, 2], [-1, 2], [-1, 2]), axis=-1).reshape(-1, 3)
VERTICES = {
    "simplex": (Simplex(N), np.eye(N)),
    "shrunken": (Simplex(N, 0.1), 0.1 + 0.7 * np.eye(N)),
    "box": (Box(np.full(N, -1), 2), CORNERS),
    "l1": (L1Ball(N, 2), 2 * np.vstack([np.eye(N), -np.eye(N)])),
    "polytope": (Polytope(np.vstack([-np.eye(N), np.ones(N)]), [0, 0, 0, 1]), np.eye(N + 1, N)),
}
seeds = st.integers(0, 2**32 - 1)
every_domain = pytest.mark.parametrize("name", VERTICES)
ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)


def quadratic(Q, c):
    return Term(lambda x: x @ Q @ x / 2 + c @ x, lambda x: Q @ x + c)


def random_terms(seed, *, concave):
    """Two random quadratics, and f and its gradient as one matrix and vector."""
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(2, N, N))
    Q1, Q2 = (-root @ root.T if concave else root + root.T for root in roots)
    c1, c2 = rng.normal(size=(2, N)) * 3
    return quadratic(Q1, c1), quadratic(Q2, c2), Q1 + Q2, c1 + c2


@every_domain
@settings(max_examples=10, deadline=None)
@given(seed=seeds, concave=st.booleans())
def test_result_values_belong_to_its_point(name, seed, concave):
    domain, vertices = VERTICES[name]
    g1, g2, Q, c = random_terms(seed, concave=concave)
    result = maximize(g1, g2, domain=domain, n_iter=30, random_state=seed)
    x = result.x
    assert result.f == pytest.approx(x @ Q @ x / 2 + c @ x)
    assert result.g1 == pytest.approx(g1.value(x))
    assert result.g2 == pytest.approx(g2.value(x))
    assert result.gap >= 0
    assert result.gap == pytest.approx(((vertices - x) @ (Q @ x + c)).max(), abs=1e-5)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, n_iter=st.integers(1, 60))
def test_gap_bounds_the_loss_of_a_concave_objective(seed, n_iter):
    g1, g2, Q, c = random_terms(seed, concave=True)
    box = VERTICES["box"][0]
    result = maximize(g1, g2, domain=box, n_iter=n_iter, random_state=seed)
    peer = minimize(
        lambda x: -(x @ Q @ x / 2 + c @ x),
        box.center(),
        jac=lambda x: -(Q @ x + c),
        bounds=[(-1, 2)] * N,
        method="TNC",
    )
    assert -peer.fun - result.f <= result.gap + 1e-8


@every_domain
@settings(max_examples=8, deadline=None)
@given(seed=seeds, schedule=st.sampled_from(["practical", "literal"]))
def test_iterates_stay_in_the_domain(name, seed, schedule):
    domain = VERTICES[name][0]
    g1, g2, _, _ = random_terms(seed, concave=False)
    outside = []
    maximize(
        g1,
        g2,
        domain=domain,
        schedule=schedule,
        n_iter=25,
        history_every=1,
        random_state=seed,
        callback=lambda iterate: outside.append(domain.violation(iterate.x)),
    )
    assert max(outside) <= 1e-7


@pytest.mark.parametrize("schedule", ["practical", "literal"])
@pytest.mark.parametrize("coins", ["random", "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_gap_bounds_the_distance_to_the_concave_maximum(schedule, coins, seed):
    # Over the box, -|x - target|^2 peaks where the target is clipped.
    target = np.array([0.5, 5.0, -3.0])
    g1 = quadratic(-2 * np.eye(N), 0 * target)
    g2 = quadratic(0 * np.eye(N), 2 * target)
    box = VERTICES["box"][0]
    options = {"schedule": schedule, "coins": coins, "random_state": seed}
    result = maximize(g1, g2, domain=box, n_iter=2000, history_every=1000, **options)
    np.testing.assert_allclose(result.x, np.clip(target, -1, 2), atol=0.1)
    assert result.gap < 0.5


def test_any_exact_oracle_solves_the_problem():
    """Doubly stochastic matrices, by the assignment problem: no list of vertices needed."""
    gain = np.random.default_rng(0).normal(size=(5, 5))

    def best_permutation(direction):
        permutation = np.zeros((5, 5))
        permutation[linear_sum_assignment(direction.reshape(5, 5), maximize=True)] = 1
        return permutation.ravel()

    linear = Term(lambda x: gain.ravel() @ x, lambda x: gain.ravel())
    result = maximize(linear, ZERO, domain=best_permutation, x0=np.full(25, 0.2), n_iter=300)
    matrix = result.x.reshape(5, 5)
    np.testing.assert_allclose(matrix.sum(axis=0), 1)
    np.testing.assert_allclose(matrix.sum(axis=1), 1)
    optimum = gain[linear_sum_assignment(gain, maximize=True)].sum()
    assert result.gap == pytest.approx(optimum - result.f)
    assert result.f == pytest.approx(optimum, abs=0.1)


class Ball(Domain):
    """The unit disc: curved, but its linear oracle is a formula all the same."""

    n = 2

    def oracle(self, direction):
        return direction / (np.linalg.norm(direction) or 1.0)

    def center(self):
        return np.zeros(2)

    def violation(self, x):
        return max(0.0, np.linalg.norm(x) - 1)

    def __repr__(self):
        return "Ball()"


def test_custom_domain_has_a_default_start_and_checks_x0():
    slope = np.array([3.0, 4.0])
    linear = Term(lambda x: slope @ x, lambda x: slope)
    result = maximize(linear, ZERO, domain=Ball(), n_iter=100)
    np.testing.assert_allclose(result.x, 0.99 * slope / 5)  # 99 equal steps from the centre
    assert result.gap == pytest.approx(5 - result.f)
    with pytest.raises(ValueError, match=r"x0 lies outside Ball\(\) by 4"):
        maximize(linear, ZERO, domain=Ball(), x0=[3, 4])
