"""Domains with formulas against linear programs over explicit constraints."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog

from opelda.errors import InputError
from opelda.optimize import Box, L1Ball, Simplex
from tests.cases import cases

N = 4
EPSILON = 0.06
LOWER = np.array([-1.0, 0.0, 2.0, -3.0])
UPPER = np.array([1.0, 0.0, 5.0, -2.5])
ONES = np.ones((1, N))
EYE = np.eye(N)
SIGNS = np.array(list(product([-1.0, 1.0], repeat=N)))

# name: (domain, A, b, A_eq, b_eq), the same set twice
SETS = {
    "simplex": (Simplex(N), -EYE, np.zeros(N), ONES, [1.0]),
    "shrunken": (Simplex(N, EPSILON), -EYE, np.full(N, -EPSILON), ONES, [1.0]),
    "box": (Box(LOWER, UPPER), np.vstack([EYE, -EYE]), np.append(UPPER, -LOWER), None, None),
    "l1": (L1Ball(N, 2.5), SIGNS, np.full(len(SIGNS), 2.5), None, None),
}
vectors = arrays(float, N, elements=st.floats(-10, 10))
# Whole numbers: the peer takes slopes below its tolerance for zero.
directions = arrays(float, N, elements=st.integers(-50, 50))
every_set = pytest.mark.parametrize("name", SETS)


def residual(x, A, b, A_eq, b_eq):
    worst = (A @ x - b).max()
    return worst if A_eq is None else max(worst, np.abs(A_eq @ x - b_eq).max())


@every_set
@settings(max_examples=40, deadline=None)
@given(direction=directions)
def test_oracle_solves_the_linear_program(name, direction):
    domain, *constraints = SETS[name]
    vertex = domain.oracle(direction)
    solution = linprog(-direction, *constraints, bounds=(None, None))
    assert residual(vertex, *constraints) <= 1e-12
    assert direction @ vertex == pytest.approx(-solution.fun, abs=1e-6)


@every_set
@settings(max_examples=40, deadline=None)
@given(x=vectors)
def test_violation_is_the_largest_broken_constraint(name, x):
    domain, *constraints = SETS[name]
    assert domain.violation(x) == pytest.approx(max(0.0, residual(x, *constraints)), abs=1e-12)


@every_set
@settings(max_examples=40, deadline=None)
@given(
    weights=arrays(float, 5, elements=st.floats(0.01, 1)),
    five=st.lists(vectors, min_size=5, max_size=5),
)
def test_mixtures_of_vertices_are_inside(name, weights, five):
    domain = SETS[name][0]
    vertices = np.array([domain.oracle(direction) for direction in five])
    assert domain.violation(weights @ vertices / weights.sum()) <= 1e-12


@cases("name", ["simplex", "shrunken", "l1"])
def test_center_satisfies_every_inequality_strictly(name):
    domain, A, b, A_eq, b_eq = SETS[name]
    center = domain.center()
    assert (A @ center < b).all()
    if A_eq is not None:
        assert A_eq @ center == pytest.approx(b_eq)


def test_box_center_of_huge_bounds_is_the_midpoint():
    np.testing.assert_allclose(Box(LOWER, UPPER).center(), (LOWER + UPPER) / 2)
    assert Box([1e308], [1.6e308]).center() == pytest.approx([1.3e308])


def test_box_broadcasts_numbers_and_copies_arrays():
    lower = np.zeros(3)
    box = Box(lower, 2)
    lower[:] = 99
    np.testing.assert_array_equal(box.oracle([1, -1, 1]), [2, 0, 2])


def test_ties_are_broken_the_same_way_every_time():
    for domain in (Simplex(3), Simplex(3, 0.1), L1Ball(3), Box(np.zeros(3), 1)):
        np.testing.assert_array_equal(domain.oracle(np.zeros(3)), domain.oracle(np.zeros(3)))
    np.testing.assert_array_equal(Simplex(3).oracle([0, 2, 2]), [0, 1, 0])


@cases(
    ("make", "message"),
    [
        (lambda: Simplex(0), "n must be a whole number, at least 1, got 0"),
        (lambda: Simplex(2.0), "n must be a whole number, at least 1, got 2.0"),
        (lambda: L1Ball("3"), "n must be a whole number, at least 1, got '3'"),
        (lambda: Simplex(4, 0.25), "epsilon must be below 1/n = 0.25, got 0.25"),
        (lambda: Simplex(4, -0.1), "epsilon must be a number from 0 to 1, got -0.1"),
        (lambda: Simplex(4, np.nan), "epsilon must be .* got nan"),
        (lambda: Simplex(4, "0.1"), "epsilon must be .* got '0.1'"),
        (lambda: L1Ball(3, -1), "radius must be a number above 0, .* got -1"),
        (lambda: L1Ball(3, np.inf), "radius must be .* got inf"),
        (lambda: Box(0, 1), r"lower has shape \(\) and upper \(\)"),
        (lambda: Box([0, 0], [1, 1, 1]), r"lower has shape \(2,\) and upper \(3,\)"),
        (lambda: Box([[0]], [[1]]), r"lower has shape \(1, 1\)"),
        (lambda: Box([], 1), r"lower has shape \(0,\)"),
        (lambda: Box([0, 2], 1), r"lower is above upper at \[1\]"),
        (lambda: Box([0, 0], [1, np.inf]), r"upper is inf at \[1\].*finite bound"),
        (lambda: Box(["a"], 1), "lower must hold real numbers"),
        (lambda: Simplex(2).oracle([1, 2, 3]), r"direction has shape \(3,\).*\(2,\)"),
        (lambda: Simplex(2).oracle([1, np.nan]), r"direction is nan at \[1\]"),
        (lambda: Simplex(2).violation(np.array([1j, 0])), "x must hold real numbers"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=f"^{message}") as caught:
        make()
    assert message.startswith(f"{caught.value.parameter} ")
