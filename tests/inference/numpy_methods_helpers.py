"""Shared tests of the NumPy-only methods: one behaviour suite and independent oracles."""

from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone

from opelda.errors import InputError
from opelda.inference import Inference, Method, infer
from opelda.inference._method import Document
from tests.cases import cases


def corpus(seed: int, n_docs: int, n_topics: int, n_words: int, n_tokens: int, alpha: float = 0.5):
    """Counts, topics and true mixtures, drawn from the model itself."""
    rng = np.random.default_rng(seed)
    topics = rng.dirichlet(np.full(n_words, 0.3), n_topics)
    theta = rng.dirichlet(np.full(n_topics, alpha), n_docs)
    counts = np.array([rng.multinomial(n_tokens, p / p.sum()) for p in theta @ topics])
    return counts, topics, theta


def objective(theta, counts, topics, alpha) -> float:
    """f, from its definition; absent words and terms of zero weight are skipped."""
    seen = counts > 0
    f = counts[seen] @ np.log(theta @ topics[:, seen])
    weighty = np.broadcast_to(alpha, theta.shape) != 1
    return float(f + (np.broadcast_to(alpha, theta.shape) - 1)[weighty] @ np.log(theta[weighty]))


def concave_optimum(counts, topics, alpha) -> float:
    """The largest f for alpha >= 1, found by L-BFGS in softmax coordinates."""
    n_topics = len(topics)

    def loss(eta):
        theta = np.exp(eta - eta.max())
        theta /= theta.sum()
        slope = topics @ (counts / (theta @ topics)) + (alpha - 1) / theta
        return -objective(theta, counts, topics, alpha), -theta * (slope - slope @ theta)

    options = {"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(loss, np.zeros(n_topics), jac=True, method="L-BFGS-B", options=options)
    return -float(found.fun)


def posterior_mean(document: Document) -> np.ndarray:
    """E[theta] for two or three topics by summation over a fine grid of softmax coordinates."""
    steps = np.linspace(-40, 40, 801)
    if len(document.alpha) == 2:
        eta = np.stack([steps, np.zeros_like(steps)], axis=1)
    else:
        first, second = np.meshgrid(steps, steps)
        eta = np.stack([first.ravel(), second.ravel(), np.zeros(first.size)], axis=1)
    eta = eta - eta.max(axis=1, keepdims=True)
    log_theta = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
    theta = np.exp(log_theta)
    # d theta = prod_k theta_k d eta, hence alpha in place of alpha - 1
    log_mass = np.log(theta @ document.beta) @ document.counts + log_theta @ document.alpha
    mass = np.exp(log_mass - log_mass.max())
    return mass @ theta / mass.sum()


@st.composite
def documents(draw, least_alpha: float = 0.01) -> Document:
    """Documents with fractional counts, topics with zeros, and an asymmetric prior."""
    n_topics, n_words = draw(st.integers(1, 6)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    counts = rng.gamma(draw(st.sampled_from([0.3, 1.0, 30.0, 1e4])), size=n_words) + 1e-3
    beta = rng.dirichlet(np.full(n_words, draw(st.sampled_from([0.05, 0.5, 5.0]))), n_topics)
    beta[rng.random(beta.shape) < draw(st.sampled_from([0.0, 0.4]))] = 0.0
    beta[rng.integers(n_topics), beta.sum(axis=0) <= 1e-9] = 0.1
    alpha = least_alpha + rng.gamma(draw(st.sampled_from([0.05, 1.0, 4.0])), size=n_topics)
    return Document(counts, beta, alpha, key=int(rng.integers(2**63)))


_DISJOINT = np.repeat(np.eye(3), 2, axis=1) / 2
_SKEWED = np.array([[0.97, 0.01, 0.01, 0.01], [0.25, 0.25, 0.25, 0.25], [0.0, 0.0, 0.5, 0.5]])
EDGES: dict[str, tuple[Any, Any, Any]] = {
    "one word": ([[1, 0, 0, 0], [0, 0, 0, 7]], _SKEWED, None),
    "one topic": ([[3, 1]], [[0.5, 0.5]], None),
    "one topic, one word": ([[3]], [[1.0]], 2.0),
    "long": ([[10**6, 0, 1, 0], [250_000, 250_000, 250_000, 250_000]], _SKEWED, 0.01),
    "endless": ([[3e12, 1e9, 0, 5e11]], _SKEWED, None),
    "long, alpha above 1": ([[10**6, 0, 1, 0]], _SKEWED, 3.0),
    "alpha of 1": ([[5, 0, 2, 1]], _SKEWED, 1.0),
    "alpha per topic": ([[5, 0, 2, 1]], _SKEWED, [0.001, 1.0, 40.0]),
    "a prior stronger than the data": ([[5, 0, 2, 1]], _SKEWED, 1e6),
    "hardly a prior": ([[5, 0, 2, 1]], _SKEWED, 1e-8),
    "fractions": ([[0.001, 0, 0, 0], [0.3, 0.01, 2.5, 0]], _SKEWED, 0.5),
    "disjoint topics": ([[4, 1, 0, 0, 3, 2], [1, 0, 0, 0, 0, 0]], _DISJOINT, None),
    "an empty document": ([[0, 0, 0, 0], [1, 2, 0, 0]], _SKEWED, None),
    "words without a topic": ([[2, 5, 1]], [[0.5, 0.0, 0.5], [1.0, 0.0, 0.0]], None),
    "many topics": ([[3, 0, 1, 2]], np.tile(_SKEWED, (50, 1)), None),
}


class Contract:
    """Contract of every method.

    Subclasses name the method, whether it is random, and settings it must refuse.
    """

    method: ClassVar[Method]
    random: ClassVar[bool]
    wrong: ClassVar[tuple[dict[str, Any], ...]]

    def infer(self, X: Any, topics: Any, prior: Any = None, seed: int = 0) -> Inference:
        return infer(X, topics, doc_topic_prior=prior, method=self.method, random_state=seed)

    @cases("edge", EDGES)
    def test_mixtures_are_distributions_with_certificates(self, edge: str) -> None:
        result = self.infer(*EDGES[edge])
        assert np.isfinite(result.theta).all()
        assert (result.theta >= 0).all()
        np.testing.assert_allclose(result.theta.sum(axis=1, dtype=float), 1, atol=1e-6)
        for gap in (result.gap, result.likelihood_gap):
            assert np.isfinite(gap).all()
            assert (gap >= 0).all()

    def test_equal_seeds_give_equal_results(self) -> None:
        X, topics, _ = corpus(1, n_docs=4, n_topics=3, n_words=20, n_tokens=15)
        before = np.random.get_state()[1].copy()  # noqa: NPY002  # the state that must not be used
        first, again, other = (self.infer(X, topics, seed=s).theta for s in (5, 5, 6))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any() == self.random
        np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002

    def test_rows_do_not_depend_on_their_neighbours(self) -> None:
        X, topics, _ = corpus(2, n_docs=6, n_topics=4, n_words=25, n_tokens=30)
        all_rows = self.infer(X, topics).theta
        order = [4, 0, 3]
        np.testing.assert_array_equal(self.infer(X[order], topics).theta, all_rows[order])

    def test_bad_settings_raise_one_sentence(self) -> None:
        for settings in self.wrong:
            (parameter,) = set(settings) - {"n_iter"} or settings
            method = type(self.method)(**settings)
            message = rf"^{parameter} must be .*, got .*\.$"
            with pytest.raises(InputError, match=message):
                infer([[1, 2]], [[0.5, 0.5]], method=method)

    def test_method_is_a_scikit_learn_estimator(self) -> None:
        copy = clone(self.method)
        assert copy is not self.method
        assert copy == self.method
        assert self.method.name == type(self.method).__name__.lower()
