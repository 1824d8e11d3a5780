"""Concentration of mixtures against counting and SciPy's entropy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from opelda.errors import InputError
from opelda.metrics import effective_topics, mixture_sparsity
from tests.cases import cases

mixtures = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 6)),
    elements=st.sampled_from([0, 0, 1, 2, 7, 1e-12]),
).map(lambda theta: np.where(theta.any(axis=1)[:, None], theta, 1.0))


@given(mixtures, st.sampled_from([1e-290, 1, 1e307]))
def test_effective_topics_against_scipy(theta, scale):
    found = effective_topics(theta * scale)
    assert ((found >= 1) & (found <= theta.shape[1])).all()
    np.testing.assert_allclose(found, np.exp(stats.entropy(theta, axis=1)), atol=1e-9)


@given(mixtures, st.sampled_from([0.011, 0.13, 0.501]))
def test_sparsity_against_counting(theta, threshold):
    expected = []
    for row in theta:
        below = [weight for weight in row if weight < threshold * sum(row)]
        expected.append(len(below) / len(row))
    np.testing.assert_allclose(mixture_sparsity(theta, threshold), expected)
    np.testing.assert_allclose(mixture_sparsity(theta.astype(np.float32), threshold), expected)


@given(st.integers(1, 9), st.integers(1, 9), st.permutations(range(9)))
def test_equal_shares(n_equal, n_topics, order):
    n_equal = min(n_equal, n_topics)
    theta = np.zeros((2, n_topics), np.float32)
    theta[:, :n_equal] = 1 / n_equal
    theta = theta[:, [k for k in order if k < n_topics]]
    assert effective_topics(theta) == pytest.approx(n_equal)
    assert mixture_sparsity(theta) == pytest.approx(1 - n_equal / n_topics)
    assert effective_topics(sparse.csr_array(theta)) == pytest.approx(n_equal)


def test_input_is_unchanged():
    theta = np.array([[2.0, 2.0]])
    assert effective_topics(theta).tolist() == [2]
    assert mixture_sparsity(theta, 0.6).tolist() == [1]
    assert theta.tolist() == [[2, 2]]


@cases("measure", [effective_topics, mixture_sparsity])
@cases(
    ("theta", "message"),
    [
        ([[0.5, 0.5], [0.0, 0.0]], "row 1 is not one"),
        ([[1.5, -0.5]], "row 0 is not one"),
        ([[0.5, np.nan]], "theta must be finite, but row 0 holds"),
        ([0.5, 0.5], "theta must be a numeric array"),
        (np.zeros((0, 3)), "theta must be a numeric array"),
    ],
)
def test_bad_mixtures_are_rejected(measure, theta, message):
    with pytest.raises(InputError, match=message):
        measure(theta)


@cases("threshold", [0, -1, 1.01, np.nan, None, "0.1", True])
def test_bad_thresholds_are_rejected(threshold):
    with pytest.raises(InputError, match="threshold must be"):
        mixture_sparsity([[1.0]], threshold)
