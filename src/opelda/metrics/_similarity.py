"""How alike topics are: every topic of one model with every topic of another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import entr

from opelda.errors import InputError
from opelda.metrics._top_words import top_words

Weights = NDArray[Any]


def cosine(a: Weights, b: Weights, n_words: int) -> NDArray[np.float64]:
    """Return the cosines (K, L); 0 with a topic of zeros."""
    left, right = _scaled(a), _scaled(b)
    _divide(left, np.linalg.norm(left, axis=1))
    _divide(right, np.linalg.norm(right, axis=1))
    return np.clip(left @ right.T, -1.0, 1.0)


def jaccard(a: Weights, b: Weights, n_words: int) -> NDArray[np.float64]:
    """Return |common top words| / |all their top words| (K, L)."""
    left, right = _top(a, n_words), _top(b, n_words)
    common = (left @ right.T).toarray()
    shares: NDArray[np.float64] = common / (2 * min(n_words, a.shape[1]) - common)
    return shares


def jensen_shannon(a: Weights, b: Weights, n_words: int) -> NDArray[np.float64]:
    """Return 1 - JSD (K, L), the divergence in bits; 0 with a topic of zeros."""
    if (a < 0).any() or (b < 0).any():
        raise InputError("Topics must have no negative weights for 'jensen_shannon'.")
    left, right = _scaled(a), _scaled(b)
    _divide(left, left.sum(axis=1))
    _divide(right, right.sum(axis=1))
    own, other = _entropy(left), _entropy(right)
    alike = np.zeros((len(left), len(right)))
    for k, p in enumerate(left):
        divergence = _entropy((p + right) / 2) - (own[k] + other) / 2
        alike[k] = np.clip(1 - divergence / np.log(2), 0.0, 1.0)
    alike[left.sum(axis=1) == 0] = 0.0
    alike[:, right.sum(axis=1) == 0] = 0.0
    return alike


def _entropy(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    nats: NDArray[np.float64] = entr(rows).sum(axis=1)
    return nats


def _scaled(weights: Weights) -> NDArray[np.float64]:
    # by the largest: squares of tiny weights, or of huge ones, have no place in a double
    scaled = weights.astype(np.float64)
    _divide(scaled, np.abs(scaled).max(axis=1))
    return scaled


def _divide(rows: NDArray[np.float64], by: NDArray[np.float64]) -> None:
    np.divide(rows, by[:, None], out=rows, where=by[:, None] > 0)


def _top(weights: Weights, n_words: int) -> sparse.csr_array:
    ids = top_words(weights.astype(np.float64), n_words)
    ends = np.arange(len(ids) + 1) * ids.shape[1]
    return sparse.csr_array((np.ones(ids.size), ids.ravel(), ends), shape=weights.shape)


SIMILARITIES = {"cosine": cosine, "jaccard": jaccard, "jensen_shannon": jensen_shannon}
