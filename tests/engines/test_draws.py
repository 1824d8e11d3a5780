"""Draws against the dense conditional of every token, computed in NumPy."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import chi2

from opelda.corpus import ABSTRACTS, generate, read
from opelda.engines import CPUEngine

from .tokens_made import by_document, cells_of, tokens_of

N_BINS = 40


def made(seed):
    """Return documents of several topics each, so that both factors of a conditional matter."""
    drawn = generate(
        150, n_words=80, n_topics=5, n_tokens=60, doc_topic_prior=1.0, random_state=seed
    )
    return sparse.csr_array(drawn.X)


def surprises(X, before, after, counts, alpha, eta, rng):
    """Return a number per token that is uniform if each was drawn from its conditional.

    And how many standard deviations more tokens stayed in their topics than were to be expected.

    When a token is drawn, those before it in its document have their new topics, those after it
    the old ones: P(k) ~ (N_dk + alpha_k) (lambda_kj + eta - own) / sum_j (lambda_kj + eta).
    """
    lam = cells_of(counts) * 2.0**-counts.shift
    totals = lam.sum(axis=0) + eta * len(lam)
    found, staying = [], []
    for d, (old, new) in enumerate(zip(before, after, strict=True)):
        part = slice(X.indptr[d], X.indptr[d + 1])
        each = np.minimum(np.ceil(X.data[part]), 16).astype(int)
        words, weights = np.repeat(X.indices[part], each), np.repeat(X.data[part] / each, each)
        sizes = np.bincount(old, weights, len(alpha))
        for i, (word, weight) in enumerate(zip(words, weights, strict=True)):
            sizes[old[i]] -= weight
            own = weight * (np.arange(len(alpha)) == old[i])
            p = (np.maximum(sizes, 0) + alpha) * (lam[word] + eta - own) / totals
            # by size: a conditional that is too even, or not enough, must not average out
            likelier = p[p > p[new[i]]].sum()
            found.append((likelier + rng.random() * p[new[i]]) / p.sum())
            staying.append((p[old[i]] / p.sum(), old[i] == new[i]))
            sizes[new[i]] += weight
    expected, seen = np.array(staying, float).T
    return np.array(found), (seen - expected).sum() / np.sqrt((expected * (1 - expected)).sum())


def is_right(drawn):
    """Chi-square, and six standard deviations: about one wrong alarm in a billion each."""
    values, staying = drawn
    seen = np.bincount(np.minimum(values * N_BINS, N_BINS - 1).astype(int), minlength=N_BINS)
    expected = len(values) / N_BINS
    is_uniform = ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-9, N_BINS - 1)
    return is_uniform and abs(staying) < 6


def swept(X, n_topics, alpha, eta, seed, n_sweeps=40, engine=None):
    """Sweep until topics differ; return the topics before and after the last sweep, and counts."""
    engine = engine or CPUEngine(2)
    tokens, counts = tokens_of(engine, X.toarray(), n_topics), None
    weights = engine.random_weights(X.shape[1], n_topics, eta, seed)
    for number in range(n_sweeps):
        before, drawn_by = by_document(tokens), counts
        counts = engine.sweep(weights, tokens, alpha, counts=counts, seed=seed + (number << 32))
    return before, by_document(tokens), drawn_by


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("n_topics", [2, 9, 30, 200])
@pytest.mark.parametrize("prior", [0.5, 20.0])
@pytest.mark.parametrize("heavy", [20.0, 2e4])  # with 3e5 single precision shows
def test_every_token_is_drawn_from_its_conditional(n_topics, prior, heavy, seed):
    """Few and many topics a document, draws that land in the prior's part, counts of any size."""
    rng = np.random.default_rng(seed)
    X = made(seed)
    X.data *= rng.choice([1.0, 1.0, 1.0, heavy], X.nnz).astype(np.float32)
    alpha = rng.dirichlet(np.ones(n_topics)) * prior
    drawn = swept(X, n_topics, alpha, 0.1, seed)
    assert is_right(surprises(X, *drawn, alpha, 0.1, rng))


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("n_topics", [20, 100])
def test_tokens_of_abstracts_are_drawn_from_their_conditional(n_topics, seed):
    X = sparse.csr_array(read(ABSTRACTS, limit=250, min_df=2).X.astype(np.float32))
    rng = np.random.default_rng(seed)
    alpha = np.full(n_topics, 2.0 / n_topics)
    drawn = swept(X, n_topics, alpha, 0.1, seed)
    assert is_right(surprises(X, *drawn, alpha, 0.1, rng))


@pytest.mark.heavy
@pytest.mark.parametrize("seed", range(100))
def test_every_token_is_drawn_from_its_conditional_for_a_hundred_seeds(seed):
    rng = np.random.default_rng(seed)
    X, n_topics = made(seed), int(rng.integers(2, 300))
    alpha = rng.dirichlet(np.ones(n_topics)) * rng.uniform(0.2, 40)
    drawn = swept(X, n_topics, alpha, 0.1, seed)
    assert is_right(surprises(X, *drawn, alpha, 0.1, rng))


@pytest.mark.parametrize("seed", range(1))
def test_chi_square_detects_a_wrong_conditional(seed):
    rng = np.random.default_rng(seed)
    X = made(seed)
    alpha = np.full(9, 0.2)
    before, after, counts = swept(X, 9, alpha, 0.1, seed)
    assert is_right(surprises(X, before, after, counts, alpha, 0.1, rng))
    assert not is_right(surprises(X, before, after, counts, 10 * alpha, 0.1, rng))
    assert not is_right(surprises(X, before, after, counts, alpha, 20.0, rng))
