"""Weights of topics, rankings of their words, labels, diversity and exclusivity."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import choice, real_array, whole
from opelda._word_ranking import LAMBDA, RANKS, Rank, ranked, word_labels
from opelda.errors import InputError
from opelda.metrics._coherence import npmi_of_pairs
from opelda.metrics._topics import GivenTopics, MeasuredTopics, chosen_topics


def topic_weights(topics: GivenTopics | None) -> NDArray[np.float64] | None:
    """Return each topic's share of the tokens that the model has learned from, or None.

    Older documents count less if the rule forgets. None for topics without a learner of opelda,
    and for the ML rule, which normalises every topic's weights.

    Parameters
    ----------
    topics : fitted learner of opelda, or topics of any kind

    Examples
    --------
    >>> import numpy as np
    >>> from opelda import StreamingOPE
    >>> from opelda.report import topic_weights
    >>> X = np.repeat([[4, 4, 0, 0], [0, 0, 1, 1]], [30, 30], axis=0)
    >>> np.sort(topic_weights(StreamingOPE(2, batch_size=30, random_state=0).fit(X))).round(1)
    array([0.2, 0.8])
    """
    shares = getattr(topics, "_shares", None)
    return None if shares is None else shares()


def shares_or_even(topics: GivenTopics | None, n_topics: int) -> NDArray[np.float64]:
    """Return the topics' shares of the tokens; equal shares where they are not known."""
    shares = topic_weights(topics)
    return np.full(n_topics, 1.0 / n_topics) if shares is None else shares


def rank_words(
    topics: GivenTopics,
    n_words: int = 10,
    *,
    by: Rank = "relevance",
    weights: ArrayLike | None = None,
    lambda_: float = LAMBDA,
    X: Any = None,
) -> NDArray[np.intp]:
    """Return the ids (K, n_words) of each topic's best words, the best first.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Each row a distribution over the words; a model's are divided by their sums.
    n_words : int
        Words per topic; all, if there are fewer.
    by : {"relevance", "probability", "exclusive", "tfidf", "frex", "coherence"}
        The ranking of words in topic t, with p(w) the probability over all topics:

        ``"relevance"``
            lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)) (Sievert & Shirley, 2014).
        ``"probability"``
            p(w|t).
        ``"exclusive"``
            p(w|t) of the words that topic t has more often than any other topic: no word is listed
            twice, as long as topics have enough words.
        ``"tfidf"``
            p(w|t) log(1 + 1 / (K p(w))), the topics being K documents (Grootendorst, 2022).
        ``"frex"``
            The harmonic mean of the word's ranks, as shares of all words, by p(w|t) and by
            p(w|t) / sum_s p(w|s) (Bischof & Airoldi, 2012).
        ``"coherence"``
            Twice as many words by relevance, from which the word of smallest NPMI in `X` with
            the rest is dropped repeatedly.
    weights : array (K,), optional
        The topics' shares, for p(w) = sum_t weights_t p(w|t); None is the model's own (see
        `topic_weights`), else equal shares.
    lambda_ : float
        From 0, words that are unusual elsewhere, to 1, words that are probable.
    X : array or sparse matrix (D, V), Corpus or texts
        The documents to look in, for ``"coherence"``.

    Examples
    --------
    >>> from opelda.report import rank_words
    >>> rank_words([[0.5, 0.4, 0.1, 0.0], [0.5, 0.0, 0.1, 0.4]], n_words=2)
    array([[1, 0],
           [3, 0]])
    """
    measured = MeasuredTopics.of(topics)
    n = min(whole("n_words", n_words), measured.n_words)
    choice("by", by, RANKS)
    if (by == "coherence") != (X is not None):
        said = "must be given with" if X is None else "has no effect without"
        raise InputError(f'{said} by="coherence": the documents that words occur in.', "X")
    # here whole numbers are weights, not ids
    table = measured.weights.astype(np.float64) if measured.are_ids else measured.weights
    if weights is None:
        weights = topic_weights(measured.model)
    shares = np.ones(len(table))
    if weights is not None and by != "frex":
        shares = real_array("weights", weights, (len(table),))
        if (shares < 0).any() or shares.sum() <= 0:
            raise InputError("must be non-negative and not all 0.", "weights")
    shares = shares / shares.sum()
    if by == "coherence":
        few = min(2 * n, measured.n_words)
        return _together(ranked(table, few, "relevance", shares, lambda_), n, measured, X)
    return ranked(table, n, by, shares, lambda_)


def _together(ids: NDArray[np.intp], n: int, measured: MeasuredTopics, X: Any) -> NDArray[np.intp]:
    """Return the n words of each topic that occur in the same documents, in their order."""
    few = ids.shape[1]
    if few < 2 or few == n:
        return ids
    scores = npmi_of_pairs(ids, measured.counts(X), few)
    first, second = np.triu_indices(few, 1)
    kept = np.empty((len(ids), n), np.intp)
    for topic, own in enumerate(scores):
        pairs = np.zeros((few, few))
        pairs[first, second] = pairs[second, first] = own
        left = np.arange(few)
        while len(left) > n:
            sums = pairs[np.ix_(left, left)].sum(axis=0)
            left = np.delete(left, len(left) - 1 - np.argmin(sums[::-1]))  # of equals the last
        kept[topic] = ids[topic, left]
    return kept


def topic_diversity(topics: GivenTopics, n_words: int = 25) -> float:
    """Return the share of distinct words among the top words of all topics, from 1/K to 1.

    Parameters
    ----------
    topics, n_words
        As for `coherence`.

    Examples
    --------
    >>> topic_diversity([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]], n_words=2)
    0.75
    """
    ids = MeasuredTopics.of(topics).top_words(n_words)
    return len(np.unique(ids)) / ids.size


def topic_exclusivity(topics: GivenTopics, n_words: int = 10) -> NDArray[np.float64]:
    """Return each topic's exclusivity: the mean over its top words of beta_kw / sum_k beta_kw.

    1 if no other topic has its words, 1/K if all topics have them alike; a word without weight
    counts 1/K.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Weights of the words in each topic, not negative.
    n_words : int
        As for `coherence`.

    Examples
    --------
    >>> topic_exclusivity([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]], n_words=2)
    array([0.75, 0.75])
    """
    measured = MeasuredTopics.of(topics)
    weights = measured.weights
    if measured.are_ids or (weights < 0).any():
        raise InputError(
            "must have the weights of words as non-negative floats, got word ids or negative "
            "values.",
            "topics",
        )
    ids = measured.top_words(n_words)
    # by the largest first: the sum of huge weights may exceed a double
    largest = weights.max(axis=0).astype(np.float64)
    shares = weights / np.where(largest > 0, largest, 1.0)
    shares[:, largest == 0] = 1.0
    shares /= shares.sum(axis=0)
    means: NDArray[np.float64] = np.take_along_axis(shares, ids, axis=1).mean(axis=1)
    return means


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
) -> list[str]:
    """Return a short name for each topic; see `opelda.report.label_topics`."""
    whole("n_words", n_words)
    measured = MeasuredTopics.of(topics)
    table, words = measured.weights, measured.words(feature_names)
    wanted = chosen_topics(only, len(table), "only")
    table = table.astype(np.float64) if measured.are_ids else table
    known = measured.vocabulary if feature_names is None else None
    labels = word_labels(table, words, n_words, () if known is None else known.phrases)
    return [labels[number] for number in wanted]


def labels_of(topics: GivenTopics, feature_names: Sequence[str] | None = None) -> list[str]:
    """Return the model's labels; labels of words without them or with `feature_names`."""
    labels = getattr(topics, "topic_labels_", None)
    if labels is None or feature_names is not None:
        return label_topics(topics, feature_names=feature_names)
    return list(labels)
