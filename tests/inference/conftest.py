"""Corpora for the tests of inference methods."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opelda.inference import infer


class Problem(NamedTuple):
    X: np.ndarray
    topics: np.ndarray
    alpha: Any


def make_topics(seed: int, n_topics: int, n_words: int, concentration: float, zeros: bool):
    topics = np.random.default_rng(seed).dirichlet(np.full(n_words, concentration), n_topics)
    if zeros:
        topics[topics < topics.max(axis=1, keepdims=True) / 20] = 0.0
    return topics / topics.sum(axis=1, keepdims=True)


@pytest.fixture(scope="session")
def draw_problem():
    """Let hypothesis choose a small corpus, topics and a prior."""

    def draw(
        data, *, max_topics=20, max_words=12, counts=(0, 1, 2, 3, 7, 0.5, 2.5, 40), alphas=None
    ):
        n_topics = data.draw(st.integers(1, max_topics), label="topics")
        n_words = data.draw(st.integers(1, max_words), label="words")
        shape = (data.draw(st.integers(1, 4), label="documents"), n_words)
        X = data.draw(hnp.arrays(np.float32, shape, elements=st.sampled_from(counts)), label="X")
        topics = make_topics(
            data.draw(st.integers(0, 2**32 - 1), label="seed of the topics"),
            n_topics,
            n_words,
            data.draw(st.sampled_from([0.1, 1.0])),
            data.draw(st.booleans(), label="zeros"),
        )
        choices = alphas or (None, 0.01, 0.5, 1.0, 3.0, "vector")
        alpha = data.draw(st.sampled_from(choices), label="alpha")
        if alpha == "vector":
            alpha = np.linspace(0.1, 2.0, n_topics)
        return Problem(X, topics, alpha)

    return draw


@pytest.fixture(scope="session")
def make_problem():
    """Draw a corpus from topics, as the model itself would."""

    def make(seed, n_docs=20, n_topics=10, n_words=60, n_tokens=40, alpha=None, concentration=0.1):
        rng = np.random.default_rng([seed, 99])
        topics = make_topics(seed, n_topics, n_words, concentration, zeros=False)
        theta = rng.dirichlet(np.full(n_topics, 0.2), n_docs)
        words = theta @ topics
        X = rng.multinomial(n_tokens, words / words.sum(axis=1, keepdims=True))
        return Problem(X.astype(np.float32), topics, alpha)

    return make


@pytest.fixture(scope="session")
def assert_same():
    """Compare a kernel with its reference where single precision decides close contests.

    Between topics that explain a document equally well a fixed-point iteration may magnify the last
    bit. The kernel may differ by 1e-5, or by what such a bit in the topics does to the reference.
    """

    def check(X, topics, **options):
        fast = infer(X, topics, **options)
        slow = infer(X, topics, **options, engine="reference")
        assert np.array_equal(fast.n_iter, slow.n_iter)
        if np.abs(fast.theta - slow.theta).max() <= 1e-5:
            return
        rng = np.random.default_rng(0)
        sensitivity = np.zeros(len(slow.theta))
        for _ in range(5):
            nudged = topics * (1 + 3e-7 * rng.choice([-1, 1], topics.shape))
            other = infer(X, nudged, **options, engine="reference").theta
            np.maximum(sensitivity, np.abs(other - slow.theta).max(axis=1), out=sensitivity)
        assert (np.abs(fast.theta - slow.theta).max(axis=1) <= 1e-5 + 10 * sensitivity).all()

    return check


@pytest.fixture(scope="session")
def best_mixture():
    """Maximise sum_j d_j log x_j + sum_k weight_k log theta_k by EM; concave for weight >= 0."""

    def solve(d, topics, weight, n_iter=20_000):
        theta = np.full(len(topics), 1.0 / len(topics))
        for _ in range(n_iter):
            after = theta * (topics @ (d / (theta @ topics))) + weight
            after /= after.sum()
            if np.abs(after - theta).max() < 1e-13:
                break
            theta = after
        return theta

    return solve
