"""Concentration of mixtures against counting and SciPy's entropy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse, stats

from opelda.errors import InputError
from opelda.metrics import effective_topics
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


@given(st.integers(1, 9), st.integers(1, 9), st.permutations(range(9)))
def test_equal_shares(n_equal, n_topics, order):
    n_equal = min(n_equal, n_topics)
    theta = np.zeros((2, n_topics), np.float32)
    theta[:, :n_equal] = 1 / n_equal
    theta = theta[:, [k for k in order if k < n_topics]]
    assert effective_topics(theta) == pytest.approx(n_equal)
    assert effective_topics(sparse.csr_array(theta)) == pytest.approx(n_equal)


def test_input_is_unchanged():
    theta = np.array([[2.0, 2.0]])
    assert effective_topics(theta).tolist() == [2]
    assert theta.tolist() == [[2, 2]]


@cases(
    ("theta", "message"),
    [
        ([[0.5, 0.5], [0.0, 0.0]], "row 1 is not a mixture"),
        ([[1.5, -0.5]], "row 0 is not a mixture"),
        ([[0.5, np.nan]], "theta must be finite, but row 0 has"),
        ([0.5, 0.5], "theta must be a numeric array"),
        (np.zeros((0, 3)), "theta must be a numeric array"),
    ],
)
def test_bad_mixtures_are_rejected(theta, message):
    with pytest.raises(InputError, match=message):
        effective_topics(theta)
