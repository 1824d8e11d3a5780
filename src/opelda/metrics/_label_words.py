"""Short names of topics, made of their words."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from opelda._validation import whole
from opelda.metrics._top_words import heaviest
from opelda.metrics._topics import GivenTopics, MeasuredTopics

SMALLEST = 1e-30  # a sum below this counts as this: it can be divided by
CANDIDATES = 20  # a label's words are among so many of the most probable: others say little


def label_topics(
    topics: GivenTopics,
    n_words: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    only: Iterable[int] | None = None,
) -> list[str]:
    """Return a short name for each topic, made of its words; see `opelda.report.label_topics`."""
    whole("n_words", n_words)
    measured = MeasuredTopics.of(topics)
    table, words = measured.weights, measured.words(feature_names)
    everywhere = np.maximum(table.sum(axis=0, dtype=np.float64), SMALLEST)
    numbers = range(len(table)) if only is None else only
    wanted = [whole("only", number, 0, len(table) - 1) for number in numbers]
    if measured.are_ids:  # here whole numbers are weights
        table = table.astype(np.float64)
    ranked = []
    best_words = heaviest(table, min(CANDIDATES, measured.n_words))
    for row, candidates in zip(table, best_words, strict=True):
        topic = np.ascontiguousarray(row, np.float64)
        frequency = _ranks_of(topic, candidates)
        exclusivity = _ranks_of(topic / everywhere, candidates)
        scores = 2.0 / (1.0 / frequency + 1.0 / exclusivity)
        best = candidates[np.argsort(-scores, kind="stable")]  # of equals the more probable
        ranked.append(_apart(str(words[j]) for j in best))
    labels = _different(ranked, n_words)
    return [labels[number] for number in wanted]


def _ranks_of(values: NDArray[np.float64], some: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return for some of the values the share of all that are no larger."""
    # of a few this takes a fourth of the time of sorting all
    return np.array([np.count_nonzero(values <= value) for value in values[some]]) / len(values)


def _apart(words: Iterable[str]) -> list[str]:
    """Take words of which none begins with another."""
    taken: list[str] = []
    for word in words:
        if not any(word.startswith(other) or other.startswith(word) for other in taken):
            taken.append(word)
    return taken


def _different(ranked: Sequence[Sequence[str]], n_words: int) -> list[str]:
    """Return labels of so many words, or of as many more as it takes to tell topics apart.

    >>> _different([["tea", "cup", "pot"], ["tea", "cup", "mug"], ["jug"], ["jug"]], 2)
    ['tea, cup, pot', 'tea, cup, mug', 'jug (2)', 'jug (3)']
    """
    lengths = [n_words] * len(ranked)
    while True:
        labels = [", ".join(words[:n]) for words, n in zip(ranked, lengths, strict=True)]
        times = Counter(labels)
        alike = [
            number
            for number, label in enumerate(labels)
            if times[label] > 1 and lengths[number] < len(ranked[number])
        ]
        if not alike:
            return distinct(labels)
        for number in alike:
            lengths[number] += 1


def distinct(names: Sequence[str]) -> list[str]:
    """Return names of columns: those that are not alone with their number.

    >>> distinct(["tea", "cup", "tea", "tea (0)"])
    ['tea (0) (0)', 'cup', 'tea (2)', 'tea (0) (3)']
    """
    found = list(names)
    while len(set(found)) < len(found):
        times = Counter(found)
        found = [
            f"{name} ({number})" if times[name] > 1 else name for number, name in enumerate(found)
        ]
    return found
