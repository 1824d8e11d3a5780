"""A theme that is new in a stream gets a topic of its own: the one that is needed least.

A topic that takes in a new theme beside its own stays a mixture of both, for tokens hold each other
where they are. So before a window is swept its new documents are compared with the older ones.
Words that burst, and come together, make a theme. If its documents are likelier by their own words
than by the topics that they have, and that is more than is lost without the smallest topic, then
this one becomes the theme's, and the sweeps take it from there. A theme that returns has its topic.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from opelda.engines.seam import HostWeights, Rows, TokenCounts, Weights
from opelda.learning.streaming._observations import log_probabilities
from opelda.learning.streaming._window import Assignments, Window

LEAST_DOCS = 20  # that have a word, and that a theme has
SURPRISE = 20.0  # log likelihood ratio of "more often than before" to "as often"
TIMES = 2.0  # as often as before
# Two words come together: in so many documents, times and standard deviations more than by chance.
TOGETHER, LIFT, CLEARLY = 5, 5.0, 4.0
MOST_WORDS = 500  # that are looked at
FULL = 4.0  # times as many of its words as usual, and another one: a theme's document
UNKNOWN = 0.5  # nats a token that its own words gain


@dataclass(frozen=True)
class Theme:
    """A theme of the new documents, and the topic that is to become it."""

    words: NDArray[np.int64]  # that burst, the most frequent first
    tokens: NDArray[np.int64]  # of its documents, by their numbers in the window
    n_docs: int
    share: float  # of the new documents
    topic: int
    heirs: NDArray[np.int64]  # per word the topic that has most of it but for this one


def new_theme(kept: Assignments, n_new: int, weights: Weights, n_seeded: int = 0) -> Theme | None:
    """Look for the theme of the last documents that gains most by a topic of its own.

    The first topics, if they are of seed words, stay as they are.
    """
    rows, n_old, n_topics = kept.rows, kept.rows.n_docs - n_new, weights.n_topics
    if n_old < n_new or n_topics < 2 or n_seeded == n_topics:
        return None
    words, usual = _bursting(rows, n_old)
    if len(words) < 2:
        return None
    recent = kept.divided(n_old)[1]
    ids = recent.token_words.astype(np.int64)
    sizes, lately = (np.bincount(part.topics, minlength=n_topics) for part in (kept, recent))
    now = sizes * (n_new / rows.n_docs) + lately  # one may be new itself
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
        if gain > max(least, UNKNOWN * len(tokens)):
            order = np.argsort(-seen[own], kind="stable")
            first = int(kept.ends[n_old])
            share = len(documents) / n_new
            best = Theme(own[order], first + tokens, len(documents), share, topic, heirs)
            least = gain
    return best


def give(theme: Theme, window: Window, weights: HostWeights) -> tuple[Window, HostWeights]:
    """Return the window and the weights with a theme in its topic, whose words go to heirs."""
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


def _bursting(rows: Rows, n_old: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return words that more of the documents from `n_old` on have than of those before.

    And how much of the older documents' words they are.
    """
    n_words = int(rows.words.max(initial=-1)) + 1
    parts = np.split(rows.words, [int(rows.indptr[n_old])])
    before, now = (np.bincount(part, minlength=n_words) for part in parts)
    n_new = rows.n_docs - n_old
    expected = (before + now) * (n_new / rows.n_docs)
    # of two Poisson counts against their common rate
    ratio = xlogy(now, now) - xlogy(now, expected)
    ratio += xlogy(before, before) - xlogy(before, before + now - expected)
    often = now * float(n_old) > TIMES * n_new * before
    words = np.flatnonzero((now >= LEAST_DOCS) & often & (ratio > SURPRISE))
    words = np.sort(words[np.argsort(-ratio[words], kind="stable")][:MOST_WORDS])
    return words, before[words] / max(len(parts[0]), 1)


def _together(
    rows: Rows, words: NDArray[np.int64], usual: NDArray[np.float64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Divide words by whether they come together, over others too; and documents full of each."""
    numbers = np.full(int(rows.words.max()) + 1, -1)
    numbers[words] = np.arange(len(words))
    sizes = np.diff(rows.indptr)
    columns, documents = numbers[rows.words], np.repeat(np.arange(rows.n_docs), sizes)
    here = columns >= 0
    shape = rows.n_docs, len(words)
    entries = (documents[here], columns[here])
    have = sparse.csr_array(sparse.coo_array((np.ones(here.sum()), entries), shape=shape))
    pairs = (have.T @ have).tocoo()
    times = have.sum(axis=0)
    chance = times[pairs.row] * times[pairs.col] / rows.n_docs
    # or, of words that many documents have, nearer to "always" than to chance
    nearer = np.sqrt(chance * np.minimum(times[pairs.row], times[pairs.col]))
    linked = (pairs.data >= TOGETHER) & (pairs.data > np.minimum(LIFT * chance, nearer))
    linked &= pairs.data - chance > CLEARLY * np.sqrt(chance)
    edges = pairs.row[linked], pairs.col[linked]
    graph = sparse.coo_array((np.ones(linked.sum()), edges), shape=pairs.shape)
    n_groups, group = connected_components(graph, directed=False)
    found = []
    for number in np.flatnonzero(np.bincount(group, minlength=n_groups) > 1):
        own = group == number
        full = have @ own.astype(float) > 1.0 + FULL * usual[own].sum() * sizes
        found.append((words[own], np.flatnonzero(full)))
    return found


def _heirs(rows: NDArray[np.float32], topic: int) -> NDArray[np.int64]:
    """Return the topic that has most of each word but for one topic."""
    left, right = rows[:, :topic], rows[:, topic + 1 :]
    best = np.stack([part.max(axis=1, initial=-1.0) for part in (left, right)])
    heirs = [part.argmax(axis=1) if part.shape[1] else 0 for part in (left, right)]
    return np.asarray(np.where(best[0] >= best[1], heirs[0], heirs[1] + topic + 1), np.int64)
