"""A new theme of a stream gets a topic of its own, which replaces the smallest one.

Sweeps do not separate a theme from a topic that took it in. So new documents of a window are
compared with older ones before each round of sweeps: bursting words that come together make a
theme. The theme replaces the smallest topic if its documents gain more than the loss of the topic.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from opelda.engines.seam import HostWeights, Rows, TokenCounts, Weights
from opelda.learning.streaming._watch import log_probabilities
from opelda.learning.streaming._window import Assignments, Window

LEAST_DOCS = 20  # that have a word, and that a theme has

Numbers = NDArray[np.int64]


class Theme(NamedTuple):
    """A theme of the new documents, and the topic to replace."""

    words: Numbers  # bursting, the most frequent first
    tokens: Numbers  # in the window, of the theme's documents
    n_docs: int
    share: float  # of the new documents
    topic: int
    heirs: Numbers  # the other topic with most of each word


def new_theme(kept: Assignments, n_new: int, weights: Weights, n_seeded: int = 0) -> Theme | None:
    """Return the theme of the last documents that gains most, if any; keep `n_seeded` topics."""
    rows, n_old, n_topics = kept.rows, kept.rows.n_docs - n_new, weights.n_topics
    if n_old < n_new or n_topics < 2 or n_seeded == n_topics:
        return None
    words, usual = _bursting(rows, n_old)
    if len(words) < 2:
        return None
    recent = kept.divided(n_old)[1]
    ids = recent.token_words.astype(np.int64)
    sizes, lately = (np.bincount(part.topics, minlength=n_topics) for part in (kept, recent))
    now = sizes * (n_new / rows.n_docs) + lately  # a topic may be new itself
    topic = n_seeded + int(now[n_seeded:].argmin())
    heirs = _heirs(weights.host().rows, topic)
    of_topic = ids[recent.topics == topic]
    lost = log_probabilities(weights, of_topic, np.full(len(of_topic), topic)).sum()
    least = lost - log_probabilities(weights, of_topic, heirs[of_topic]).sum()
    best = None
    for own, documents in _together(recent.rows, words, usual):
        if len(documents) < LEAST_DOCS:
            continue
        tokens = recent.token_numbers(documents)
        seen = np.bincount(ids[tokens], minlength=weights.n_words)
        by_own = xlogy(seen, seen / len(tokens)).sum()
        gain = by_own - log_probabilities(weights, ids[tokens], recent.topics[tokens]).sum()
        if gain > max(least, 0.5 * len(tokens)):  # nats
            order = np.argsort(-seen[own], kind="stable")
            tokens, share = int(kept.ends[n_old]) + tokens, len(documents) / n_new
            best = Theme(own[order], tokens, len(documents), share, topic, heirs)
            least = gain
    return best


def give(theme: Theme, window: Window, weights: HostWeights) -> tuple[Window, HostWeights]:
    """Replace a topic by a theme; the topic's words go to the heirs."""
    rows, topic, heirs = weights.rows.copy(), theme.topic, theme.heirs
    rows[np.arange(len(rows)), heirs] += rows[:, topic]
    kept, cells = window.kept, window.outside.cells
    ids = kept.token_words
    rows[:, topic] = np.bincount(ids[theme.tokens], minlength=len(rows)) / weights.scale
    topics = np.where(kept.topics == topic, heirs[ids].astype(np.uint16), kept.topics)
    topics[theme.tokens] = topic
    owners = np.repeat(np.arange(cells.shape[0]), np.diff(cells.indptr))
    columns = np.where(cells.indices == topic, heirs[owners], cells.indices)
    outside = sparse.coo_array((cells.data, (owners, columns)), shape=cells.shape)
    return (
        replace(
            window,
            parts=[Assignments(kept.rows, topics)],
            outside=TokenCounts(sparse.csr_array(outside), window.outside.shift),
        ),
        replace(weights, rows=rows, sums=None),
    )


def _bursting(rows: Rows, n_old: int) -> tuple[Numbers, NDArray[np.float64]]:
    """Return words twice as frequent from document `n_old` on, and their former shares."""
    n_words = int(rows.words.max(initial=-1)) + 1
    parts = np.split(rows.words, [int(rows.indptr[n_old])])
    before, now = (np.bincount(part, minlength=n_words) for part in parts)
    n_new = rows.n_docs - n_old
    expected = (before + now) * (n_new / rows.n_docs)
    # of two Poisson counts against their common rate
    ratio = xlogy(now, now) - xlogy(now, expected)
    ratio += xlogy(before, before) - xlogy(before, before + now - expected)
    often = now * float(n_old) > 2.0 * n_new * before
    words = np.flatnonzero((now >= LEAST_DOCS) & often & (ratio > 20.0))
    words = np.sort(words[np.argsort(-ratio[words], kind="stable")][:500])
    return words, before[words] / max(len(parts[0]), 1)


def _together(
    rows: Rows, words: Numbers, usual: NDArray[np.float64]
) -> list[tuple[Numbers, Numbers]]:
    """Group words that come together; return groups, and documents full of a group's words.

    Two words come together in five documents, five times and four standard deviations above chance.
    """
    numbers = np.full(int(rows.words.max()) + 1, -1)
    numbers[words] = np.arange(len(words))
    sizes = np.diff(rows.indptr)
    columns, documents = numbers[rows.words], np.repeat(np.arange(rows.n_docs), sizes)
    here = columns >= 0
    entries, shape = (documents[here], columns[here]), (rows.n_docs, len(words))
    have = sparse.csr_array(sparse.coo_array((np.ones(here.sum()), entries), shape=shape))
    pairs = (have.T @ have).tocoo()
    times = have.sum(axis=0)
    chance = times[pairs.row] * times[pairs.col] / rows.n_docs
    # frequent words come together if they are nearer to "always" than to chance
    nearer = np.sqrt(chance * np.minimum(times[pairs.row], times[pairs.col]))
    linked = (pairs.data >= 5) & (pairs.data > np.minimum(5.0 * chance, nearer))
    linked &= pairs.data - chance > 4.0 * np.sqrt(chance)
    edges = pairs.row[linked], pairs.col[linked]
    graph = sparse.coo_array((np.ones(linked.sum()), edges), shape=pairs.shape)
    n_groups, group = connected_components(graph, directed=False)
    found = []
    for number in np.flatnonzero(np.bincount(group, minlength=n_groups) > 1):
        own = group == number
        # four times as many of the words as usual, and one more
        full = have @ own.astype(float) > 1.0 + 4.0 * usual[own].sum() * sizes
        found.append((words[own], np.flatnonzero(full)))
    return found


def _heirs(rows: NDArray[np.float32], topic: int) -> Numbers:
    """Return the topic with most of each word, except `topic`."""
    left, right = rows[:, :topic], rows[:, topic + 1 :]
    best = np.stack([part.max(axis=1, initial=-1.0) for part in (left, right)])
    heirs = [part.argmax(axis=1) if part.shape[1] else 0 for part in (left, right)]
    return np.asarray(np.where(best[0] >= best[1], heirs[0], heirs[1] + topic + 1), np.int64)
