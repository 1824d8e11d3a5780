"""The words that stand for a topic, and how many of them topics share."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.errors import InputError
from opelda.inference import Topics

TOPICS_AT_ONCE, WORDS_AT_ONCE = 16, 512
WORDS_OF_A_PIECE = 64


def as_weights(topics: Any, name: str = "topics") -> NDArray[Any]:
    """Return topics as an array (K, V) of finite weights; their sums do not matter here."""
    if isinstance(topics, Topics):
        return topics.components
    if hasattr(topics, "toarray"):  # sparse
        topics = topics.toarray()
    try:
        array = np.asarray(topics)
    except ValueError as error:
        raise InputError(f"{name} must be a numeric array of shape (K, V): {error}.") from None
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must be a numeric array of shape (K, V), at least one topic and one word, "
            f"got {array.dtype} of shape {array.shape}."
        )
    if array.dtype.kind == "b":
        array = array.astype(np.float64)
    with np.errstate(all="ignore"):  # a sum says enough, and makes no array of the topics' shape
        total = array.sum(dtype=np.float64)
    if not np.isfinite(total) and not np.isfinite(array).all():
        bad = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
        raise InputError(f"{name} hold a NaN or infinite value in row {bad}.")
    return array


def top_words(
    topics: Any, top_n: int, least: int = 1, n_words: int | None = None
) -> NDArray[np.intp]:
    """Return the ids of each topic's heaviest words (K, top_n): by weight, ties by lower id.

    With fewer than `top_n` words in all these are all. An array of whole numbers holds such ids
    already; then its first `top_n` columns are returned. `n_words` is how many there must be.
    """
    if not isinstance(top_n, int | np.integer) or isinstance(top_n, bool) or top_n < least:
        raise InputError(f"top_n must be a whole number from {least} on, got {top_n!r}.")
    array = as_weights(topics)
    n = min(int(top_n), array.shape[1])
    if n < least:
        raise InputError(f"topics must have at least {least} words each, got {n}.")
    if array.dtype.kind in "iu":
        return _checked_ids(array[:, :n].astype(np.intp), n_words)
    if n_words not in (None, array.shape[1]):
        raise InputError(
            f"The topics have {array.shape[1]} words but X has {n_words} columns; "
            "count the documents with the topics' own vocabulary."
        )
    return heaviest(array, n)


def heaviest(array: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the ids of the n heaviest words of each row: by weight, ties by lower id.

    >>> heaviest(np.array([[0.1, 0.4, 0.1, 0.4]]), 3)
    array([[1, 3, 0]])
    """
    found = np.empty((len(array), n), np.intp)
    # Where topics are kept by words, those of a cache line are taken out together, of some words
    # at a time: a topic alone would read every line.
    block = np.empty((TOPICS_AT_ONCE, array.shape[1]), array.dtype)
    for first in range(0, len(array), TOPICS_AT_ONCE):
        topics = array[first : first + TOPICS_AT_ONCE]
        for word in range(0, array.shape[1], WORDS_AT_ONCE):
            words = slice(word, word + WORDS_AT_ONCE)
            block[: len(topics), words] = topics[:, words]
        for topic in range(len(topics)):
            found[first + topic] = _heaviest(block[topic], n)
    return found


def _heaviest(weights: NDArray[Any], n: int) -> NDArray[np.intp]:
    # n of the pieces have a word as heavy as this: whatever is lighter is not among the n
    pieces = len(weights) // WORDS_OF_A_PIECE
    if pieces > n:
        peaks = weights[: pieces * WORDS_OF_A_PIECE].reshape(WORDS_OF_A_PIECE, pieces).max(axis=0)
        ids = np.flatnonzero(weights >= np.partition(peaks, pieces - n)[pieces - n])
    else:
        ids = np.arange(len(weights))
    return ids[np.argsort(-weights[ids], kind="stable")[:n]]


def _checked_ids(ids: NDArray[np.intp], n_words: int | None) -> NDArray[np.intp]:
    ordered = np.sort(ids, axis=1)
    bad = np.flatnonzero((ordered[:, 0] < 0) | (np.diff(ordered, axis=1) == 0).any(axis=1))
    if len(bad):
        raise InputError(
            f"topics, as whole numbers, must be word ids, none negative and none twice in a topic, "
            f"but row {bad[0]} is {ids[bad[0]].tolist()}; give weights as floats."
        )
    if n_words is not None and ids.max() >= n_words:
        raise InputError(f"The topics have word {ids.max()} but X has only {n_words} columns.")
    return ids


def topic_diversity(topics: Topics | ArrayLike, top_n: int = 25) -> float:
    """Return the share of distinct words among the top words of all topics.

    1 if no two topics share any, 1/K if all have the same.

    Parameters
    ----------
    topics : array (K, V), Topics, or array of whole numbers (K, n)
        Weights of the words in each topic, or the ids of each topic's top words.
    top_n : int
        Words per topic: the heaviest, of equal ones those of lower id; all, if there are fewer.

    Examples
    --------
    >>> topic_diversity([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]], top_n=2)
    0.75
    >>> topic_diversity([[4, 7], [4, 9]])
    0.75
    """
    ids = top_words(topics, top_n)
    return len(np.unique(ids)) / ids.size
