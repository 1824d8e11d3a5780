"""Errors name the object, the place and the remedy in one sentence."""

import numpy as np
import pytest

from opelda.errors import InputError
from opelda.optimize import Box, Polytope, Simplex, Term, maximize
from tests.cases import cases

ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)
LOG = Term(lambda x: -np.log(x).sum(), lambda x: -1.0 / x)


def call(g1=ZERO, g2=ZERO, **options):
    return maximize(g1, g2, **{"domain": Simplex(3), **options})


@cases(
    ("options", "parameter", "message"),
    [
        ({"g1": lambda x: 0}, "g1", "must be a Term, got function: wrap"),
        ({"g2": (1, 2)}, "g2", "must be a Term, got tuple"),
        ({"n_iter": 0}, "n_iter", "must be a whole number, at least 1, got 0"),
        ({"n_iter": 1e3}, "n_iter", "must be a whole number, at least 1, got 1000.0"),
        ({"history_every": 0}, "history_every", "must be a whole number"),
        ({"max_gap": -1}, "max_gap", "must be a number from 0 .* got -1"),
        ({"max_gap": np.nan}, "max_gap", "must be a number from 0 .* got nan"),
        ({"max_gap": "0.1"}, "max_gap", "must be a number from 0 .* got '0.1'"),
        ({"schedule": "fast"}, "schedule", "must be 'practical' or 'literal', got 'fast'"),
        ({"coins": "even"}, "coins", "must be 'random' or 'balanced', got 'even'"),
        ({"keep": "all"}, "keep", "must be 'last' or 'best', got 'all'"),
        ({"random_state": "7"}, "random_state", "must be None, .* got '7'"),
        ({"random_state": -1}, "random_state", "must be None, a whole number from 0"),
        ({"domain": Simplex}, "domain", r"such as Simplex\(n\) or an oracle .* got .*Simplex"),
        ({"domain": [0, 1]}, "domain", "must be a Domain .* got .0, 1."),
        ({"domain": lambda d: d}, "x0", "is missing"),
        ({"x0": [0.5, 0.5]}, "x0", r"has shape \(2,\); expected an array of shape \(3,\)"),
        ({"x0": [0.5, 0.5, np.nan]}, "x0", r"is nan at \[2\]"),
        ({"x0": "center"}, "x0", "must hold real numbers"),
        ({"x0": [[1, 0, 0]], "domain": lambda d: d}, "x0", r"has shape \(1, 3\)"),
        ({"x0": [0.5, 0.5, 0.25]}, "x0", "lies outside"),
        ({"x0": [], "domain": lambda d: d}, "x0", r"has shape \(0,\)"),
        ({"max_gap": np.complex128(1)}, "max_gap", "must be a number from 0"),
    ],
)
def test_bad_arguments_are_rejected(options, parameter, message):
    with pytest.raises(InputError, match=f"^{parameter} .*{message}") as caught:
        call(**options)
    assert caught.value.parameter == parameter


@cases(
    ("domain", "x0", "amount"),
    [
        (Simplex(3), [0.5, 0.5, 0.25], r"Simplex\(3\) by 0.25"),
        (Simplex(2, 0.125), [0, 1], "by 0.125"),
        (Box([0, 0], 1), [0, 3], "by 2;"),
        (Polytope([[10], [-10]], [10, 10]), [4], "by 3;"),
    ],
)
def test_infeasible_start_error_states_the_violation(domain, x0, amount):
    with pytest.raises(InputError, match=f"x0 lies outside .*{amount}"):
        call(domain=domain, x0=x0)


def test_single_precision_start_is_feasible():
    x0 = np.full(7, 1 / 7, dtype=np.float32)
    assert np.float64(x0).sum() != 1
    call(domain=Simplex(7), x0=x0, n_iter=2)


@cases("name", ["g1", "g2"])
@cases("part", ["value", "gradient"])
@cases("bad", [np.nan, np.inf])
def test_nonfinite_term_is_named_with_its_iteration(name, part, bad):
    # Any pick makes the first coordinate grow; beyond 0.9 (t = 7) the term breaks.
    def value(x):
        return bad if part == "value" and x[0] > 0.9 else 0.0

    def gradient(x):
        return [1.0, 0.0, bad if part == "gradient" and x[0] > 0.9 else 0.0]

    good = Term(lambda x: 0.0, lambda x: [1.0, 0.0, 0.0])
    terms = {"g1": good, "g2": good, name: Term(value, gradient)}
    index = r" at \[2\]" if part == "gradient" else ""
    message = rf"^the {part} of {name} at iteration 7 is {bad}{index}: keep the domain"
    with pytest.raises(InputError, match=message):
        call(**terms, history_every=1)


def test_logarithms_at_a_vertex_fail_on_the_simplex_and_not_on_the_shrunken_one():
    with (
        np.errstate(divide="ignore"),
        pytest.raises(InputError, match=r"value of g2 at iteration 1 is inf.*Simplex"),
    ):
        call(g2=LOG, schedule="literal", history_every=1, random_state=0)
    result = call(g2=LOG, schedule="literal", domain=Simplex(3, 1e-3), n_iter=10)
    assert np.isfinite(result.f)


@cases(
    ("term", "message"),
    [
        (Term(lambda x: x, lambda x: x), r"value of g1 .* shape \(3,\); .* number"),
        (Term(lambda x: None, lambda x: x), "value of g1 at iteration 1 is nan"),
        (Term(lambda x: "a", lambda x: x), "value of g1 .* real numbers.* got str"),
        (Term(lambda x: 1j, lambda x: x), "value of g1 .* real numbers.* complex"),
        (Term(lambda x: 0, lambda x: x[:2]), r"gradient of g1 .* shape \(2,\); .*3,"),
        (Term(lambda x: 0, lambda x: 1.0), r"gradient of g1 .* shape \(\)"),
    ],
)
def test_term_with_bad_return_values_is_named(term, message):
    with pytest.raises(InputError, match=message) as caught:
        call(g1=term)
    assert caught.value.parameter is None  # its functions are at fault


@cases(
    ("oracle", "message"),
    [
        (lambda d: np.eye(3)[np.argmin(d)], "iteration 1 is worse than the iterate by 2"),
        (lambda d: np.zeros(4), r"oracle's point at iteration 1 has shape \(4,\)"),
        (lambda d: d * np.nan, r"oracle's point at iteration 1 is nan at \[0\]"),
    ],
)
def test_wrong_oracle_is_detected(oracle, message):
    slope = Term(lambda x: 0.0, lambda x: [1.0, 2.0, 6.0])
    with pytest.raises(InputError, match=message):
        call(g1=slope, domain=oracle, x0=np.full(3, 1 / 3))


def test_error_inside_a_term_propagates_unchanged():
    def broken(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        call(g1=Term(broken, broken))
