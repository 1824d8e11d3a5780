"""Topics as a page has them: what matters of each word's probabilities, in 16 bits."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Probabilities in a page at the most: 4 bytes each, about 3 once they are compressed.
MOST_ENTRIES = 4_000_000
LEVELS = 65_535
SMALLEST = 1e-30  # of a probability, as for ranking words
WORDS_AT_ONCE = 2**22  # entries looked at in one go
SHOWN = 30  # words of a topic that a page shows at a time
LAMBDAS = np.linspace(0.0, 1.0, 21)
RATIOS = 10.0 ** -np.arange(0.25, 8.25, 0.25)


@dataclass(frozen=True)
class ExportedTopics:
    """For each word the topics that matter for it, and one probability for all the others.

    Attributes
    ----------
    offsets : int64 array (V + 1,)
    topic : uint16 array
        Ascending for each word.
    log_value : float32 array
        The logarithms of p(w|t).
    rest : float32 array (V,)
        The mean of p(w|t) over the topics that are not listed.
    ratio : float
        Entries were left out below this part of the word's largest; 0 where none was.
    """

    offsets: NDArray[np.int64]
    topic: NDArray[np.uint16]
    log_value: NDArray[np.float32]
    rest: NDArray[np.float32]
    ratio: float

    @classmethod
    def of(cls, topics: NDArray[Any], most: int = MOST_ENTRIES) -> "ExportedTopics":
        """Keep of topics (K, V) no more than `most` entries, the larger ones of each word."""
        ratio = 0.0 if topics.size <= most else _ratio(topics, most)
        parts = [_kept(columns, ratio) for columns in _pieces(topics)]
        counts, listed, values, rests = (np.concatenate(part) for part in zip(*parts, strict=True))
        offsets = np.zeros(topics.shape[1] + 1, np.int64)
        np.cumsum(counts, out=offsets[1:])
        return cls(offsets, listed, values, rests, ratio)

    def arrays(self, vocabulary: NDArray[np.uint8]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the header and the arrays that the page reads."""
        low = float(self.log_value.min()) if len(self.log_value) else -1.0
        step = max(-low, 1e-6) / LEVELS
        value = np.clip(np.rint((self.log_value - low) / step), 0, LEVELS).astype(np.uint16)
        header = {"n_words": len(self.rest), "low": low, "step": step}
        arrays = {
            "vocabulary": vocabulary,
            "offsets": self.offsets.astype(np.uint32),
            "topic": self.topic,
            "value": value,
            "rest": self.rest,
        }
        return header, arrays

    def by_topic(self, n_topics: int) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Return for each topic the words that list it, and their logarithms."""
        words = np.repeat(np.arange(len(self.rest)), np.diff(self.offsets))
        order = np.argsort(self.topic, kind="stable")
        ends = np.searchsorted(self.topic[order], np.arange(n_topics + 1))
        values = self.log_value.astype(np.float64)[order]
        words = words[order]
        return [
            (words[ends[k] : ends[k + 1]], values[ends[k] : ends[k + 1]]) for k in range(n_topics)
        ]


def _pieces(topics: NDArray[Any]) -> list[NDArray[np.float64]]:
    """Return the topics of some words at a time, word-major."""
    size = max(1, WORDS_AT_ONCE // len(topics))
    starts = range(0, topics.shape[1], size)
    return [np.ascontiguousarray(topics[:, i : i + size].T, np.float64) for i in starts]


def _ratio(topics: NDArray[Any], most: int) -> float:
    """Return the least part of a word's largest entry from which on no more than `most` are."""
    n = np.zeros(len(RATIOS), np.int64)
    for words in _pieces(topics):
        relative = words / np.maximum(words.max(axis=1, keepdims=True), SMALLEST)
        n += [int((relative >= ratio).sum()) for ratio in RATIOS]
    fitting = RATIOS[n <= most]
    return float(fitting.min()) if len(fitting) else 1.0


def _kept(words: NDArray[np.float64], ratio: float) -> tuple[NDArray[Any], ...]:
    """Return how many topics each word lists, which, their logarithms, and the rest's mean."""
    keep = words > 0 if not ratio else words >= ratio * words.max(axis=1, keepdims=True)
    n_rest = (~keep).sum(axis=1)
    rest = np.where(keep, 0.0, words).sum(axis=1) / np.maximum(n_rest, 1)
    row, topic = np.nonzero(keep)
    values = np.log(np.maximum(words[row, topic], SMALLEST)).astype(np.float32)
    return keep.sum(axis=1), topic.astype(np.uint16), values, rest.astype(np.float32)


def ranked_words(
    topics: ExportedTopics, n_topics: int, marginal: NDArray[np.float64]
) -> list[tuple[NDArray[np.intp], NDArray[np.float64]]]:
    """Return for each topic the words that are among its best for some lambda, and p(w|t).

    The relevance lambda log p(w|t) + (1 - lambda) log(p(w|t) / p(w)), see `rank_words`.
    """
    logs = np.log(np.maximum(marginal, SMALLEST))
    found = []
    for words, values in topics.by_topic(n_topics):
        chosen = np.zeros(len(words), np.bool_)
        for part in 1.0 - LAMBDAS:
            score = values - part * logs[words]
            n = min(SHOWN, len(words))
            if n:
                chosen[np.argpartition(-score, n - 1)[:n]] = True
        found.append((words[chosen], np.exp(values[chosen])))
    return found
