"""The package against an independent computation."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse, special

from opelda.corpus import generate
from opelda.inference import VB, Topics, infer
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability, predict_held_out, split_tokens

from . import independent

seeds = st.integers(0, 2**32 - 1)
alphas = st.sampled_from([None, 0.01, 0.3, 1.5])


def corpus(seed, n_topics):
    return generate(
        25, n_words=50, n_topics=n_topics, n_tokens=15, topic_word_prior=0.2, random_state=seed
    )


@settings(max_examples=10)
@given(seeds, st.integers(1, 6), alphas)
def test_prediction_equals_double_precision(seed, n_topics, alpha):
    made = corpus(seed, n_topics)
    splits = [split_tokens(made.X, random_state=s) for s in (1, 2)]
    macro, micro = independent.lpp(splits, made.topics, alpha)
    found = predict_held_out(made.topics, splits, doc_topic_prior=alpha, engine="reference")
    assert found.macro == pytest.approx(macro, abs=1e-9)
    assert found.micro == pytest.approx(micro, abs=1e-9)
    # kernels have single precision, and so have Topics; their scores are summed in double
    fast = predict_held_out(made.topics, splits, doc_topic_prior=alpha)
    assert fast.macro == pytest.approx(macro, abs=1e-3)
    rounded = Topics(made.topics)
    macro, _ = independent.lpp(splits, rounded.components, alpha)
    found = predict_held_out(rounded, splits, doc_topic_prior=alpha, engine="reference")
    assert found.macro == pytest.approx(macro, abs=1e-9)


@settings(max_examples=10)
@given(seeds)
def test_prediction_with_internal_splits(seed):
    made = corpus(seed, 4)
    long_enough = made.X[made.X.sum(axis=1) >= 2]
    rng, splits = np.random.default_rng(seed), []
    for _ in range(2):
        splits.append(split_tokens(long_enough, held_out=0.4, random_state=rng))
        rng.integers(2**32)  # inference's seed
    macro, micro = independent.lpp(splits, made.topics, 0.2)
    found = log_predictive_probability(
        made.topics,
        made.X,
        doc_topic_prior=0.2,
        held_out=0.4,
        n_splits=2,
        random_state=seed,
        engine="reference",
    )
    assert (found.macro, found.micro) == pytest.approx((macro, micro), abs=1e-9)


def test_words_of_no_topic():
    """Left out of inference, and 1e-30 when they are to be predicted."""
    topics = np.array([[0.7, 0.3, 0.0, 1e-16], [0.2, 0.8, 0.0, 0.0]])
    observed = np.array([[3, 1, 2, 1], [0, 0, 4, 0], [0, 2, 0, 1]])
    held = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 2]])
    macro, micro = independent.lpp([(observed, held)], topics, 0.1)
    found = predict_held_out(topics, [(observed, held)], doc_topic_prior=0.1, engine="reference")
    assert (found.macro, found.micro) == pytest.approx((macro, micro), abs=1e-9)


@settings(max_examples=10)
@given(seeds, alphas)
def test_single_mixture(seed, alpha):
    made = corpus(seed, 3)
    prior = np.full(3, 1 / 3 if alpha is None else alpha)
    expected = infer(
        made.X, made.topics, doc_topic_prior=alpha, method=VB(), engine="reference"
    ).theta
    for row, theta in zip(independent.rows(made.X), expected, strict=True):
        words = list(row)
        counts = np.array([row[j] for j in words])
        found = independent.vb_mixture(counts, made.topics[:, words], prior)
        np.testing.assert_allclose(found, theta, atol=1e-6)


@given(seeds, st.integers(2, 12), st.sampled_from([0.02, 0.3, 0.9]))
def test_npmi(seed, n_words, density):
    rng = np.random.default_rng(seed)
    X = (rng.random((40, 30)) < density) * rng.integers(0, 3, (40, 30))
    topics = rng.dirichlet(np.full(30, 0.1), 4)
    expected = independent.npmi(topics, X, n_words)
    np.testing.assert_allclose(npmi(topics, X, n_words=n_words), expected, rtol=0, atol=1e-12)


def test_digamma_equals_scipy():
    x = np.logspace(-6, 6, 500)
    np.testing.assert_allclose(independent.digamma(x), special.psi(x), rtol=1e-12, atol=1e-15)


def test_value_equals_manual_computation(tmp_path, capsys):
    made = corpus(3, 4)
    observed, held = split_tokens(made.X, random_state=0)
    np.save(tmp_path / "topics.npy", made.topics)
    for name, matrix in (("X", made.X), ("observed", observed), ("held", held)):
        sparse.save_npz(tmp_path / f"{name}.npz", matrix)
    independent.main(
        [
            *("--topics", str(tmp_path / "topics.npy"), "--counts", str(tmp_path / "X.npz")),
            *("--splits", str(tmp_path / "observed.npz"), str(tmp_path / "held.npz")),
            *("--alpha", "0.3", "--n-words", "5"),
        ]
    )
    printed = [float(number) for number in re.findall(r"-?\d+\.\d+", capsys.readouterr().out)]
    found = predict_held_out(
        made.topics, [(observed, held)], doc_topic_prior=0.3, engine="reference"
    )
    coherence = npmi(made.topics, made.X, n_words=5).mean()
    assert printed == pytest.approx([found.macro, found.micro, coherence], abs=1e-9)
