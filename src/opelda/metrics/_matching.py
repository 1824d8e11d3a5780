"""Which topic of one model is which of another, and how alike several models are."""

from collections.abc import Iterable
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics._similarity import SIMILARITIES
from opelda.metrics._top_words import as_weights

Similarity = Literal["cosine", "jaccard", "jensen_shannon"]


def match_topics(
    a: Topics | ArrayLike,
    b: Topics | ArrayLike,
    *,
    similarity: Similarity = "cosine",
    top_n: int = 10,
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair the topics of two models one to one, with the largest sum of similarities.

    Parameters
    ----------
    a, b : arrays (K, V), (L, V) or Topics
        Weights over the same words, as floats.
    similarity : {"cosine", "jaccard", "jensen_shannon"}
        Of two topics: the cosine between their weights; the share of common words in all their top
        words; or 1 less the Jensen-Shannon divergence in bits, of weights divided by their sum.
    top_n : int
        Words per topic, for ``"jaccard"``.

    Returns
    -------
    order : int array (K,)
        ``b[order]`` are the topics of b in the order of a's; -1 where b has too few.
    similarity : float64 array (K,)
        Of each pair; 0 for a topic of a without one. A topic of zeros has none with any other,
        but for ``"jaccard"``: its top words are the first ones.

    Examples
    --------
    >>> order, cosine = match_topics([[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]])
    >>> order
    array([1, 0])
    >>> cosine.round(3)
    array([1., 1.])
    >>> a, b = [[0.5, 0.3, 0.2]], [[0.5, 0.2, 0.3]]
    >>> match_topics(a, b, similarity="jaccard", top_n=2)[1].round(3)
    array([0.333])
    """
    if not isinstance(similarity, str) or similarity not in SIMILARITIES:
        raise InputError(
            f"There is no similarity {similarity!r}; choose one of {', '.join(SIMILARITIES)}."
        )
    left, right = _weights(a, "a"), _weights(b, "b")
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"Topics over {left.shape[1]} and over {right.shape[1]} words cannot be compared; "
            "bring them to the same vocabulary."
        )
    alike = SIMILARITIES[similarity](left, right, top_n)
    rows, columns = linear_sum_assignment(alike, maximize=True)
    order = np.full(len(left), -1, np.intp)
    found = np.zeros(len(left))
    order[rows] = columns
    found[rows] = alike[rows, columns]
    return order, found


def topic_stability(
    models: Iterable[Topics | ArrayLike], *, similarity: Similarity = "cosine", top_n: int = 10
) -> float:
    """Return how alike the topics of several models are, such as those of several seeds.

    The mean over all pairs of models of the mean similarity of their matched topics. 1 if they
    differ in nothing but the order; a topic without a partner counts 0.

    Parameters
    ----------
    models : iterable of arrays (K, V) or Topics
        Two or more, over the same words.
    similarity, top_n
        As for `match_topics`.

    Examples
    --------
    >>> a = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> round(topic_stability([a, a[::-1], a]), 6)
    1.0
    >>> round(topic_stability([a, [[0.3, 0.3, 0.4], [0.9, 0.1, 0.0]]], similarity="jaccard"), 6)
    1.0
    """
    topics = [_weights(model, f"models[{number}]") for number, model in enumerate(_many(models))]
    if len(topics) < 2:
        raise InputError(f"models must be at least two to be compared, got {len(topics)}.")
    alike = [
        match_topics(a, b, similarity=similarity, top_n=top_n)[1].sum() / max(len(a), len(b))
        for a, b in combinations(topics, 2)
    ]
    return float(np.mean(alike))


def _weights(topics: Any, name: str) -> NDArray[Any]:
    weights = as_weights(topics, name)
    if weights.dtype.kind in "iu":
        raise InputError(
            f"{name} must hold the words' weights as floats; "
            "word ids do not say how much of a word a topic has."
        )
    return weights


def _many(models: Any) -> Iterable[Any]:
    if isinstance(models, Topics) or not isinstance(models, Iterable):
        raise InputError(
            f"models must be an iterable of topics (K, V), got {type(models).__name__}."
        )
    return models
