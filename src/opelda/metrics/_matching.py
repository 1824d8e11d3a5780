"""Which topic of one model is which of another."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics._top_words import as_weights


def match_topics(
    a: Topics | ArrayLike, b: Topics | ArrayLike
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair the topics of two models one to one, with the largest sum of cosine similarities.

    Parameters
    ----------
    a, b : arrays (K, V), (L, V) or Topics
        Over the same words.

    Returns
    -------
    order : int array (K,)
        ``b[order]`` are the topics of b in the order of a's; -1 where b has too few.
    cosine : float64 array (K,)
        Similarity of each pair; 0 for a topic of a without one, or a topic of zeros.

    Examples
    --------
    >>> order, cosine = match_topics([[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]])
    >>> order
    array([1, 0])
    >>> cosine.round(3)
    array([1., 1.])
    """
    left, right = _unit_rows(a, "a"), _unit_rows(b, "b")
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"Topics over {left.shape[1]} and over {right.shape[1]} words cannot be compared; "
            "bring them to the same vocabulary."
        )
    similarity = np.clip(left @ right.T, -1.0, 1.0)
    rows, columns = linear_sum_assignment(similarity, maximize=True)
    order = np.full(len(left), -1, np.intp)
    cosine = np.zeros(len(left))
    order[rows] = columns
    cosine[rows] = similarity[rows, columns]
    return order, cosine


def _unit_rows(topics: Topics | ArrayLike, name: str) -> NDArray[np.float64]:
    weights = as_weights(topics, name).astype(np.float64)
    # by the largest first: squares of tiny weights, or of huge ones, have no place in a double
    _divide(weights, np.abs(weights).max(axis=1))
    _divide(weights, np.linalg.norm(weights, axis=1))
    return weights


def _divide(rows: NDArray[np.float64], by: NDArray[np.float64]) -> None:
    np.divide(rows, by[:, None], out=rows, where=by[:, None] > 0)
