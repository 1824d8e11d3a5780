"""OFW: its steps, sampled tokens and result."""

import numpy as np
import pytest

from opelda.engines.seam import uniforms
from opelda.inference import infer
from opelda.inference._method import Document
from opelda.inference.fw import OFW

from .numpy_methods_helpers import Contract, concave_optimum, corpus


class TestContract(Contract):
    method = OFW(n_iter=40)
    random = True
    wrong = ({"n_iter": 1}, {"step_decay": 0.5}, {"step_decay": 1.1}, {"step_decay": "1"})


@pytest.mark.parametrize("decay", [0.6, 1.0])
def test_result_equals_the_explicit_walk(decay):
    X, topics, _ = corpus(1, n_docs=1, n_topics=4, n_words=12, n_tokens=30)
    d, alpha = X[0].astype(float), np.array([0.5, 1.0, 2.0, 0.9])
    document = Document(d, topics, alpha, key=77)
    tokens = np.repeat(np.arange(12), X[0])  # word of every token, in order
    theta, seen = np.full(4, 0.25), []
    for t in range(1, 16):
        seen.append(tokens[int(uniforms(77, t - 1, 1)[0] * 30)])
        if t == 1:
            continue
        slope = (alpha - 1) / theta
        for word in seen:
            slope = slope + 30 / t * topics[:, word] / (theta @ topics[:, word])
        theta = theta + t**-decay * (np.eye(4)[slope.argmax()] - theta)
    found, n_iter = OFW(n_iter=15, step_decay=decay).reference(document, seed=0)
    assert n_iter == 15
    np.testing.assert_allclose(found, theta, atol=1e-12)


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_result_approaches_the_concave_optimum(alpha, seed):
    X, topics, _ = corpus(seed, n_docs=3, n_topics=3, n_words=30, n_tokens=80)
    best = np.array([concave_optimum(x, topics, alpha) for x in X])

    def short_of_best(n_iter):
        options = {"doc_topic_prior": alpha, "method": OFW(n_iter=n_iter), "random_state": seed}
        return best - infer(X, topics, **options).objective

    few, many = short_of_best(30), short_of_best(15_000)
    assert (many < 0.2).all()
    assert many.mean() < few.mean() / 10


def test_every_topic_keeps_part_of_its_initial_share():
    X, topics, _ = corpus(5, n_docs=2, n_topics=10, n_words=30, n_tokens=50)
    theta = infer(X, topics, method=OFW(n_iter=50), random_state=0).theta
    # steps of 1/t leave every topic 1/T of its initial share
    np.testing.assert_allclose(theta.min(axis=1), 0.1 / 50, rtol=1e-5)
