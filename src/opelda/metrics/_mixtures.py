"""How concentrated the topic mixtures of documents are."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from opelda._validation import number
from opelda.errors import InputError
from opelda.metrics._topics import as_weights


def effective_topics(theta: ArrayLike) -> NDArray[np.float64]:
    """Return how many topics each document has, by the exponential of its mixture's entropy.

    From 1, a single topic, to K, all alike; m topics of equal shares are m.

    Parameters
    ----------
    theta : array (D, K)
        Mixtures; rows are divided by their sums, which must be positive.

    Returns
    -------
    float64 array (D,)

    Examples
    --------
    >>> effective_topics([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.8, 0.1, 0.1]]).round(2)
    array([1.  , 2.  , 1.89])
    """
    shares = _shares(theta)
    topics: NDArray[np.float64] = np.exp(entr(shares).sum(axis=1))
    return np.clip(topics, 1.0, shares.shape[1])


def mixture_sparsity(theta: ArrayLike, threshold: float = 0.01) -> NDArray[np.float64]:
    """Return the share of topics that each document hardly has: those below a threshold.

    Parameters
    ----------
    theta : array (D, K)
        Mixtures; rows are divided by their sums, which must be positive.
    threshold : float
        The least share of the document that counts, above 0 and at most 1.

    Returns
    -------
    float64 array (D,)
        0 if every topic counts, 1 - 1/K if a single one does, 1 if none reaches the threshold.

    Examples
    --------
    >>> mixture_sparsity([[0.99, 0.005, 0.005, 0.0], [0.25, 0.25, 0.25, 0.25]])
    array([0.75, 0.  ])
    """
    least = number("threshold", threshold, 0.0, 1.0, above=True)
    sparsity: NDArray[np.float64] = (_shares(theta) < least).mean(axis=1)
    return sparsity


def _shares(theta: Any) -> NDArray[np.float64]:
    weights = as_weights(theta, "theta").astype(np.float64)
    largest = weights.max(axis=1)
    bad = np.flatnonzero((weights < 0).any(axis=1) | (largest <= 0))
    if len(bad):
        raise InputError(
            f"must hold mixtures, no share negative and not all zero, but row {bad[0]} is not one.",
            "theta",
        )
    weights /= largest[:, None]  # the sum of huge weights has no place in a double
    weights /= weights.sum(axis=1)[:, None]
    return weights
