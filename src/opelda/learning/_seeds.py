"""Topics of the user's own: their names and seed words, and which of these lead their topics."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number
from opelda.corpus import Tokenizer, Vocabulary
from opelda.errors import DataWarning, InputError, warn
from opelda.learning._seed_weights import Pull
from opelda.learning.editing._topic_labels import changed_labels

SEED_STRENGTH = 0.1
STRONGEST = 100.0
MOST_NAMED = 20
N_TOP = 20  # words of a topic among which its seed words are looked for


class SeedWarning(DataWarning):
    """Seed words do not occur in the documents, or are not among the top words of their topic."""


@dataclass(frozen=True)
class Seeds:
    """Seed words with a strength of their own.

    Parameters
    ----------
    words : mapping from str to lists of words
        Names of topics and their seed words; see `TopicModel`.
    strength : float
        Total weight of a topic's seed words while topics are learned, relative to an average topic;
        0 uses the words for the start alone. More than about .3 keeps words out that documents
        bring along.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> seeds = Seeds({"wine": ["wine"], "tea": ["tea", "cup"]}, strength=0.2)
    >>> TopicModel(3, seeds=seeds).seeds.strength
    0.2
    """

    words: Mapping[str, Iterable[str | int]]
    strength: float = SEED_STRENGTH


@dataclass(frozen=True)
class SeedTopics:
    """Names of the first topics and their words; the words may be numbers of columns."""

    names: tuple[str, ...]
    words: tuple[tuple[str | int, ...], ...]
    strength: float
    columns: NDArray[Any] | None = None  # their names, where no vocabulary has them

    @classmethod
    def of(cls, given: Any, n_topics: int) -> "SeedTopics | None":
        """Validate the seed words of a model; None if it has none."""
        if given is None:
            return None
        seeds = checked_seeds(given)
        names, words = tuple(seeds.words), tuple(map(tuple, seeds.words.values()))
        if len(names) > n_topics:
            raise InputError(
                f"has {len(names)} topics, but there are only {n_topics}; give fewer, or "
                "{n_components}.",
                "seeds",
                n_components=len(names),
            )
        return cls(names, words, seeds.strength)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def labels(self) -> dict[int, str]:
        """The topics' names by their numbers."""
        return dict(enumerate(self.names))

    def pull(self, vocabulary: Vocabulary | None, n_words: int) -> Pull:
        """Return the columns of all words that have one by now."""
        of_topics = enumerate(self._found(vocabulary, n_words))
        found = [(j, topic) for topic, words in of_topics for j in sorted(set(words)) if j >= 0]
        cells = np.array(found, np.int32).reshape(-1, 2)
        return Pull(cells[:, 0].copy(), cells[:, 1].copy(), self.strength)

    def check(self, vocabulary: Vocabulary | None, X: sparse.csr_array) -> None:
        """Name the words that documents do not hold; complain of a topic that has no other."""
        occurs = np.bincount(X.indices, minlength=X.shape[1]) > 0
        missing: dict[str, None] = {}
        found = self._found(vocabulary, X.shape[1])
        for name, words, columns in zip(self.names, self.words, found, strict=True):
            pairs = zip(words, columns, strict=True)
            gone = [word for word, column in pairs if column < 0 or not occurs[column]]
            if len(gone) == len(words):
                raise InputError(
                    f"has no word of {name!r} that occurs in the documents; give others.",
                    "seeds",
                )
            missing |= dict.fromkeys(map(repr, gone))
        warn_of(list(missing))

    def warn_of_missing(self, vocabulary: Vocabulary | None, n_words: int) -> None:
        """Name the words that a stream has not had so far."""
        found = zip(self.words, self._found(vocabulary, n_words), strict=True)
        pairs = (pair for words, columns in found for pair in zip(words, columns, strict=True))
        warn_of([repr(word) for word, column in pairs if column < 0], " so far")

    def coverage(
        self, vocabulary: Vocabulary | None, top: NDArray[np.intp], n_words: int
    ) -> dict[str, tuple[int, int]]:
        """Count the seed words that are among the top words of their topic, and all seed words."""
        found = zip(self.names, self.words, self._found(vocabulary, n_words), top, strict=False)
        return {name: (len({*has} & {*top.tolist()}), len(all_)) for name, all_, has, top in found}

    def _found(self, vocabulary: Vocabulary | None, n_words: int) -> list[list[int]]:
        """Return the column of each word of each topic; -1 for a word without a column."""
        return [[self._column(word, vocabulary, n_words) for word in words] for words in self.words]

    def _column(self, word: str | int, vocabulary: Vocabulary | None, n_words: int) -> int:
        if not isinstance(word, str):
            return word if word < n_words else -1
        if vocabulary is not None:
            column = vocabulary.index(word)
            if column < 0:
                column = vocabulary.index(_as_text(word, vocabulary.tokenizer.decided))
            return column
        if self.columns is None:
            raise InputError(
                f"has the word {word!r}, but the columns of these counts have no words; give "
                "numbers of columns, or a vocabulary or a corpus to fit.",
                "seeds",
            )
        found = np.flatnonzero(self.columns == word)
        return int(found[0]) if len(found) else -1


def checked_words(given: Any) -> dict[str, list[str | int]]:
    """Return a mapping from names of topics to lists of seed words."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            'must map names of topics to words, as {"health care": ["health", "insurance"]}, got '
            f"{given!r:.60}.",
            "seeds",
        )
    found: dict[str, list[str | int]] = {}
    for name, words in given.items():
        label = changed_labels({}, {0: name}, 1).get(0) if isinstance(name, str) else None
        if label is None:
            raise InputError(f"has a topic without a name, {name!r:.60}.", "seeds")
        if isinstance(words, str | bytes) or not isinstance(words, Iterable):
            raise InputError(f"must have a list of words for {name!r}, got {words!r:.60}.", "seeds")
        found[label] = [_word(name, word) for word in words]
        if not found[label]:
            raise InputError(f"has no words for {name!r}; give some.", "seeds")
    if len(found) < len(given):
        raise InputError("has a name twice; give each topic one of its own.", "seeds")
    return found


def checked_seeds(given: Any) -> Seeds:
    """Return seeds with their words and strength checked."""
    seeds = given if isinstance(given, Seeds) else Seeds(given)
    strength = number("strength", seeds.strength, 0.0, STRONGEST)
    return Seeds(checked_words(seeds.words), strength)


def renumbered(given: Any, numbers: Mapping[int, int]) -> Any:
    """Return the seeds of topics that have these numbers now; merged ones have all words."""
    found: dict[int, tuple[str, list[str | int]]] = {}
    for topic, (name, words) in enumerate(checked_seeds(given).words.items()):
        if topic in numbers:
            own = found.setdefault(numbers[topic], (name, []))[1]
            own.extend(word for word in words if word not in own)
    left = dict(found.values())
    return replace(given, words=left) if left and isinstance(given, Seeds) else left or None


def _word(name: str, word: Any) -> str | int:
    if isinstance(word, str) and word.strip():
        return word.strip()
    if isinstance(word, int | np.integer) and not isinstance(word, bool) and word >= 0:
        return int(word)
    raise InputError(f"has {word!r:.60} for {name!r}; give words, or numbers of columns.", "seeds")


@lru_cache(maxsize=10_000)
def _as_text(word: str, tokenizer: Tokenizer) -> str:
    """Return the single word or word pair that a tokenizer finds in a text, or an empty string."""
    words = tokenizer.count([word], n_jobs=1).words
    if len(words) == 3 and words[2] == f"{words[0]} {words[1]}":
        return words[2]
    return words[0] if len(words) == 1 else ""


def is_uncovered(n_found: int, n_words: int) -> bool:
    """Whether fewer than half of a topic's seed words are among its top words."""
    return 2 * n_found < min(n_words, N_TOP)


def warn_of_uncovered(coverage: Mapping[str, tuple[int, int]]) -> None:
    """Name the topics that are not about their seed words."""
    found = [(name, *each) for name, each in coverage.items() if is_uncovered(*each)]
    if found:
        named = ", ".join(f"{name!r} ({n_found} of {n_words})" for name, n_found, n_words in found)
        warn(
            f"fewer than half of the seed words are among the {N_TOP} top words of {named}; these "
            "labels are shown with a question mark. Give words that occur more often, or more "
            "topics.",
            SeedWarning,
        )


def warn_of(words: list[str], so_far: str = "") -> None:
    """Name seed words that do not occur."""
    if words:
        more = len(words) - MOST_NAMED
        named = ", ".join(words[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        warn(f"seed words that do not occur{so_far}: {named}.", SeedWarning)
