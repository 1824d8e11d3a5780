"""Top words and labels of topics, by NumPy alone."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product, repeat, takewhile
from operator import eq
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from opelda._validation import number

Rank = Literal["relevance", "probability", "exclusive", "tfidf", "frex", "coherence"]
RANKS: tuple[Rank, ...] = get_args(Rank)

LAMBDA = 0.6
SMALLEST = 1e-30  # smaller probabilities and sums count as this: they can be divided by
DIGITS = 6  # of distances: sums in another order give the same ones
# Duplicate topics: merging pairs above this similarity lost less than 0.02 nats per token
# (benchmarks/tidying.py).
NEARLY_THE_SAME = 0.9


def ranked(
    table: NDArray[Any], n: int, by: Rank, shares: NDArray[np.float64], lambda_: float = LAMBDA
) -> NDArray[np.intp]:
    """Return the ids of each topic's n best words; see `opelda.report.rank_words`."""
    if by == "frex":
        return np.array([heaviest(score[np.newaxis], n)[0] for score in _frex(table, repeat(None))])
    if by in ("probability", "exclusive"):
        return heaviest(own_words(table, shares) if by == "exclusive" else table, n)
    return best_words(table, n, word_factors(table, by, shares, lambda_))[0]


def heaviest(array: NDArray[Any], n: int) -> NDArray[np.intp]:
    """Return the ids of the n heaviest words of each row: by weight, ties by lower id.

    >>> heaviest(np.array([[0.1, 0.4, 0.1, 0.4]]), 3)
    array([[1, 3, 0]])
    """
    found = np.empty((len(array), n), np.intp)
    # Where words are the rows, topics of a cache line are copied together, some words at a time:
    # one copy of all words would take five times as long.
    for first in range(0, len(array), 16):
        topics = array[first : first + 16]
        block = np.empty(topics.shape, array.dtype)
        for word in range(0, array.shape[1], 512):
            block[:, word : word + 512] = topics[:, word : word + 512]
        for topic, row in enumerate(block, first):
            ids = np.arange(len(row))
            if len(row) > 64 * n:
                # n words are as heavy as the n-th peak: lighter words are not among the heaviest
                peaks = row[: len(row) // 64 * 64].reshape(64, -1).max(axis=0)
                ids = np.flatnonzero(row >= np.partition(peaks, -n)[-n])
            found[topic] = ids[np.argsort(-row[ids], kind="stable")[:n]]
    return found


def own_words(table: NDArray[Any], shares: NDArray[np.float64]) -> NDArray[Any]:
    """Return scores by which a topic's own words, those that it has most, precede all others.

    >>> own_words(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0.5, 0.5]))
    array([[ 0.5 , -2.  ],
           [-4.  ,  0.75]])
    """
    owner = (table * shares[:, np.newaxis]).argmax(axis=0)
    return np.where(
        owner == np.arange(len(table))[:, np.newaxis], table, -1.0 / np.maximum(table, SMALLEST)
    )


def best_words(
    table: NDArray[Any], n: int, factors: NDArray[np.float64]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the ids of each topic's n best words, and their probabilities times the factors."""
    # double precision for one topic at a time
    rows = (np.maximum(row, SMALLEST, dtype=np.float64) * factors for row in table)
    found = [(ids, row[ids]) for row in rows for ids in heaviest(row[np.newaxis], n)]
    return np.array([ids for ids, _ in found]), np.array([scores for _, scores in found])


def word_factors(
    table: NDArray[Any], by: Rank, shares: NDArray[np.float64], lambda_: float = LAMBDA
) -> NDArray[np.float64]:
    """Return by how much each word's probabilities are multiplied to rank them.

    The order by lambda log p + (1 - lambda) log(p / p(w)) is that by p / p(w)^(1 - lambda).
    """
    lift = 1.0 - number("lambda_", lambda_, 0.0, 1.0)
    marginal = np.maximum(shares @ table, SMALLEST)
    factor: NDArray[np.float64]
    factor = marginal**-lift if by == "relevance" else np.log1p(1.0 / (len(table) * marginal))
    return factor


def _frex(
    topics: NDArray[Any], some: Iterable[NDArray[np.intp] | None]
) -> Iterator[NDArray[np.float64]]:
    """Yield the FREX scores, above 0 and at most 1, of some words of each topic; None for all."""
    everywhere = np.maximum(topics.sum(axis=0, dtype=np.float64), SMALLEST)
    for row, ids in zip(topics, some, strict=False):
        topic = np.ascontiguousarray(row, np.float64)
        # Bischof & Airoldi's omega is 1/2: both ranks count alike
        frequency, exclusivity = _ranks(topic, ids), _ranks(topic / everywhere, ids)
        yield 2.0 / (1.0 / frequency + 1.0 / exclusivity)


def _ranks(values: NDArray[np.float64], some: NDArray[np.intp] | None) -> NDArray[np.float64]:
    """Return for some values, or all, the share of all values that are no larger."""
    if some is not None:  # of a few this takes a fourth of the time of sorting all
        return np.array([np.count_nonzero(values <= value) for value in values[some]]) / len(values)
    order = np.argsort(values)
    ordered = values[order]
    ranks = np.empty(len(values))
    ranks[order] = np.searchsorted(ordered, ordered, side="right")  # in order: many times faster
    return ranks / len(values)


def word_labels(
    table: NDArray[Any], words: Sequence[str], n_words: int = 3, phrases: Iterable[str] = ()
) -> list[str]:
    """Return a label for each topic of a table (K, V); see `opelda.report.label_topics`.

    `phrases` are pairs of words that are often side by side, the strongest first.
    """
    candidates = heaviest(table, min(20, table.shape[1]))
    rank = {tuple(phrase.split(" ")): i for i, phrase in enumerate(phrases)}
    found = []
    for ids, scores in zip(candidates, _frex(table, candidates), strict=True):
        best = ids[np.argsort(-scores, kind="stable")]  # of equals the more probable
        own = [str(words[j]) for j in best]
        own = [word for word in own if word not in _function_words()] or own
        pairs = [pair for pair in product(own, own) if pair in rank]
        found.append(_parts(own, sorted(pairs, key=rank.__getitem__)))
    return _different(found, n_words)


@cache
def _function_words() -> frozenset[str]:
    """Return the English stop words, without the import of tokenizers."""
    lines = Path(__file__).with_name("corpus") / "text" / "function_words.txt"
    known = (line.split() for line in lines.read_text("utf-8").splitlines())
    return frozenset(word for first, *rest in known if first == "English:" for word in rest)


def _parts(words: Iterable[str], pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return words, or phrases of up to three words, that have no word or stem in common.

    >>> pairs = [("chief", "executive"), ("executive", "officer")]
    >>> _parts(["officer", "executive", "chief", "banks", "banking"], pairs)
    ['chief executive officer', 'banks']
    """
    part = {word: [word] for word in words}
    for a, b in pairs:
        whole = part[a] + part[b]
        if part[a][-1] == a and part[b][0] == b and len(whole) <= 3 and not _meet(part[a], part[b]):
            part.update(dict.fromkeys(whole, whole))
    found: list[list[str]] = []
    for phrase in part.values():
        if not any(_meet(phrase, other) for other in found):
            found.append(phrase)
    return [" ".join(phrase) for phrase in found]


def _meet(phrase: Iterable[str], other: Iterable[str]) -> bool:
    return any(_alike(*pair) for pair in product(phrase, other))


def _alike(word: str, other: str) -> bool:
    """Return whether words seem to have one stem: "banks" and "banking", "policy" and "policies".

    One is the beginning of the other, or they differ in the last three letters only.
    """
    n = sum(takewhile(bool, map(eq, word, other)))
    rests = word[n:], other[n:]
    return not all(rests) or (n >= 4 and all(rest.isalpha() and len(rest) <= 3 for rest in rests))


def _different(best_words: Sequence[Sequence[str]], n_words: int) -> list[str]:
    """Return labels of `n_words` words, or of more words if labels are equal.

    >>> _different([["tea", "cup", "pot"], ["tea", "cup", "mug"], ["jug"], ["jug"]], 2)
    ['tea, cup, pot', 'tea, cup, mug', 'jug (2)', 'jug (3)']
    """
    lengths = [n_words] * len(best_words)
    while True:
        labels = [", ".join(words[:n]) for words, n in zip(best_words, lengths, strict=True)]
        times = Counter(labels)
        longer = [
            n + (times[label] > 1 and n < len(words))
            for label, n, words in zip(labels, lengths, best_words, strict=True)
        ]
        if longer == lengths:
            return distinct(labels)
        lengths = longer


def distinct(names: Sequence[str]) -> list[str]:
    """Return names that differ: equal ones get the number of their column.

    >>> distinct(["tea", "cup", "tea", "tea (0)"])
    ['tea (0) (0)', 'cup', 'tea (2)', 'tea (0) (3)']
    """
    found = list(names)
    while len(set(found)) < len(found):
        times = Counter(found)
        found = [
            f"{name} ({topic})" if times[name] > 1 else name for topic, name in enumerate(found)
        ]
    return found


def similar_groups(topics: NDArray[np.generic]) -> list[list[int]]:
    """Return groups of topics that are nearly the same, as `merge_topics` takes them.

    >>> similar_groups(np.array([[0.5, 0.5, 0.0], [0.0, 0.1, 0.9], [0.4, 0.6, 0.0]]))
    [[0, 2]]
    """
    pairs = np.argwhere(np.triu(1.0 - hellinger(topics) ** 2 >= NEARLY_THE_SAME, 1))
    group: dict[int, set[int]] = {}
    for topic, other in pairs.tolist():
        merged = group.get(topic, {topic}) | group.get(other, {other})
        group |= dict.fromkeys(merged, merged)
    distinct = {min(members): sorted(members) for members in group.values()}
    return [distinct[first] for first in sorted(distinct)]


def hellinger(topics: NDArray[np.generic]) -> NDArray[np.float64]:
    """Return the distances of all pairs of topics, from 0 to 1."""
    roots = np.sqrt(topics.astype(np.float64))
    roots /= np.maximum(np.linalg.norm(roots, axis=1, keepdims=True), 1e-30)
    apart = np.sqrt(np.clip(1.0 - roots @ roots.T, 0.0, 1.0))
    distances: NDArray[np.float64] = np.round((apart + apart.T) / 2, DIGITS)
    np.fill_diagonal(distances, 0.0)
    return distances
