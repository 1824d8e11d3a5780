"""Synthetic documents, drawn from known topics, for tests and benchmarks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number, whole
from opelda.errors import InputError


@dataclass(frozen=True)
class Generated:
    """Documents with their topics and mixtures."""

    X: sparse.csr_array  # float32 counts (D, V)
    topics: NDArray[np.float64]  # (K, V)
    mixtures: NDArray[np.float64]  # (D, K)


def generate(
    n_docs: int,
    *,
    n_words: int = 1000,
    n_topics: int = 10,
    n_tokens: float = 80,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.05,
    separated: bool = False,
    random_state: Any = 0,
) -> Generated:
    """Draw documents from the model that LDA assumes.

    Parameters
    ----------
    n_docs, n_words, n_topics : int
    n_tokens : float
        Mean length; lengths are Poisson, at least 1.
    doc_topic_prior, topic_word_prior : float
        alpha and eta of the symmetric Dirichlet priors of mixtures and topics.
    separated : bool
        Use well-separated topics instead of random topics: 90% of the mass of a topic is on its own
        block of words, in proportion to 1/n for the n-th word, and the rest on all blocks.
    random_state : int, Generator or None
        Random seed, as for `numpy.random.default_rng`.

    Returns
    -------
    Generated

    Examples
    --------
    >>> made = generate(1000, n_words=60, n_topics=3, separated=True)
    >>> made.topics[:, :20].sum(axis=1).round(2)
    array([0.93, 0.03, 0.03])
    """
    n_docs, n_words = whole("n_docs", n_docs, 0), whole("n_words", n_words)
    n_topics, n_tokens = whole("n_topics", n_topics), _positive("n_tokens", n_tokens)
    alpha = _positive("doc_topic_prior", doc_topic_prior)
    eta = _positive("topic_word_prior", topic_word_prior)
    if separated and n_words < n_topics:
        raise InputError(
            f"must be at least n_topics={n_topics} for separated topics, got {n_words}.", "n_words"
        )
    try:
        rng = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"cannot be used: {error}.", "random_state") from None
    if separated:
        owner = np.arange(n_words) * n_topics // n_words
        rank = np.arange(n_words) - np.searchsorted(owner, owner)
        topics = owned_topics(1.0 / (1 + rank), owner, n_topics)
    else:
        topics = rng.dirichlet(np.full(n_words, eta), n_topics)
    mixtures = rng.dirichlet(np.full(n_topics, alpha), n_docs)
    cumulative = np.cumsum(topics, axis=1)
    at_once = 4096
    parts = [
        draw_counts(rng, mixtures[first : first + at_once], cumulative, n_tokens)
        for first in range(0, max(n_docs, 1), at_once)
    ]
    return Generated(sparse.vstack(parts, format="csr"), topics, mixtures)


def generate_stream(
    n_docs: int | None,
    *,
    batch_size: int = 1000,
    n_words: int = 2000,
    n_topics: int = 10,
    n_tokens: float = 25,
    doc_topic_prior: float = 0.1,
    new_words_per_batch: int = 20,
    random_state: int = 0,
    first_batch: int = 0,
) -> Iterator[list[dict[str, float]]]:
    """Yield mini-batches of documents ``{word: count}`` over words that come and leave.

    Each topic owns every ``n_topics``-th word of an endless list; `n_words` are in use at a time.
    A word is rare at first, common in its middle age, and rare again before it leaves.

    Parameters
    ----------
    n_docs : int or None
        Length of the stream; None is unlimited.
    batch_size, n_words, n_topics, n_tokens, doc_topic_prior, new_words_per_batch, random_state
        As for `generate`; lengths have the mean ``n_tokens``.
    first_batch : int
        The number of the first batch; a batch depends only on parameters, seed and number.

    Yields
    ------
    list of dict

    Examples
    --------
    >>> batches = list(generate_stream(2500, batch_size=1000))
    >>> [len(batch) for batch in batches]
    [1000, 1000, 500]
    >>> next(generate_stream(2500, batch_size=1000, first_batch=2)) == batches[2]
    True
    """
    n_docs = None if n_docs is None else whole("n_docs", n_docs, 0)
    batch_size, n_topics = whole("batch_size", batch_size), whole("n_topics", n_topics)
    n_words = whole("n_words", n_words)
    if n_words < n_topics:
        raise InputError(f"must be at least n_topics={n_topics}, got {n_words}.", "n_words")
    alpha = np.full(n_topics, _positive("doc_topic_prior", doc_topic_prior))
    n_tokens = _positive("n_tokens", n_tokens)
    n_new = whole("new_words_per_batch", new_words_per_batch, 0)
    seed, first_batch = whole("random_state", random_state, 0), whole("first_batch", first_batch, 0)

    def batches() -> Iterator[list[dict[str, float]]]:  # mistakes are raised before
        age = np.sin(np.pi * (np.arange(n_words) + 0.5) / n_words)
        for index in count(first_batch):
            size = batch_size if n_docs is None else min(batch_size, n_docs - index * batch_size)
            if size <= 0:
                return
            rng = np.random.default_rng([seed, index])
            ids = index * n_new + np.arange(n_words)
            # multiples of the golden ratio, modulo 1: spread evenly, never in step with the topics
            weight = age / (0.02 + ids * 0.6180339887498949 % 1.0)
            topics = owned_topics(weight, ids % n_topics, n_topics)
            X = draw_counts(rng, rng.dirichlet(alpha, size), np.cumsum(topics, axis=1), n_tokens)
            names = np.array([f"w{i}" for i in ids.tolist()], object)
            words, counts = names[X.indices].tolist(), X.data.tolist()
            yield [
                dict(zip(words[begin:end], counts[begin:end], strict=True))
                for begin, end in pairwise(X.indptr.tolist())
            ]

    return batches()


def owned_topics(
    weight: NDArray[np.float64], owner: NDArray[np.integer[Any]], n_topics: int
) -> NDArray[np.float64]:
    """Return topics with most of their mass on the words they own, in proportion to weight."""
    own = np.where(owner == np.arange(n_topics)[:, None], weight, 0.0)
    own /= own.sum(axis=1, keepdims=True)
    topics: NDArray[np.float64] = 0.9 * own + (1 - 0.9) * weight / weight.sum()
    return topics


def _positive(name: str, value: Any) -> float:
    return number(name, value, 0, 1e6, above=True)


def draw_counts(
    rng: np.random.Generator,
    mixtures: NDArray[np.float64],
    cumulative: NDArray[np.float64],
    n_tokens: float,
) -> sparse.csr_array:
    """Draw a document per mixture from topics, given as cumulative sums over the words."""
    n_docs, n_topics = mixtures.shape
    lengths = np.maximum(rng.poisson(n_tokens, n_docs), 1)
    per_topic = rng.multinomial(lengths, mixtures)
    rows = [np.repeat(np.arange(n_docs, dtype=np.int32), per_topic[:, k]) for k in range(n_topics)]
    # the first word whose sum exceeds the draw: words of probability zero are never it
    words = [
        np.searchsorted(sums, rng.random(len(row)) * sums[-1], side="right").astype(np.int32)
        for sums, row in zip(cumulative, rows, strict=True)
    ]
    entries = (np.concatenate(rows), np.concatenate(words))
    tokens = np.ones(len(entries[0]), np.float32)
    return sparse.csr_array((tokens, entries), shape=(n_docs, cumulative.shape[1]))
