"""Topics of the user's own: words that say what a topic is to be about, and what they weigh.

Wherever tokens are counted, in the statistics of a mini-batch and in the counts that tokens are
drawn by, a topic's seed words together count as `strength` times an average topic more, divided
among them as they are frequent. So the pull is the same for frequent and for rare words, in small
collections and in streams; it never fades, and a topic with few tokens of its own is mostly its
seed words, to which a document without any of them does not fit. The topics that sweeps leave are
counts of tokens alone.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number
from opelda.corpus import Tokenizer, Vocabulary
from opelda.engines._documents import Chosen, Documents
from opelda.engines._engine import Engine, Rule, Statistics, Step, Task, Updated
from opelda.engines._tokens import TokenCounts
from opelda.engines._weights import Weights
from opelda.errors import InputError
from opelda.learning._labels import changed_labels

SEED_STRENGTH = 0.1
STRONGEST = 100.0
MOST_NAMED = 20

Array = NDArray[np.float64]


class SeedWarning(UserWarning):
    """Seed words do not occur in the documents, or not so far.

    Examples
    --------
    >>> issubclass(SeedWarning, UserWarning)
    True
    """


@dataclass(frozen=True)
class Pull:
    """Columns that seed words have, each with its topic, and how strongly they hold it."""

    columns: NDArray[np.int32]
    topics: NDArray[np.int32]
    strength: float
    # Words that have all but gone hold a topic as an average one is held: a stream may bring them
    # back, and an empty topic would take in whatever is new.
    firm: bool = False

    def update(
        self,
        engine: Engine,
        weights: Weights,
        documents: Documents,
        task: Task,
        rule: Rule,
        step: Step,
        chosen: Chosen,
    ) -> Updated | None:
        """Update topics by what documents, and the words in them, add; see `Engine.update`."""
        started = perf_counter()
        found = engine.statistics(weights, documents, task, divide=rule.divide, chosen=chosen)
        if not len(found.words):
            return None
        solved = perf_counter()
        engine.apply(weights, self.on_statistics(found), rule, step)
        return Updated(step.rho, solved - started, perf_counter() - solved, np.nan)

    def on_counts(self, counts: TokenCounts) -> TokenCounts:
        """Return counts with what the words weigh."""
        return self._added(counts, self._of_counts(counts))

    def at_least(self, counts: TokenCounts) -> TokenCounts:
        """Return counts in which the words have no less than they weigh."""
        has = counts.cells[self.columns].toarray()[np.arange(len(self.topics)), self.topics]
        return self._added(counts, np.maximum(self._of_counts(counts) - has, 0.0))

    def _of_counts(self, counts: TokenCounts) -> Array:
        seen = np.asarray(counts.cells[self.columns].sum(axis=1), np.float64)
        return self._weights(seen, float(counts.cells.sum()) / counts.n_topics)

    def _added(self, counts: TokenCounts, more: Array) -> TokenCounts:
        parts = np.rint(more).astype(np.int64), (self.columns, self.topics)
        cells = sparse.csr_array(sparse.coo_array(parts, shape=counts.cells.shape))
        return counts + TokenCounts(cells, counts.shift)

    def on_statistics(self, found: Statistics) -> Statistics:
        """Return statistics with what the words weigh, in as many documents."""
        words, n_topics = np.unique(self.columns), len(found.mass)
        found += Statistics(words, np.zeros((len(words), n_topics)), np.zeros(n_topics), 0)
        at = np.searchsorted(found.words, self.columns)
        seen = found.values[at].sum(axis=1)
        more = self._weights(seen, float(found.mass.sum()) / n_topics)
        np.add.at(found.values, (at, self.topics), more)
        np.add.at(found.mass, self.topics, more)
        return found

    def _weights(self, seen: Array, mean: float) -> Array:
        """Divide what a topic's words weigh by how often they were seen, or alike if never."""
        tokens, n_words = (np.bincount(self.topics, each) for each in (seen, np.ones_like(seen)))
        tokens, n_words = tokens[self.topics], n_words[self.topics]
        shares: Array = np.where(tokens > 0, seen / np.where(tokens > 0, tokens, 1), 1 / n_words)
        strength: Any = self.strength
        if self.firm and 0.0 < strength < 1.0 and mean > 0.0:
            strength = np.maximum(strength, 1.0 - tokens / (strength**2 * mean))
        found: Array = strength * mean * shares
        return found


@dataclass(frozen=True)
class Seeds:
    """Names of the first topics and their words; the words may be numbers of columns."""

    names: tuple[str, ...]
    words: tuple[tuple[str | int, ...], ...]
    strength: float
    columns: NDArray[Any] | None = None  # their names, where no vocabulary has them

    @classmethod
    def of(cls, given: Any, strength: Any, n_topics: int) -> "Seeds | None":
        """Check what was given; None where that is nothing."""
        strength = number("seed_strength", strength, 0.0, STRONGEST)
        if given is None:
            return None
        words = checked_words(given)
        if len(words) > n_topics:
            raise InputError(
                f"has {len(words)} topics, but there are only {n_topics}; give fewer, or "
                "{n_components}.",
                "seed_words",
                n_components=len(words),
            )
        return cls(tuple(words), tuple(map(tuple, words.values())), strength)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> dict[int, str]:
        """The topics' names by their numbers."""
        return dict(enumerate(self.names))

    def pull(self, vocabulary: Vocabulary | None, n_words: int) -> Pull:
        """Return the columns of all words that have one by now."""
        found = [
            (column, topic)
            for topic, words in enumerate(self._found(vocabulary, n_words))
            for column in sorted(set(words))
            if column >= 0
        ]
        cells = np.array(found, np.int32).reshape(-1, 2)
        return Pull(cells[:, 0].copy(), cells[:, 1].copy(), self.strength)

    def check(self, vocabulary: Vocabulary | None, X: sparse.csr_array) -> None:
        """Name the words that documents do not hold; complain of a topic that has no other."""
        occurs = np.bincount(X.indices, minlength=X.shape[1]) > 0
        missing: dict[str, None] = {}
        for name, words, columns in zip(
            self.names, self.words, self._found(vocabulary, X.shape[1]), strict=True
        ):
            gone = [
                word
                for word, column in zip(words, columns, strict=True)
                if column < 0 or not occurs[column]
            ]
            if len(gone) == len(words):
                raise InputError(
                    f"has no word of {name!r} that occurs in the documents; give others.",
                    "seed_words",
                )
            missing |= dict.fromkeys(map(repr, gone))
        warn_of(list(missing))

    def warn_of_missing(self, vocabulary: Vocabulary | None, n_words: int) -> None:
        """Name the words that a stream has not had so far."""
        found = zip(self.words, self._found(vocabulary, n_words), strict=True)
        pairs = (pair for words, columns in found for pair in zip(words, columns, strict=True))
        warn_of([repr(word) for word, column in pairs if column < 0], " so far")

    def _found(self, vocabulary: Vocabulary | None, n_words: int) -> list[list[int]]:
        """Return the column of each word of each topic, -1 where it has none."""
        return [[self._column(word, vocabulary, n_words) for word in words] for words in self.words]

    def _column(self, word: str | int, vocabulary: Vocabulary | None, n_words: int) -> int:
        if not isinstance(word, str):
            return word if word < n_words else -1
        if vocabulary is not None:
            column = vocabulary.index(word)
            return (
                column
                if column >= 0
                else vocabulary.index(_as_text(word, vocabulary.tokenizer.decided))
            )
        if self.columns is None:
            raise InputError(
                f"has the word {word!r}, but the columns of these counts have no words; give "
                "numbers of columns, or a vocabulary or a corpus to fit.",
                "seed_words",
            )
        found = np.flatnonzero(self.columns == word)
        return int(found[0]) if len(found) else -1


def checked_words(given: Any) -> dict[str, list[str | int]]:
    """Return seed words as a mapping from the topics' names to lists of them."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            'must map names of topics to words, as {"health care": ["health", "insurance"]}, got '
            f"{given!r:.60}.",
            "seed_words",
        )
    found: dict[str, list[str | int]] = {}
    for name, words in given.items():
        label = changed_labels({}, {0: name}, 1).get(0) if isinstance(name, str) else None
        if label is None:
            raise InputError(f"has a topic without a name, {name!r:.60}.", "seed_words")
        if isinstance(words, str | bytes) or not isinstance(words, Iterable):
            raise InputError(
                f"must have a list of words for {name!r}, got {words!r:.60}.", "seed_words"
            )
        found[label] = [_word(name, word) for word in words]
        if not found[label]:
            raise InputError(f"has no words for {name!r}; give some.", "seed_words")
    if len(found) < len(given):
        raise InputError("has a name twice; give each topic one of its own.", "seed_words")
    return found


def renumbered(given: Any, numbers: Mapping[int, int]) -> dict[str, list[str | int]] | None:
    """Return the seed words of topics that have these numbers now; merged ones have all words."""
    found: dict[int, tuple[str, list[str | int]]] = {}
    for topic, (name, words) in enumerate(checked_words(given).items()):
        if topic in numbers:
            own = found.setdefault(numbers[topic], (name, []))[1]
            own.extend(word for word in words if word not in own)
    return dict(found.values()) or None


def _word(name: str, word: Any) -> str | int:
    if isinstance(word, str) and word.strip():
        return word.strip()
    if isinstance(word, int | np.integer) and not isinstance(word, bool) and word >= 0:
        return int(word)
    raise InputError(
        f"has {word!r:.60} for {name!r}; give words, or numbers of columns.", "seed_words"
    )


@lru_cache(maxsize=10_000)
def _as_text(word: str, tokenizer: Tokenizer) -> str:
    """Return the word, or the pair of words, that a tokenizer makes of a text; else none."""
    words = tokenizer.count([word], n_jobs=1).words
    if len(words) == 3 and words[2] == f"{words[0]} {words[1]}":
        return words[2]
    return words[0] if len(words) == 1 else ""


def warn_of(words: list[str], so_far: str = "") -> None:
    """Name seed words that do not occur."""
    if words:
        more = len(words) - MOST_NAMED
        named = ", ".join(words[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        warnings.warn(f"seed words that do not occur{so_far}: {named}.", SeedWarning, stacklevel=4)
