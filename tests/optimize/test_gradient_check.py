"""Gradients of wrong sign or scale are rejected; correct gradients are accepted."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, xlogy

from opelda.errors import InputError
from opelda.optimize import Box, L1Ball, Polytope, Simplex, Term, maximize
from tests.cases import cases

N = 4
ZERO = Term(lambda x: 0.0, lambda x: 0.0 * x)
seeds = st.integers(0, 2**32 - 1)
scales = st.integers(-12, 12).map(lambda power: 10.0**power)
many = settings(max_examples=150, deadline=None)


def cube():
    rows = np.vstack([np.eye(N), -np.eye(N), np.ones(N)])
    return Polytope(rows, np.r_[np.ones(N), np.zeros(N), 2.5], [[1.0, -1.0, 0, 0]], [0.0])


DOMAINS = {
    "simplex": Simplex(N),
    "shrunken": Simplex(N, 1e-6),
    "box": Box(np.zeros(N), [1.0, 1e-3, 1e3, 1.0]),
    "flat box": Box([0.5, 0.0, 0.0, 0.25], [0.5, 1.0, 1.0, 0.25]),  # two coordinates are fixed
    "far box": Box(np.full(N, 1e6), 1e6 + 1.0),
    "ball": L1Ball(N, 1e-3),
    "polytope": cube(),
}


def quadratic(rng):
    Q, c = rng.normal(size=(N, N)), rng.normal(size=N)
    return lambda x: x @ Q @ x / 2 + c @ x, lambda x: (Q + Q.T) @ x / 2 + c


def logistic(rng):
    A = rng.normal(size=(20, N))
    return lambda x: -np.logaddexp(0, A @ x).sum(), lambda x: -A.T @ expit(A @ x)


def sharp_cauchy(rng):
    s = 10.0 ** rng.uniform(-9, 0)
    return lambda x: -np.log1p((x / s) ** 2).sum(), lambda x: -2 * x / (s**2 + x**2)


def likelihood(rng):
    beta, d = rng.dirichlet(np.ones(30), N), rng.poisson(2, 30)

    def gradient(x):
        return beta @ (d / np.maximum(np.abs(x) @ beta, 1e-200)) * np.sign(x)

    return lambda x: xlogy(d, np.maximum(np.abs(x) @ beta, 1e-200)).sum(), gradient


def absolute(rng):
    target = rng.choice([0.0, 0.25, 0.5], N)  # kinks at corners and centres
    return lambda x: -np.abs(x - target).sum(), lambda x: -np.sign(x - target)


def largest(rng):
    A = rng.integers(-2, 3, (5, N)).astype(float)
    return lambda x: (A @ x).max(), lambda x: A[np.argmax(A @ x)]


def cubic(rng):
    a = rng.normal(size=N)
    return lambda x: (a @ x) ** 3, lambda x: 3 * (a @ x) ** 2 * a


def constant(rng):
    c = rng.normal()
    return lambda x: c, lambda x: 0 * x


SMOOTH = [quadratic, logistic, sharp_cauchy, likelihood, cubic, constant]
MADE = [*SMOOTH, absolute, largest]


def run(g1, g2, domain, **options):
    return maximize(g1, g2, domain=domain, n_iter=2, max_gap=None, **options)


@many
@given(
    seeds,
    st.sampled_from(MADE),
    st.sampled_from(list(DOMAINS)),
    scales,
    st.sampled_from([0.0, 1.0, -1e6, 1e12]),
    st.sampled_from(["center", "vertex", "between"]),
    st.sampled_from([np.float64, np.float32]),
)
def test_correct_gradient_is_accepted(seed, make, name, scale, offset, start, precision):
    """At any scale and offset, in either precision."""
    rng = np.random.default_rng(seed)
    inner_value, inner_gradient = make(rng)

    def value(x):
        return precision(offset) + precision(scale) * precision(inner_value(x.astype(precision)))

    def gradient(x):
        return precision(scale) * np.asarray(inner_gradient(x.astype(precision)), precision)

    domain = DOMAINS[name]
    vertex, center = domain.oracle(rng.normal(size=N)), domain.center()
    x0 = {"center": center, "vertex": vertex, "between": 0.3 * vertex + 0.7 * center}[start]
    term = Term(value, gradient)
    run(term, ZERO, domain, x0=x0)
    run(ZERO, term, domain, x0=x0)


@many
@given(seeds, st.sampled_from(MADE), st.sampled_from([1e-9, 1e-3, 1.0]))
def test_noise_is_not_reported_as_nonconcave(seed, make, size):
    """Values that change from call to call: estimates from samples, say."""
    rng = np.random.default_rng(seed)
    value, gradient = make(rng)
    noisy = Term(lambda x: value(x) + size * rng.normal(), gradient)
    run(noisy, ZERO, DOMAINS["simplex"])


@given(st.integers(1, 6))
def test_rounded_values_are_not_reported_as_nonconcave(digits):
    """A value of few digits moves in steps, or not at all."""
    slope = np.array([0.3, -0.2, 0.1, 0.7])
    rounded = Term(lambda x: np.round(slope @ x, digits), lambda x: slope)
    run(rounded, ZERO, DOMAINS["simplex"])


def test_terms_are_evaluated_only_inside_the_domain():
    domain = Simplex(N, 1e-3)

    def inside(x):
        assert x.min() >= 1e-3 - 1e-12
        assert abs(x.sum() - 1) < 1e-12
        return np.log(x)

    term = Term(lambda x: inside(x).sum(), lambda x: 1 / np.exp(inside(x)))
    for x0 in (None, domain.oracle([1.0, 0, 0, 0])):
        run(term, ZERO, domain, x0=x0)
    # logarithms that end at the simplex's edge, from an inner start
    run(Term(lambda x: np.log(x).sum(), lambda x: 1 / x), ZERO, Simplex(N))


@cases("factor", [-1.0, 2.0, 0.5, 1.5, -0.01, 100.0, 0.0])
@cases("name", ["g1", "g2"])
@cases("make", [quadratic, logistic, likelihood, cubic], ids=lambda f: f.__name__)
def test_wrong_gradient_is_rejected(make, name, factor):
    value, gradient = make(np.random.default_rng(5))
    wrong = Term(value, lambda x: factor * np.asarray(gradient(x)))
    terms = {"g1": ZERO, "g2": ZERO, name: wrong}
    with pytest.raises(InputError, match=f"^{name} has a wrong gradient") as caught:
        run(**terms, domain=Simplex(N))
    assert caught.value.parameter == name
    assert "check_gradient=False" in str(caught.value)
    run(**terms, domain=Simplex(N), check_gradient=False)
    says, values_say = (float(text) for text in says_of(str(caught.value)))
    assert says == pytest.approx(factor * values_say, rel=0.02, abs=1e-12)


def says_of(message):
    return re.search(r"slope of (\S+) and the values give (\S+);", message).groups()


@given(
    scales,
    st.sampled_from(["ball", "box", "simplex", "polytope"]),
    st.sampled_from([-1.0, 2.0]),
    st.sampled_from([np.float64, np.float32]),
)
def test_wrong_sign_or_factor_is_detected_at_every_scale(scale, name, factor, precision):
    value, gradient = quadratic(np.random.default_rng(1))
    wrong = Term(lambda x: precision(scale * value(x)), lambda x: factor * scale * gradient(x))
    with pytest.raises(InputError, match="g2 has a wrong gradient"):
        run(ZERO, wrong, DOMAINS[name])


def test_check_gradient_must_be_boolean():
    with pytest.raises(InputError, match="check_gradient must be True or False"):
        run(ZERO, ZERO, Simplex(2), check_gradient="no")
