"""General polytopes against enumerated vertices and plane geometry."""

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.sparse import csr_array

from opelda.errors import InputError
from opelda.optimize import Polytope
from tests.cases import cases


def vertices(A, b):
    """Every feasible crossing of n constraints: brute force, no linear programming."""
    found = []
    for rows in map(list, combinations(range(len(b)), A.shape[1])):
        if abs(np.linalg.det(A[rows])) > 1e-9:
            x = np.linalg.solve(A[rows], b[rows])
            if (A @ x <= b + 1e-9).all():
                found.append(x)
    return np.array(found)


@st.composite
def cut_cubes(draw):
    """The cube [-2, 2]^3 cut by planes that leave the origin inside, with one direction."""
    cuts = draw(arrays(float, (3, 3), elements=st.integers(-3, 3)))
    sides = draw(arrays(float, 3, elements=st.integers(1, 4)))
    direction = draw(arrays(float, 3, elements=st.integers(-5, 5)))
    return np.vstack([np.eye(3), -np.eye(3), cuts]), np.append(np.full(6, 2.0), sides), direction


@settings(max_examples=30, deadline=None)
@given(cut_cubes())
def test_oracle_returns_the_best_vertex(problem):
    A, b, direction = problem
    point = Polytope(A, b).oracle(direction)
    assert (A @ point <= b + 1e-6).all()
    assert direction @ point == pytest.approx((vertices(A, b) @ direction).max(), abs=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_oracle_does_not_depend_on_the_size_of_the_direction(scale):
    ball = Polytope(list(product([-1, 1], repeat=3)), np.ones(8))
    np.testing.assert_allclose(ball.oracle(np.array([1, -2, 1]) * scale), [0, -1, 0], atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(arrays(float, (3, 2), elements=st.integers(-5, 5)))
def test_center_of_a_triangle_is_its_incenter(corners):
    (ux, uy), (vx, vy) = corners[1] - corners[0], corners[2] - corners[0]
    area = ux * vy - uy * vx
    assume(abs(area) >= 1)
    if area < 0:
        corners = corners[::-1]
    edges = np.roll(corners, -1, axis=0) - corners
    outward = np.column_stack([edges[:, 1], -edges[:, 0]])
    triangle = Polytope(outward, (outward * corners).sum(axis=1))
    opposite = np.roll(np.linalg.norm(edges, axis=1), -1)
    incenter = opposite @ corners / opposite.sum()
    np.testing.assert_allclose(triangle.center(), incenter, atol=1e-6)


def test_center_with_equalities_lies_in_the_middle_of_the_flat():
    # In the plane y = 0, the row x + 10 y <= 1 is equivalent to x <= 1.
    segment = Polytope([[1, 10], [-1, 0]], [1, 1], A_eq=[[0, 1]], b_eq=[0])
    np.testing.assert_allclose(segment.center(), [0, 0], atol=1e-7)
    simplex = Polytope(-np.eye(3), np.zeros(3), A_eq=np.ones((1, 3)), b_eq=[1])
    np.testing.assert_allclose(simplex.center(), np.full(3, 1 / 3), atol=1e-7)


def test_flat_polytopes_and_single_points_have_a_center():
    flat = Polytope([[1, 1], [-1, -1], [1, -1], [-1, 1]], [1, -1, 1, 1])
    assert flat.violation(flat.center()) <= 1e-6
    for rows, sides in ((np.empty((0, 2)), []), ([[3, 1], [-1, 2]], [9, 9])):
        point = Polytope(rows, sides, A_eq=[[1, 1], [1, -1]], b_eq=[3, 1])
        np.testing.assert_allclose(point.center(), [2, 1])
        np.testing.assert_allclose(point.oracle([1, 0]), [2, 1])


@settings(max_examples=30, deadline=None)
@given(arrays(float, 2, elements=st.floats(-5, 5)))
def test_violation_does_not_depend_on_row_scale(x):
    polytope = Polytope([[30, 40], [-1, 0], [0, -2]], [50, 1, 2], A_eq=[[6, -8]], b_eq=[10])
    distances = [(3 * x[0] + 4 * x[1]) / 5 - 1, -x[0] - 1, -x[1] - 1]
    off = abs(3 * x[0] - 4 * x[1] - 5) / 5
    assert polytope.violation(x) == pytest.approx(max(0, off, *distances), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(arrays(float, (4, 2), elements=st.integers(-2, 2)))
def test_polytope_is_unbounded_iff_a_coordinate_is(A):
    b = np.ones(4)  # the origin is inside, so an LP that fails is unbounded
    bounded = all(
        linprog(sign * axis, A, b, bounds=(None, None)).status == 0
        for axis in np.eye(2)
        for sign in (1, -1)
    )
    polytope = Polytope(A, b)
    directions = [sign * axis for axis in np.eye(2) for sign in (1, -1)]
    if bounded:
        for direction in directions:
            polytope.oracle(direction)
    else:
        with pytest.raises(InputError, match="The polytope is unbounded; add a row"):
            [polytope.oracle(direction) for direction in directions]


SQUARE = np.vstack([np.eye(2), -np.eye(2)])


@cases(
    ("arguments", "message"),
    [
        (([[1.0], [-1.0]], [0, -1]), "The polytope is empty, no x satisfies every row"),
        (([[1.0], [-1.0], [0.0]], [1, 1, -1]), "polytope is empty"),
        ((SQUARE, np.ones(4), [[1, 1]], [9]), "polytope is empty"),
        ((SQUARE, np.ones(3)), r"A has shape \(4, 2\) and b \(3,\)"),
        (([1, 2], [1, 2]), r"A has shape \(2,\)"),
        ((SQUARE, np.ones(4), [[1, 1]]), "A_eq is given alone; pass both"),
        ((SQUARE, [1, 1, 1, np.inf]), r"b is inf at \[3\]: .* remove a row"),
        ((SQUARE * [1, np.nan], np.ones(4)), r"A is nan at \[0, 1\]"),
        ((csr_array(SQUARE), np.ones(4)), "A must hold real numbers in a dense array"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(InputError, match=message):
        Polytope(*arguments)
