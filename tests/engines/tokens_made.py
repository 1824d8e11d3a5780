"""Tokens, draws and counts shared by the tests of sweeps and counts."""

from collections import Counter

import numpy as np
from scipy import sparse

from opelda.engines.seam import TokenCounts

from .made import plain_weights


def tokens_of(engine, counts, n_topics, **options):
    matrix = sparse.csr_array(np.asarray(counts, np.float32))
    return engine.tokens(engine.documents(matrix), n_topics, **options)


def draw(engine, tokens, topics, alpha, seed=0, **options):
    """Draw topics for tokens without any; return them and the counts."""
    weights = engine.weights(plain_weights(topics))
    return engine.sweep(weights, tokens, np.asarray(alpha, float), seed=seed, **options)


def cells_of(counts):
    return counts.cells.toarray()


def counts_of(topics, size, shift=16):
    """Return counts that stand for topics (K, V), each with `size` tokens in all."""
    cells = np.rint(np.ldexp(size * np.asarray(topics, float).T, shift)).astype(np.int64)
    return TokenCounts(sparse.csr_array(cells), shift)


def by_document(tokens):
    return np.split(np.asarray(tokens.topics), np.asarray(tokens.first)[1:-1])


def copy_numbers(X):
    """Number the documents of equal content 0, 1, 2, ..."""
    seen = Counter()
    numbers = []
    for row in X.toarray():
        numbers.append(seen[row.tobytes()])
        seen[row.tobytes()] += 1
    return np.array(numbers, np.int64)
