"""Which words stand for a topic: the most probable, the most relevant, or the most telling."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics._top_words import as_weights, top_words

Rank = Literal["probability", "relevance", "frex"]

# A probability below this counts as this: logarithms stay finite.
SMALLEST = 1e-30


def rank_words(
    topics: Topics | ArrayLike,
    n: int = 10,
    *,
    by: Rank = "probability",
    weights: ArrayLike | None = None,
    lambda_: float = 0.6,
) -> NDArray[np.intp]:
    """Return the ids of each topic's best words, the best first; of equals the lower id.

    Parameters
    ----------
    topics : array (K, V) or Topics
        Each row a distribution over the words.
    n : int
        Words per topic; all, if there are fewer.
    by : {"probability", "relevance", "frex"}
        What makes a word good for topic t: p(w|t); the relevance
        lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)); or FREX, the harmonic mean of the
        word's ranks, as shares of all words, by p(w|t) and by its exclusivity
        p(w|t) / sum_s p(w|s).
    weights : array (K,), optional
        The topics' shares, for p(w) = sum_t weights_t p(w|t); None counts all alike.
    lambda_ : float
        From 0, words that are unusual elsewhere, to 1, words that are probable.

    Returns
    -------
    array of whole numbers (K, n)

    References
    ----------
    Sievert & Shirley, "LDAvis: a method for visualizing and interpreting topics" (2014).
    Bischof & Airoldi, "Summarizing topical content with word frequency and exclusivity" (2012).

    Examples
    --------
    >>> from opelda.report import rank_words
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]]
    >>> rank_words(topics, n=2)
    array([[0, 1],
           [0, 3]])
    >>> rank_words(topics, n=2, by="relevance", lambda_=0.5)
    array([[1, 0],
           [3, 0]])
    >>> rank_words([[0.4, 0.3, 0.2, 0.1], [0.6, 0.0, 0.0, 0.4]], n=2, by="frex")
    array([[1, 0],
           [0, 3]])
    """
    table = as_weights(topics)
    if by == "probability":
        return top_words(table.astype(np.float64) if table.dtype.kind in "iu" else table, n)
    if by not in ("relevance", "frex"):
        raise InputError(f"by must be 'probability', 'relevance' or 'frex', got {by!r}.")
    score = relevance(table, weights, lambda_) if by == "relevance" else frex(table)
    return np.array([top_words(score(row)[np.newaxis], n)[0] for row in _rows(table)])


Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def relevance(topics: NDArray[Any], weights: ArrayLike | None, lambda_: float) -> Score:
    """Return what gives the relevance of every word to a topic; all is finite."""
    if not isinstance(lambda_, int | float | np.number) or not 0 <= lambda_ <= 1:
        raise InputError(f"lambda must be a number from 0 to 1, got {lambda_!r}.")
    marginal = np.maximum(_shares(weights, len(topics)) @ topics, SMALLEST)
    logs = (1.0 - float(lambda_)) * np.log(marginal)

    def score(row: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.log(np.maximum(row, SMALLEST)) - logs
        return found

    return score


def frex(topics: NDArray[Any]) -> Score:
    """Return what gives every word's FREX score in a topic, above 0 and at most 1."""
    everywhere = sums_over_topics(topics)

    def score(row: NDArray[np.float64]) -> NDArray[np.float64]:
        frequency, exclusivity = _ranks(row), _ranks(row / everywhere)
        return 2.0 / (1.0 / frequency + 1.0 / exclusivity)

    return score


def sums_over_topics(topics: NDArray[Any]) -> NDArray[np.float64]:
    """Return sum_s p(w|s) for every word, at least what can be divided by."""
    sums: NDArray[np.float64] = topics.sum(axis=0, dtype=np.float64)
    return np.maximum(sums, SMALLEST)


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each value the share of all that are no larger."""
    order = np.argsort(values)
    ordered = values[order]
    ranks = np.empty(len(values))
    ranks[order] = np.searchsorted(ordered, ordered, side="right")  # in order: many times faster
    ranks /= len(values)
    return ranks


def _rows(topics: NDArray[Any]) -> Iterator[NDArray[np.float64]]:
    """Yield the topics one by one: never more than one of them in double precision."""
    for row in topics:
        yield np.ascontiguousarray(row, np.float64)


def _shares(weights: ArrayLike | None, n_topics: int) -> NDArray[np.float64]:
    if weights is None:
        return np.full(n_topics, 1.0 / n_topics)
    shares = np.asarray(weights, np.float64)
    if shares.shape != (n_topics,):
        raise InputError(
            f"weights must be one number per topic, {n_topics} in all, got shape {shares.shape}."
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError("weights must be finite, none negative and not all of them 0.")
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised
