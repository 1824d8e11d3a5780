"""CVB0 against its reference and the concave problem it converges to."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opelda.errors import InputError
from opelda.inference import CVB0, infer
from tests.cases import cases


@given(data=st.data())
@settings(max_examples=80, deadline=None)
def test_kernel_equals_reference(draw_problem, data):
    X, topics, alpha = draw_problem(data)
    method = CVB0(
        burn_in=data.draw(st.integers(0, 5)),
        n_samples=data.draw(st.integers(1, 5)),
        scale=data.draw(st.sampled_from([1.0, 0.3])),
        offset=data.draw(st.sampled_from([0.0, 1.0, 10.0])),
        decay=data.draw(st.sampled_from([0.6, 0.9, 1.0])),
    )
    fast = infer(X, topics, method=method, doc_topic_prior=alpha)
    slow = infer(X, topics, method=method, doc_topic_prior=alpha, engine="reference")
    np.testing.assert_allclose(fast.theta, slow.theta, atol=1e-6)
    assert np.array_equal(fast.n_iter, slow.n_iter)


@cases("alpha", [0.1, 0.7, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_many_iterations_reach_the_concave_optimum(make_problem, best_mixture, seed, alpha):
    X, topics, _ = make_problem(seed, n_docs=5, n_topics=5, n_words=15, concentration=0.5)
    method = CVB0(burn_in=3000, n_samples=200, decay=0.9)
    ours = infer(X, topics, method=method, doc_topic_prior=alpha).theta
    for d, theta in zip(X, ours, strict=True):
        best, start = best_mixture(d, topics, alpha), np.full(5, 0.2)
        found, most, least = (
            d @ np.log(mixture @ topics) + alpha * np.log(mixture).sum()
            for mixture in (theta, best, start)
        )
        assert found > most - 0.01 * (most - least)
        if alpha > 0.5:  # less may leave the optimum so flat that the way there is long
            # a pass of n visits at rate rho moves N by about n rho of itself at most
            rho = 1 / (10 + 3000 * (d > 0).sum()) ** 0.9
            assert np.abs(theta - best).max() < 3 * (d > 0).sum() * rho


def test_counted_passes_are_averaged():
    topics, X = [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [[3, 2, 1]]
    apart = [infer(X, topics, method=CVB0(burn_in=b, n_samples=1)).theta[0] for b in range(4, 8)]
    together = infer(X, topics, method=CVB0(burn_in=4, n_samples=4)).theta[0]
    np.testing.assert_allclose(together, np.mean(apart, axis=0), atol=1e-6)


@cases(
    "bad",
    [
        {"burn_in": -1},
        {"n_samples": 0},
        {"scale": 0.0},
        {"scale": 1.5},
        {"offset": -1.0},
        {"decay": 0.0},
    ],
)
def test_bad_parameters_are_rejected(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        infer([[1, 0]], [[0.5, 0.5]], method=CVB0(**bad))
