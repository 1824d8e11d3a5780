"""Bad input gets one sentence that names the thing, the place and the remedy."""

import numpy as np
import pytest

from opelda.optimize import Box, Polytope, ShrunkenSimplex, Simplex, Term, maximize

ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)
LOG = Term(lambda x: -np.log(x).sum(), lambda x: -1.0 / x)


def call(g1=ZERO, g2=ZERO, **options):
    return maximize(g1, g2, **{"domain": Simplex(3), **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"g1": lambda x: 0}, TypeError, "g1 must be a Term, got function: wrap"),
        ({"g2": (1, 2)}, TypeError, "g2 must be a Term, got tuple"),
        ({"n_iter": 0}, ValueError, "n_iter is 0: give at least 1"),
        ({"n_iter": 1e3}, TypeError, "n_iter must be an integer, got float"),
        ({"history_every": 0}, ValueError, "history_every is 0"),
        ({"tol": -1}, ValueError, "tol is -1"),
        ({"tol": np.nan}, ValueError, "tol is nan"),
        ({"schedule": "fast"}, ValueError, 'schedule is \'fast\': give "practical" or "literal"'),
        ({"picks": "even"}, ValueError, 'picks is \'even\': give "random" or "balanced"'),
        ({"keep": "all"}, ValueError, 'keep is \'all\': give "last" or "best"'),
        ({"random_state": "7"}, TypeError, "random_state must be None, .* got '7'"),
        ({"random_state": -1}, TypeError, "random_state must be None, a non-negative integer"),
        ({"domain": Simplex}, TypeError, r"such as Simplex\(n\) or an oracle .* got Simplex"),
        ({"domain": [0, 1]}, TypeError, "domain must be a Domain .* got list"),
        ({"domain": lambda d: d}, ValueError, "x0 is missing"),
        ({"x0": [0.5, 0.5]}, ValueError, r"x0 has shape \(2,\), .* 3-dimensional"),
        ({"x0": [0.5, 0.5, np.nan]}, ValueError, r"x0\[2\] is nan"),
        ({"x0": "center"}, TypeError, "x0 must hold real numbers"),
        ({"x0": [[1, 0, 0]], "domain": lambda d: d}, ValueError, r"x0 has shape \(1, 3\)"),
    ],
)
def test_arguments(options, error, message):
    with pytest.raises(error, match=message):
        call(**options)


@pytest.mark.parametrize(
    ("domain", "x0", "amount"),
    [
        (Simplex(3), [0.5, 0.5, 0.25], r"Simplex\(3\) by 0.25"),
        (ShrunkenSimplex(2, 0.125), [0, 1], "by 0.125"),
        (Box([0, 0], 1), [0, 3], "by 2:"),
        (Polytope([[10], [-10]], [10, 10]), [4], "by 3:"),
    ],
)
def test_start_outside_says_how_far(domain, x0, amount):
    with pytest.raises(ValueError, match=f"x0 lies outside .*{amount}"):
        call(domain=domain, x0=x0)


def test_a_start_in_single_precision_is_inside():
    x0 = np.full(7, 1 / 7, dtype=np.float32)
    assert np.float64(x0).sum() != 1
    call(domain=Simplex(7), x0=x0, n_iter=2)


@pytest.mark.parametrize("name", ["g1", "g2"])
@pytest.mark.parametrize("part", ["value", "gradient"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_term_that_is_not_finite_is_named_with_its_iteration(name, part, bad):
    # Any pick makes the first coordinate grow; beyond 0.9 (t = 7) the term breaks.
    def value(x):
        return bad if part == "value" and x[0] > 0.9 else 0.0

    def gradient(x):
        return [1.0, 0.0, bad if part == "gradient" and x[0] > 0.9 else 0.0]

    good = Term(lambda x: 0.0, lambda x: [1.0, 0.0, 0.0])
    terms = {"g1": good, "g2": good, name: Term(value, gradient)}
    index = r"\[2\]" if part == "gradient" else ""
    message = rf"^the {part} of {name} at iteration 7{index} is {bad}: keep the domain"
    with pytest.raises(ValueError, match=message):
        call(**terms, history_every=1)


def test_logarithms_at_a_vertex_fail_on_the_simplex_and_not_on_the_shrunken_one():
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ValueError, match=r"value of g2 at iteration 1 is inf.*ShrunkenSimplex"),
    ):
        call(g2=LOG, schedule="literal", history_every=1, random_state=0)
    result = call(g2=LOG, schedule="literal", domain=ShrunkenSimplex(3, 1e-3), n_iter=10)
    assert np.isfinite(result.f)


@pytest.mark.parametrize(
    ("term", "error", "message"),
    [
        (Term(lambda x: x, lambda x: x), ValueError, r"value of g1 .* shape \(3,\): .* number"),
        (Term(lambda x: None, lambda x: x), ValueError, "value of g1 at iteration 1 is nan"),
        (Term(lambda x: "a", lambda x: x), TypeError, "value of g1 .* real numbers.* got str"),
        (Term(lambda x: 1j, lambda x: x), TypeError, "value of g1 .* real numbers.* complex"),
        (Term(lambda x: 0, lambda x: x[:2]), ValueError, r"gradient of g1 .* shape \(2,\): .*3,"),
        (Term(lambda x: 0, lambda x: 1.0), ValueError, r"gradient of g1 .* shape \(\)"),
    ],
)
def test_a_term_of_the_wrong_kind_is_named(term, error, message):
    with pytest.raises(error, match=message):
        call(g1=term)


@pytest.mark.parametrize(("parts", "name"), [((1, len), "value"), ((len, 1), "gradient")])
def test_term_wants_two_functions(parts, name):
    with pytest.raises(TypeError, match=f"Term's {name} must be a callable of x, got int"):
        Term(*parts)


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        (lambda d: np.eye(3)[np.argmin(d)], "iteration 1 is worse than the iterate by 2"),
        (lambda d: np.zeros(4), r"oracle's point at iteration 1 has shape \(4,\)"),
        (lambda d: d * np.nan, r"oracle's point at iteration 1\[0\] is nan"),
    ],
)
def test_a_wrong_oracle_is_noticed(oracle, message):
    slope = Term(lambda x: 0.0, lambda x: [1.0, 2.0, 6.0])
    with pytest.raises(ValueError, match=message):
        call(g1=slope, domain=oracle, x0=np.full(3, 1 / 3))


def test_an_error_inside_a_term_comes_out_as_it_is():
    def broken(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        call(g1=Term(broken, broken))
