"""How much each topic weighs, and the words that stand for it."""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import choice, number, real_array, whole
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.metrics._top_words import heaviest
from opelda.metrics._topics import GivenTopics, MeasuredTopics

Rank = Literal["probability", "relevance", "frex"]

SMALLEST = 1e-30  # a probability below this counts as this: logarithms stay finite


def topic_weights(topics: GivenTopics | None) -> NDArray[np.float64] | None:
    """Return each topic's share of the tokens that the model has learned from.

    The Online and Streaming rules keep, for each topic, the tokens they expect of it; the shares
    are those without what the prior adds. Older documents count less where the rule forgets.

    Parameters
    ----------
    topics : fitted learner of opelda
        Anything else that topics may be given as does not know.

    Returns
    -------
    float64 array (K,) or None
        Shares that sum to 1. None where they are not known: for topics without a learner, and for
        those learned by the ML rule, which keeps every topic's weights normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda import MLOPE, StreamingOPE
    >>> from opelda.report import topic_weights
    >>> X = np.repeat([[4, 4, 0, 0], [0, 0, 1, 1]], [30, 30], axis=0)
    >>> np.sort(topic_weights(StreamingOPE(2, batch_size=30, random_state=0).fit(X))).round(1)
    array([0.2, 0.8])
    >>> topic_weights(MLOPE(2, random_state=0).fit(X)) is None
    True
    """
    return topics._shares() if isinstance(topics, Learner) else None


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
    measured = MeasuredTopics.of(topics)
    n = min(whole("n_words", n_words), measured.n_words)
    choice("by", by, get_args(Rank))
    # whole numbers are weights here, and no ids: those are ranked already
    table = measured.weights.astype(np.float64) if measured.are_ids else measured.weights
    if by == "probability":
        return heaviest(table, n)
    if by == "relevance":
        shares = topic_weights(measured.model) if weights is None else weights
        score = _relevance(table, shares, lambda_)
    else:
        score = _frex(table)
    # one topic at a time in double precision, never all of them
    rows = (np.ascontiguousarray(row, np.float64) for row in table)
    return np.array([heaviest(score(row)[np.newaxis], n)[0] for row in rows])


Score = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _relevance(topics: NDArray[Any], weights: ArrayLike | None, lambda_: float) -> Score:
    """Return a function that gives the relevance of every word to a topic; all is finite."""
    lift = 1.0 - number("lambda_", lambda_, 0.0, 1.0)
    shares = np.ones(len(topics))
    if weights is not None:
        shares = real_array("weights", weights, (len(topics),))
        if (shares < 0).any() or shares.sum() <= 0:
            raise InputError(
                "must hold numbers of which none is negative and not all are 0.", "weights"
            )
    marginal = np.maximum(shares / shares.sum() @ topics, SMALLEST)
    # lambda log p + (1 - lambda) log(p / p(w)) is log p - (1 - lambda) log p(w)
    logs = lift * np.log(marginal)
    return lambda row: np.log(np.maximum(row, SMALLEST)) - logs


def _frex(topics: NDArray[Any]) -> Score:
    """Return a function that gives every word's FREX score in a topic, above 0 and at most 1."""
    everywhere = _sums_over_topics(topics)

    def score(row: NDArray[np.float64]) -> NDArray[np.float64]:
        # Bischof & Airoldi's omega is 1/2: both ranks count alike
        frequency, exclusivity = _ranks(row), _ranks(row / everywhere)
        return 2.0 / (1.0 / frequency + 1.0 / exclusivity)

    return score


def _sums_over_topics(topics: NDArray[Any]) -> NDArray[np.float64]:
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
