"""Warnings where `max_gap` is missed or bounds less than the user may expect."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.optimize import Box, Simplex, Term, maximize

N = 4
ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=15, deadline=None)


def quadratic(Q, c):
    return Term(lambda x: x @ Q @ x / 2 + c @ x, lambda x: Q @ x + c)


def heard(*terms, **options):
    """The result, and the texts of the warnings, which point at the call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = maximize(*terms, **options)
    assert all(warning.filename == __file__ for warning in caught)
    return result, [str(warning.message) for warning in caught]


@few
@given(seed=seeds, max_gap=st.sampled_from([0.0, 1e-300]))
def test_gap_below_rounding_error_stops_the_run(seed, max_gap):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(N, N))
    terms = quadratic(-root @ root.T - np.eye(N), rng.normal(size=N)), ZERO
    box = Box(np.full(N, -9), 9)
    result, said = heard(*terms, domain=box, n_iter=20, max_gap=max_gap)
    assert result.gap < 1e-9
    assert result.n_iter < 20 + 1000 + 10 * N
    if result.converged:
        assert said == []
    else:
        assert said == [
            f"The gap is {result.gap:.3g}, above max_gap={max_gap:g}: rounding leaves no further "
            "progress."
        ]


def test_iteration_limit_is_reported():
    """A field that goes round in circles has no maximum to find."""
    climbs = iter(range(10**9))
    stairs = Term(lambda x: float(next(climbs)), lambda x: [-x[1], x[0]])
    options = {"domain": Box([-1, -1], 1), "x0": [1, 1], "n_iter": 1, "check_gradient": False}
    result, said = heard(stairs, ZERO, max_gap=0, **options)
    assert result.n_iter == 1 + 1000 + 10 * 2
    assert said[0].startswith("f is not concave")
    assert said[1:] == ["The gap is 2, above max_gap=0: 1020 iterations did not converge."]


def test_nonconcave_function_is_reported():
    """Between two maxima: the gap is reached, and the message states its limits."""
    hills = Term(lambda x: -((x[0] ** 2 - 1) ** 2), lambda x: [-4 * x[0] * (x[0] ** 2 - 1)])
    box = Box([-2.0], 2.0)
    with pytest.warns(UserWarning, match="f is not concave.*Compare f from several starts"):
        result = maximize(hills, ZERO, domain=box, x0=[1e-3], n_iter=1, max_gap=1e-9)
    assert result.converged
    assert abs(result.x[0]) == pytest.approx(1, abs=1e-6)


@few
@given(seed=seeds)
def test_nonconcave_function_ends_at_a_stationary_point(seed):
    rng = np.random.default_rng(seed)
    Q, c = rng.normal(size=(N, N)), rng.normal(size=N)
    Q += Q.T
    result, _ = heard(quadratic(Q, c), ZERO, domain=Simplex(N), max_gap=1e-8)
    assert result.converged
    slope = Q @ result.x + c
    assert slope.max() - slope @ result.x <= 1e-8


@few
@given(seed=seeds, offset=st.sampled_from([0.0, 1e6]), scale=st.sampled_from([1e-9, 1.0, 1e9]))
def test_concave_function_is_reported_as_concave(seed, offset, scale):
    rng = np.random.default_rng(seed)
    A, target = rng.normal(size=(12, N)), rng.normal(size=N)
    g1 = Term(
        lambda x: scale * (offset - np.logaddexp(0, A @ x).sum()),
        lambda x: -scale * (A.T @ (1 / (1 + np.exp(-A @ x)))),
    )
    g2 = Term(
        lambda x: -scale * ((x - target) ** 4).sum(), lambda x: -4 * scale * (x - target) ** 3
    )
    _, said = heard(g1, g2, domain=Box(np.full(N, -2), 2), max_gap=1e-15 * scale, n_iter=30)
    assert not any("concave" in text for text in said)


def test_undefined_edge_is_approached_but_not_reached():
    undefined = Term(lambda x: -x[0] if x[0] > 0 else np.nan, lambda x: [-1.0, 0.0])
    with pytest.warns(UserWarning, match="gap is .*, above max_gap"):
        result = maximize(undefined, ZERO, domain=Simplex(2), n_iter=3, max_gap=0)
    assert 0 < result.x[0] < 1e-10
