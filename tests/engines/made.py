"""Documents, weights and tasks to test engines with, and their values in plain NumPy."""

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines.seam import HostWeights, Task
from opelda.inference import OPE

SEEDS = st.integers(0, 2**32 - 1)
N_TOPICS = st.integers(1, 40)
PRIORS = ["number", "words", "matrix"]
SMALLEST = 1e-15  # that counts as a probability
EPS = 2.0**-24  # rounding error in single precision
TERMS = ("gap", "likelihood_gap", "log_likelihood", "log_prior")


def make_documents(rng, n_docs, n_words, fractions=True):
    """Return counts with an empty document and an unused word."""
    X = rng.poisson(0.4, (n_docs, n_words)).astype(np.float32)
    if fractions:
        X *= rng.choice(np.float32([1.0, 2.5]), X.shape)
    X[:, rng.integers(n_words)] = 0
    if n_docs:
        X[rng.integers(n_docs)] = 0
    return sparse.csr_array(X)


def make_prior(rng, kind, n_words, n_topics):
    if kind == "number":
        return 0.05
    shape = n_words if kind == "words" else (n_words, n_topics)
    return rng.uniform(0.01, 0.5, shape).astype(np.float32)


def make_weights(rng, n_words, n_topics, prior="number", prior_weight=0.7, scale=0.3):
    """Return weights of all sizes; word 0 is in no topic, others are missing in some."""
    rows = rng.gamma(0.3, 10.0, (n_words, n_topics)) * (rng.random((n_words, n_topics)) < 0.8)
    rows[0] = 0
    rows[rows < 1e-8] = 0
    rows[-1] += np.where(np.arange(n_topics) == 0, 1.0, 0.5)  # every topic has a word
    rows = rows.astype(np.float32)
    rows.flags.writeable = False
    return HostWeights(rows, make_prior(rng, prior, n_words, n_topics), scale, prior_weight)


def plain_weights(topics, size=1.0):
    """Return weights that stand for given topics (K, V): no prior, and `size` in all."""
    rows = (size * np.asarray(topics, np.float64)).T.astype(np.float32)
    rows.flags.writeable = False
    return HostWeights(rows, 0.1)


def as_lambda(host):
    """lambda, K x V, in double precision."""
    eta = np.asarray(host.prior, np.float64)
    rows = host.rows.T.astype(np.float64)
    return host.scale * rows + host.prior_weight * (eta.T if eta.ndim == 2 else eta)


def as_topics(lam):
    """beta, K x V; an unknown word has equal probability in every topic."""
    beta = lam / lam.sum(axis=1, keepdims=True)
    beta[beta < SMALLEST] = 0
    beta[:, ~beta.any(axis=0)] = SMALLEST
    return beta


def make_topics(rng, n_topics, n_words):
    return 0.99 * rng.dirichlet(np.full(n_words, 0.2), n_topics) + 0.01 / n_words


def make_task(n_topics, method=None, alpha=None, seed=1):
    alpha = np.full(n_topics, 1 / n_topics) if alpha is None else np.asarray(alpha, np.float64)
    return Task(OPE(n_iter=20) if method is None else method, alpha, seed)


def mixtures(picks):
    """Return the mixtures (D, K) that picks stand for, in double precision."""
    shape = (len(picks.rest), len(picks.start))
    picked = sparse.csr_array((picks.shares.astype(np.float64), picks.topics, picks.indptr), shape)
    return picked.toarray() + picks.rest[:, None].astype(np.float64) * picks.start


def certificate(X, beta, theta, alpha):
    """Return the gaps and the terms of f, a row each of `TERMS`, as the formulas are written."""
    found = []
    for counts, mixture in zip(X.toarray().astype(np.float64), theta, strict=True):
        held = counts > 0
        if not held.any():
            mixture = alpha / alpha.sum()
        d, words = counts[held], beta[:, held]
        x, mixture = mixture @ words, np.maximum(mixture, 1e-30)
        slopes = [words @ (d / x), (alpha - 1) / mixture]
        gaps = [max(np.max(slope) - slope @ mixture, 0) for slope in (sum(slopes), slopes[0])]
        if not held.any():  # no possible error
            gaps = [0, 0]
        found.append([*gaps, d @ np.log(x), (alpha - 1) @ np.log(mixture)])
    return np.array(found).reshape(-1, 4).T


def same_bytes(one, other):
    """Compare two records of arrays and numbers field by field."""
    for name, value in vars(one).items():
        theirs = getattr(other, name)
        if hasattr(value, "__dataclass_fields__"):
            assert same_bytes(value, theirs)
        else:
            assert np.array_equal(value, theirs, equal_nan=value is not None), name
    return True
