"""Weights of seed words, and of documents without them, while topics are learned.

Wherever tokens are counted, in the statistics of a mini-batch and in the counts that tokens are
drawn by, a topic's seed words together count as `strength` times an average topic more, divided
among them as they are frequent. The weight does not depend on how frequent the words are or how
many documents there are, and it does not fade. The topics that sweeps leave are counts of tokens
alone.

The topic of a rare theme is small. Another theme without a topic of its own settles there and soon
outnumbers the seed words, although these keep their topic. Documents without a seed word therefore
have a limited weight in a seeded topic.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.seam import (
    Chosen,
    Documents,
    Engine,
    Rule,
    Statistics,
    Step,
    Task,
    TokenCounts,
    Updated,
    Weights,
    tokens_of,
)

# Weight of the documents without seed words in a seeded topic, relative to those with one, at most:
# chosen on tweets and 20 Newsgroups with rare themes by benchmarks/seeds.
WITHOUT_SEEDS = 0.5

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Pull:
    """Columns that seed words have, each with its topic, and how strongly they hold it."""

    columns: NDArray[np.int32]
    topics: NDArray[np.int32]
    strength: float
    # Words that have nearly disappeared hold a topic with the weight of an average topic: a stream
    # may bring them back, and an empty topic would attract the next new theme.
    firm: bool = False
    limits: bool = False  # updates give documents without seed words a limited weight

    @property
    def n_seeded(self) -> int:
        """Number of seeded topics."""
        return int(self.topics.max()) + 1

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

        def sums(chosen: Chosen) -> Statistics:
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
        return Updated(step.rho, solved - started, perf_counter() - solved, np.nan)

    def _limited(
        self,
        documents: Documents,
        rows: NDArray[np.intp],
        sums: Callable[[NDArray[np.intp]], Statistics],
    ) -> Statistics:
        """Sum up documents; those without a seed word of a topic have a limited weight in it."""
        n_seeded = self.n_seeded
        holds = held_topics(self, sparse.csr_array(documents.matrix[rows])).toarray() > 0
        # a document with seed words of several topics counts for the rarest theme
        rarest = np.argsort(holds.sum(axis=0), kind="stable")
        has = holds[:, rarest]
        group = np.where(has.any(axis=1), rarest[has.argmax(axis=1)], n_seeded)
        parts = {int(topic): sums(rows[group == topic]) for topic in np.unique(group)}
        found = reduce(add, parts.values())
        for topic in range(n_seeded):
            own = np.zeros(len(found.words))
            if topic in parts:
                at = np.searchsorted(found.words, parts[topic].words)
                own[at] = parts[topic].values[:, topic]
            others = found.values[:, topic] - own
            share = allowed(own.sum(), others.sum())
            found.values[:, topic] = own + share * others
            mass = parts[topic].mass[topic] if topic in parts else 0.0
            found.mass[topic] = mass + share * (found.mass[topic] - mass)
        return found

    def on_counts(self, counts: TokenCounts) -> TokenCounts:
        """Return counts with the weight of the seed words."""
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
        """Return statistics with the weight of the seed words, of the same number of documents."""
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
class Anchors:
    """Tokens of the documents that hold a seed word of a topic, each with that topic."""

    collection: Any  # an engine's tokens
    numbers: NDArray[np.int64]  # of the tokens in the collection
    topics: NDArray[np.int64]
    words: NDArray[np.int32]
    units: NDArray[np.int64]  # their weights, in multiples of 2**-shift
    n_seeded: int

    @classmethod
    def of(cls, pull: Pull, tokens: Any) -> "Anchors":
        """Find the documents that hold seed words."""
        rows = tokens.rows
        parts = rows.counts, rows.words, rows.indptr
        X = sparse.csr_array(parts, shape=(rows.n_docs, tokens.n_words))
        docs, topics = held_topics(pull, X).nonzero()
        first, lengths = tokens.first[docs], np.diff(tokens.first)[docs]
        ends = np.cumsum(lengths)
        numbers = np.repeat(first - ends + lengths, lengths) + np.arange(lengths.sum())
        words = np.repeat(rows.words, tokens_of(rows.counts))[numbers]
        units = tokens.token_units()[numbers]
        return cls(tokens, numbers, np.repeat(topics, lengths), words, units, pull.n_seeded)

    def limit(self, counts: TokenCounts) -> TokenCounts:
        """Return counts in which other documents weigh `WITHOUT_SEEDS` times as much at most."""
        topics: NDArray[np.uint16] = self.collection.topics
        own = topics[self.numbers] == self.topics
        found = self.units[own], (self.words[own], self.topics[own])
        anchored = sparse.coo_array(found, shape=counts.cells.shape).tocsr()
        seeded = counts.cells.copy()
        seeded.data[seeded.indices >= self.n_seeded] = 0
        others = sparse.csr_array(seeded - anchored)
        share = allowed(*(np.asarray(each.sum(axis=0), np.float64) for each in (anchored, others)))
        others.data -= np.rint(others.data * share[others.indices]).astype(np.int64)
        return counts - TokenCounts(others, counts.shift)


def held_topics(pull: Pull, X: sparse.csr_array) -> sparse.csr_array:
    """Return (D, seeded topics): how often a document holds seed words of a topic."""
    cells = np.ones(len(pull.columns)), (pull.columns, pull.topics)
    seeds = sparse.coo_array(cells, shape=(X.shape[1], pull.n_seeded))
    return sparse.csr_array(X @ seeds.tocsr())


def allowed(anchored: Any, others: Any) -> Any:
    """Return the share of the weight of other documents that counts in a seeded topic."""
    return np.minimum(WITHOUT_SEEDS * anchored / np.maximum(others, 1e-300), 1.0)
