"""The words that stand for a topic: the most probable, the most relevant, or the most telling."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import choice, number, whole
from opelda.errors import InputError
from opelda.metrics._top_words import heaviest
from opelda.metrics._topics import GivenTopics, MeasuredTopics
from opelda.report._weights import topic_weights

Rank = Literal["probability", "relevance", "frex"]

# A probability below this counts as this: logarithms stay finite.
SMALLEST = 1e-30


def rank_words(
    topics: GivenTopics,
    n_words: int = 10,
    *,
    by: Rank = "probability",
    weights: ArrayLike | None = None,
    lambda_: float = 0.6,
) -> NDArray[np.intp]:
    """Return the ids of each topic's best words, the best first; of equals the lower id.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Each row a distribution over the words; a model's are divided by their sums.
    n_words : int
        Words per topic; all, if there are fewer.
    by : {"probability", "relevance", "frex"}
        What makes a word good for topic t: p(w|t); the relevance
        lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)); or FREX, the harmonic mean of the
        word's ranks, as shares of all words, by p(w|t) and by its exclusivity
        p(w|t) / sum_s p(w|s).
    weights : array (K,), optional
        The topics' shares, for p(w) = sum_t weights_t p(w|t); None is the model's own, where it
        knows them (see `topic_weights`), and else counts all alike.
    lambda_ : float
        From 0, words that are unusual elsewhere, to 1, words that are probable.

    Returns
    -------
    array of whole numbers (K, n_words)

    References
    ----------
    Sievert & Shirley, "LDAvis: a method for visualizing and interpreting topics" (2014).
    Bischof & Airoldi, "Summarizing topical content with word frequency and exclusivity" (2012).

    Examples
    --------
    >>> from opelda.report import rank_words
    >>> topics = [[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]]
    >>> rank_words(topics, n_words=2)
    array([[0, 1],
           [0, 3]])
    >>> rank_words(topics, n_words=2, by="relevance", lambda_=0.5)
    array([[1, 0],
           [3, 0]])
    >>> rank_words([[0.4, 0.3, 0.2, 0.1], [0.6, 0.0, 0.0, 0.4]], n_words=2, by="frex")
    array([[1, 0],
           [0, 3]])
    """
    return ranked(MeasuredTopics.of(topics), n_words, by, weights, lambda_)


def ranked(
    topics: MeasuredTopics,
    n_words: int,
    by: Rank = "probability",
    weights: ArrayLike | None = None,
    lambda_: float = 0.6,
) -> NDArray[np.intp]:
    """Return what `rank_words` does of topics that are resolved already."""
    n = min(whole("n_words", n_words), topics.n_words)
    choice("by", by, get_args(Rank))
    table = topics.weights.astype(np.float64) if topics.are_ids else topics.weights
    if by == "probability":
        return heaviest(table, n)
    if by == "relevance":
        shares = topic_weights(topics.model) if weights is None else weights
        score = relevance(table, shares, lambda_)
    else:
        score = frex(table)
    return np.array([heaviest(score(row)[np.newaxis], n)[0] for row in _rows(table)])


Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def relevance(topics: NDArray[Any], weights: ArrayLike | None, lambda_: float) -> Score:
    """Return a function that gives the relevance of every word to a topic; all is finite."""
    lift = 1.0 - number("lambda_", lambda_, 0.0, 1.0)
    marginal = np.maximum(_shares(weights, len(topics)) @ topics, SMALLEST)
    logs = lift * np.log(marginal)

    def score(row: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.log(np.maximum(row, SMALLEST)) - logs
        return found

    return score


def frex(topics: NDArray[Any]) -> Score:
    """Return a function that gives every word's FREX score in a topic, above 0 and at most 1."""
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
            f"must be one number per topic, {n_topics} in all, got shape {shares.shape}.", "weights"
        )
    if not np.isfinite(shares).all() or (shares < 0).any() or shares.sum() <= 0:
        raise InputError("must be finite, none negative and not all of them 0.", "weights")
    normalised: NDArray[np.float64] = shares / shares.sum()
    return normalised
