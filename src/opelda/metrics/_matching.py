"""Matching of topics between models, and the stability of several models."""

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.special import entr

from opelda._validation import choice, whole
from opelda._word_ranking import heaviest
from opelda.errors import InputError
from opelda.metrics._topics import GivenTopics, MeasuredTopics

Similarity = Literal["cosine", "jaccard", "jensen_shannon"]


def match_topics(
    a: GivenTopics, b: GivenTopics, *, similarity: Similarity = "cosine", n_words: int = 10
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Pair the topics of two models one to one, with the largest sum of similarities.

    Parameters
    ----------
    a, b : arrays (K, V) and (L, V), Topics or fitted models
        Weights over the same words, as floats. Models with a vocabulary may differ in their words.
    similarity : {"cosine", "jaccard", "jensen_shannon"}
        The cosine of the weights; the share of common words in the top words; or 1 less the
        Jensen-Shannon divergence in bits.
    n_words : int
        Words per topic, for ``"jaccard"``.

    Returns
    -------
    order : int array (K,)
        ``b[order]`` are the topics of b in the order of a's; -1 where b has too few.
    similarity : float64 array (K,)
        The similarity of each pair; 0 for a topic of `a` without a pair.

    Examples
    --------
    >>> order, cosine = match_topics([[0.9, 0.1], [0.2, 0.8]], [[0.2, 0.8], [0.9, 0.1]])
    >>> order, cosine.round(3)
    (array([1, 0]), array([1., 1.]))
    """
    choice("similarity", similarity, SIMILARITIES)
    whole("n_words", n_words)
    alike = similarities(a, b, similarity, n_words)
    # of unequal numbers the smaller decides how many pairs there are: the rest keep -1 and 0
    rows, columns = linear_sum_assignment(alike, maximize=True)
    order, found = np.full(len(alike), -1, np.intp), np.zeros(len(alike))
    order[rows], found[rows] = columns, alike[rows, columns]
    return order, found


def similarities(
    a: GivenTopics, b: GivenTopics, similarity: Similarity = "cosine", n_words: int = 10
) -> NDArray[np.float64]:
    """Return the similarities of two models' topics (K, L)."""
    left, right = _over_the_same_words(_with_weights(a, "a"), _with_weights(b, "b"))
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"Topics over {left.shape[1]} and over {right.shape[1]} words cannot be compared; map "
            "them to one vocabulary."
        )
    return SIMILARITIES[similarity](left, right, n_words)


def topic_stability(
    runs: Iterable[GivenTopics], *, similarity: Similarity = "cosine", n_words: int = 10
) -> float:
    """Return the mean similarity of matched topics over all pairs of several models.

    1 if models differ only in the order of topics; a topic without a partner counts 0.

    Parameters
    ----------
    runs : iterable of arrays (K, V), Topics or fitted models
        Two or more, over the same words.
    similarity, n_words
        As for `match_topics`.

    Examples
    --------
    >>> a = [[0.9, 0.1, 0.0], [0.0, 0.2, 0.8]]
    >>> round(topic_stability([a, a[::-1], a]), 6)
    1.0
    """
    topics = [_with_weights(run, f"runs[{number}]") for number, run in enumerate(runs)]
    if len(topics) < 2:
        raise InputError(f"must be at least two to be compared, got {len(topics)}.", "runs")
    alike = []
    for a, b in combinations(topics, 2):
        matched = match_topics(a, b, similarity=similarity, n_words=n_words)[1]
        alike.append(matched.sum() / max(len(a.weights), len(b.weights)))
    return float(np.mean(alike))


def stability_over_runs(words: Sequence[NDArray[np.intp]]) -> NDArray[np.float64]:
    """Return each topic's mean similarity to its match in the other runs (R, K), by ``"jaccard"``.

    Topics are given by the ids (K, n) of their top words.
    """
    n_columns = 1 + max(int(ids.max()) for ids in words)
    tops = [_indicators(ids, n_columns) for ids in words]
    found = np.zeros((len(words), len(words[0])))
    for a, b in combinations(range(len(words)), 2):
        alike = _shared(tops[a], tops[b], words[a].shape[1])
        own, other = linear_sum_assignment(alike, maximize=True)
        found[a, own] += alike[own, other]
        found[b, other] += alike[own, other]
    return found / max(len(words) - 1, 1)


def _with_weights(topics: Any, name: str) -> MeasuredTopics:
    measured = MeasuredTopics.of(topics, name)
    if measured.are_ids:
        raise InputError(
            "must have the weights of words as floats, got word ids.",
            name,
        )
    return measured


def _over_the_same_words(a: MeasuredTopics, b: MeasuredTopics) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the weights of two models over the union of their words, if both know theirs."""
    own, other = a.column_words, b.column_words
    if own is None or other is None or own == other:
        return a.weights, b.weights
    columns = {word: column for column, word in enumerate(dict.fromkeys((*own, *other)))}

    def spread(weights: NDArray[Any], words: tuple[str, ...]) -> NDArray[Any]:
        wide = np.zeros((len(weights), len(columns)), weights.dtype)
        wide[:, [columns[word] for word in words]] = weights
        return wide

    return spread(a.weights, own), spread(b.weights, other)


def _cosine(a: NDArray[Any], b: NDArray[Any], n_words: int) -> NDArray[np.float64]:
    """Return the cosines (K, L); 0 with a topic of zeros."""
    left, right = (_divided(rows, np.linalg.norm(rows, axis=1)) for rows in map(_scaled, (a, b)))
    return np.clip(left @ right.T, -1.0, 1.0)


def _jaccard(a: NDArray[Any], b: NDArray[Any], n_words: int) -> NDArray[np.float64]:
    """Return |common top words| / |all their top words| (K, L)."""
    n = min(n_words, a.shape[1])
    left, right = (
        _indicators(heaviest(weights.astype(np.float64), n), a.shape[1]) for weights in (a, b)
    )
    return _shared(left, right, n)


def _shared(a: sparse.csr_array, b: sparse.csr_array, n_words: int) -> NDArray[np.float64]:
    """Return |common words| / |all words| of every two rows of `n_words` words each."""
    common = (a @ b.T).toarray()
    shares: NDArray[np.float64] = common / (2 * n_words - common)
    return shares


def _jensen_shannon(a: NDArray[Any], b: NDArray[Any], n_words: int) -> NDArray[np.float64]:
    """Return 1 - JSD (K, L), the divergence in bits; 0 with a topic of zeros."""
    if (a < 0).any() or (b < 0).any():
        raise InputError("Topics must have no negative weights for 'jensen_shannon'.")
    left, right = (_divided(rows, rows.sum(axis=1)) for rows in map(_scaled, (a, b)))
    own, other = entr(left).sum(axis=1), entr(right).sum(axis=1)
    alike = np.zeros((len(left), len(right)))
    for k, p in enumerate(left):
        # JSD = H((p + q) / 2) - (H(p) + H(q)) / 2
        divergence = entr((p + right) / 2).sum(axis=1) - (own[k] + other) / 2
        alike[k] = np.clip(1 - divergence / np.log(2), 0.0, 1.0)
    alike[left.sum(axis=1) == 0] = 0.0
    alike[:, right.sum(axis=1) == 0] = 0.0
    return alike


def _scaled(weights: NDArray[Any]) -> NDArray[np.float64]:
    # by the largest: squares of tiny weights, or of huge ones, may leave the range of a double
    return _divided(weights.astype(np.float64), np.abs(weights).max(axis=1))


def _divided(rows: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float64]:
    """Divide each row in place, except by 0."""
    return np.divide(rows, by[:, None], out=rows, where=by[:, None] > 0)


def _indicators(ids: NDArray[np.intp], n_columns: int) -> sparse.csr_array:
    """Return rows with a 1 in the columns of their ids."""
    ends = np.arange(len(ids) + 1) * ids.shape[1]
    return sparse.csr_array((np.ones(ids.size), ids.ravel(), ends), shape=(len(ids), n_columns))


SIMILARITIES = {"cosine": _cosine, "jaccard": _jaccard, "jensen_shannon": _jensen_shannon}
