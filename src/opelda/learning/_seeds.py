"""Topics that users name: their seed words, and the weights of these words in learning.

In the statistics of a mini-batch, and in the counts that sweeps draw by, the seed words of a topic
have an additional weight of `strength` average topics, shared in proportion to their frequency. The
final counts of sweeps exclude this weight.

The topic of a rare theme is small. Another theme without a topic would settle there and outnumber
the seed words. Documents without a seed word therefore have a limited weight in a seeded topic.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from operator import add
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number
from opelda.corpus import Tokenizer, Vocabulary
from opelda.engines import seam
from opelda.errors import DataWarning, InputError, warn
from opelda.learning.editing._edit import changed_labels

SEED_STRENGTH = 0.1
N_TOP = 20  # top words of a topic that must include its seed words

Array = NDArray[np.float64]


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
        0 uses the words for the start only. More than about .3 excludes related words.

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
class Pull:
    """The columns of seed words, their topics, and the strength of their weight."""

    columns: NDArray[np.int32]
    topics: NDArray[np.int32]
    strength: float
    # Words that nearly disappeared get the weight of an average topic: a stream may contain them
    # later, and an empty topic would attract the next new theme.
    firm: bool = False
    limits: bool = False  # updates limit the weight of documents without seed words

    @property
    def n_seeded(self) -> int:
        """Number of seeded topics."""
        return int(self.topics.max()) + 1

    def holds(self, X: sparse.csr_array) -> sparse.csr_array:
        """Return the occurrences of each topic's seed words per document (D, seeded topics)."""
        cells = np.ones(len(self.columns)), (self.columns, self.topics)
        seeds = sparse.coo_array(cells, shape=(X.shape[1], self.n_seeded))
        return sparse.csr_array(X @ seeds.tocsr())

    def update(
        self,
        engine: seam.Engine,
        weights: seam.Weights,
        documents: seam.Documents,
        task: seam.Task,
        rule: seam.Rule,
        step: seam.Step,
        chosen: seam.Chosen,
    ) -> seam.Updated | None:
        """Update topics by documents and their seed words; see `Engine.update`."""
        started = perf_counter()

        def sums(chosen: seam.Chosen) -> seam.Statistics:
            return engine.statistics(weights, documents, task, divide=rule.divide, chosen=chosen)

        if self.limits:
            rows = np.arange(documents.n_docs) if chosen is None else np.asarray(chosen)
            found = self._limited(documents, rows, sums)
        else:
            found = sums(chosen)
        if not len(found.words):
            return None
        solved = perf_counter()
        engine.apply(weights, self.on_statistics(found), rule, step)
        return seam.Updated(step.rho, solved - started, perf_counter() - solved, np.nan)

    def _limited(
        self,
        documents: seam.Documents,
        rows: NDArray[np.intp],
        sums: Callable[[NDArray[np.intp]], seam.Statistics],
    ) -> seam.Statistics:
        """Sum up documents, and limit documents without a seed word of a topic in that topic."""
        holds = self.holds(sparse.csr_array(documents.matrix[rows])).toarray() > 0
        # a document with seed words of several topics counts for the rarest theme
        rarest = np.argsort(holds.sum(axis=0), kind="stable")
        has = holds[:, rarest]
        group = np.where(has.any(axis=1), rarest[has.argmax(axis=1)], self.n_seeded)
        parts = {int(topic): sums(rows[group == topic]) for topic in np.unique(group)}
        found = reduce(add, parts.values())
        for topic in range(self.n_seeded):
            own, mass = np.zeros(len(found.words)), 0.0
            if topic in parts:
                at = np.searchsorted(found.words, parts[topic].words)
                own[at] = parts[topic].values[:, topic]
                mass = parts[topic].mass[topic]
            others = found.values[:, topic] - own
            share = _allowed(own.sum(), others.sum())
            found.values[:, topic] = own + share * others
            found.mass[topic] = mass + share * (found.mass[topic] - mass)
        return found

    def on_counts(self, counts: seam.TokenCounts, *, at_least: bool = False) -> seam.TokenCounts:
        """Add the weight of the seed words, or raise their counts to at least this weight."""
        seen = np.asarray(counts.cells[self.columns].sum(axis=1), np.float64)
        more = self._weights(seen, float(counts.cells.sum()) / counts.n_topics)
        if at_least:
            has = counts.cells[self.columns].toarray()[np.arange(len(self.topics)), self.topics]
            more = np.maximum(more - has, 0.0)
        parts = np.rint(more).astype(np.int64), (self.columns, self.topics)
        cells = sparse.csr_array(sparse.coo_array(parts, shape=counts.cells.shape))
        return counts + seam.TokenCounts(cells, counts.shift)

    def on_statistics(self, found: seam.Statistics) -> seam.Statistics:
        """Return statistics with the weight of the seed words."""
        words, n_topics = np.unique(self.columns), len(found.mass)
        found += seam.Statistics(words, np.zeros((len(words), n_topics)), np.zeros(n_topics), 0)
        at = np.searchsorted(found.words, self.columns)
        more = self._weights(found.values[at].sum(axis=1), float(found.mass.sum()) / n_topics)
        np.add.at(found.values, (at, self.topics), more)
        np.add.at(found.mass, self.topics, more)
        return found

    def _weights(self, seen: Array, mean: float) -> Array:
        """Divide a topic's weight between its words by frequency; equally for unseen words."""
        tokens, n_words = (np.bincount(self.topics, each) for each in (seen, np.ones_like(seen)))
        tokens, n_words = tokens[self.topics], n_words[self.topics]
        shares: Array = np.where(tokens > 0, seen / np.where(tokens > 0, tokens, 1), 1 / n_words)
        strength: Any = self.strength
        if self.firm and 0.0 < strength < 1.0 and mean > 0.0:
            strength = np.maximum(strength, 1.0 - tokens / (strength**2 * mean))
        found: Array = strength * mean * shares
        return found


class Anchors:
    """Tokens of documents with a seed word, each with the topic of the word."""

    def __init__(self, pull: Pull, tokens: Any) -> None:
        rows, self.collection, self.n_seeded = tokens.rows, tokens, pull.n_seeded
        X = sparse.csr_array(
            (rows.counts, rows.words, rows.indptr), shape=(rows.n_docs, tokens.n_words)
        )
        docs, topics = pull.holds(X).nonzero()
        first, lengths = tokens.first[docs], np.diff(tokens.first)[docs]
        ends = np.cumsum(lengths)
        # numbers of the tokens in the collection
        self.numbers = np.repeat(first - ends + lengths, lengths) + np.arange(lengths.sum())
        self.topics = np.repeat(topics, lengths)
        self.words = np.repeat(rows.words, seam.tokens_of(rows.counts))[self.numbers]
        self.units = tokens.token_units()[self.numbers]  # weights, in multiples of 2**-shift

    def limit(self, counts: seam.TokenCounts) -> seam.TokenCounts:
        """Limit the weight of other documents in seeded topics."""
        topics: NDArray[np.uint16] = self.collection.topics
        own = topics[self.numbers] == self.topics
        found = self.units[own], (self.words[own], self.topics[own])
        anchored = sparse.coo_array(found, shape=counts.cells.shape).tocsr()
        seeded = counts.cells.copy()
        seeded.data[seeded.indices >= self.n_seeded] = 0
        others = sparse.csr_array(seeded - anchored)
        share = _allowed(*(np.asarray(each.sum(axis=0), np.float64) for each in (anchored, others)))
        others.data -= np.rint(others.data * share[others.indices]).astype(np.int64)
        return counts - seam.TokenCounts(others, counts.shift)


def _allowed(anchored: Any, others: Any) -> Any:
    """Return the share of other documents' weight that counts in a seeded topic."""
    # at most half the weight of documents with a seed word: chosen on tweets and 20 Newsgroups with
    # rare themes by benchmarks/seeds
    return np.minimum(0.5 * anchored / np.maximum(others, 1e-300), 1.0)


@dataclass(frozen=True)
class SeedTopics:
    """Names and seed words of the first topics; words may be numbers of columns."""

    words: Mapping[str, Iterable[str | int]]
    strength: float
    columns: NDArray[Any] | None = None  # names of columns without a vocabulary

    @classmethod
    def of(cls, given: Any, n_topics: int) -> "SeedTopics | None":
        """Validate the seed words of a model; return None for no seeds."""
        if given is None:
            return None
        seeds = checked_seeds(given)
        n_seeded = len(seeds.words)
        if n_seeded > n_topics:
            raise InputError(
                f"has {n_seeded} topics, but the model has only {n_topics}; name fewer topics, or "
                "set {n_components}.",
                "seeds",
                n_components=n_seeded,
            )
        return cls(seeds.words, seeds.strength)

    def __len__(self) -> int:
        return len(self.words)

    def pull(self, vocabulary: Vocabulary | None, n_words: int) -> Pull:
        """Look up the columns of the seed words."""
        of_topics = enumerate(self._found(vocabulary, n_words))
        found = [(j, topic) for topic, words in of_topics for j in sorted(set(words)) if j >= 0]
        cells = np.array(found, np.int32).reshape(-1, 2)
        return Pull(cells[:, 0].copy(), cells[:, 1].copy(), self.strength)

    def warn_of_missing(
        self, vocabulary: Vocabulary | None, n_words: int, X: sparse.csr_array | None = None
    ) -> None:
        """Warn of words that did not occur in a stream, or in documents X."""
        occurs = None if X is None else np.bincount(X.indices, minlength=n_words) > 0
        missing: dict[str, None] = {}
        found = self._found(vocabulary, n_words)
        for (name, words), columns in zip(self.words.items(), found, strict=True):
            pairs = zip(words, columns, strict=True)
            gone = [repr(w) for w, j in pairs if j < 0 or not (occurs is None or occurs[j])]
            if occurs is not None and len(gone) == len(columns):
                raise InputError(
                    f"has no word of {name!r} that occurs in the documents; choose other words.",
                    "seeds",
                )
            missing |= dict.fromkeys(gone)
        if missing:
            more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
            so_far = " so far" if occurs is None else ""
            named = ", ".join([*missing][:20])
            warn(f"seed words that do not occur{so_far}: {named}{more}.", SeedWarning)

    def coverage(
        self, vocabulary: Vocabulary | None, top: NDArray[np.intp], n_words: int
    ) -> dict[str, tuple[int, int]]:
        """Count the seed words among the top words of their topic, and all seed words."""
        found = zip(self.words, self._found(vocabulary, n_words), top, strict=False)
        return {name: (len({*own} & {*best.tolist()}), len(own)) for name, own, best in found}

    def _found(self, vocabulary: Vocabulary | None, n_words: int) -> list[list[int]]:
        """Return the column of each word of each topic, -1 for none."""
        lists = self.words.values()
        return [[self._column(word, vocabulary, n_words) for word in words] for words in lists]

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
                f"has the word {word!r}, but these counts have no vocabulary; use column numbers, "
                "or pass a vocabulary or a corpus to fit.",
                "seeds",
            )
        found = np.flatnonzero(self.columns == word)
        return int(found[0]) if len(found) else -1


def checked_words(given: Any) -> dict[str, list[str | int]]:
    """Validate a mapping from names to seed words."""
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            'must map topic names to words, such as {"health care": ["health", "insurance"]}, got '
            f"{given!r:.60}.",
            "seeds",
        )
    found: dict[str, list[str | int]] = {}
    for name, words in given.items():
        label = changed_labels({}, {0: name}, 1).get(0) if isinstance(name, str) else None
        if label is None or label in found:
            raise InputError(f"has an empty or duplicate topic name, {name!r:.60}.", "seeds")
        if isinstance(words, str | bytes) or not isinstance(words, Iterable):
            raise InputError(f"must have a list of words for {name!r}, got {words!r:.60}.", "seeds")
        found[label] = [_word(name, word) for word in words]
        if not found[label]:
            raise InputError(f"has no words for {name!r}; add at least one word.", "seeds")
    return found


def _word(name: str, word: Any) -> str | int:
    if isinstance(word, str) and word.strip():
        return word.strip()
    if isinstance(word, int | np.integer) and not isinstance(word, bool) and word >= 0:
        return int(word)
    raise InputError(
        f"has the invalid word {word!r:.60} for {name!r}; use words or column numbers.", "seeds"
    )


def checked_seeds(given: Any) -> Seeds:
    """Validate seeds: their words, and a strength of at most 100."""
    seeds = given if isinstance(given, Seeds) else Seeds(given)
    return Seeds(checked_words(seeds.words), number("strength", seeds.strength, 0.0, 100.0))


def renumbered(given: Any, numbers: Mapping[int, int]) -> Any:
    """Return the seeds of renumbered topics; merged topics have the words of all."""
    found: dict[int, tuple[str, list[str | int]]] = {}
    for topic, (name, words) in enumerate(checked_seeds(given).words.items()):
        if topic in numbers:
            own = found.setdefault(numbers[topic], (name, []))[1]
            own.extend(word for word in words if word not in own)
    left = dict(found.values())
    return replace(given, words=left) if left and isinstance(given, Seeds) else left or None


@lru_cache(maxsize=10_000)
def _as_text(word: str, tokenizer: Tokenizer) -> str:
    """Return the single word or word pair that a tokenizer finds in a text, or ""."""
    words = tokenizer.count([word], n_jobs=1).words
    if len(words) == 3 and words[2] == f"{words[0]} {words[1]}":
        return words[2]
    return words[0] if len(words) == 1 else ""


def is_uncovered(n_found: int, n_words: int) -> bool:
    """Return whether fewer than half of the seed words are among the top words."""
    return 2 * n_found < min(n_words, N_TOP)


def warn_of_uncovered(coverage: Mapping[str, tuple[int, int]]) -> None:
    """Warn of topics whose seed words are not among their top words."""
    found = [(name, *each) for name, each in coverage.items() if is_uncovered(*each)]
    if found:
        named = ", ".join(f"{name!r} ({n_found} of {n_words})" for name, n_found, n_words in found)
        warn(
            f"fewer than half of the seed words are among the {N_TOP} top words of {named}; these "
            "labels are shown with a question mark. Choose more frequent words, or more topics.",
            SeedWarning,
        )
