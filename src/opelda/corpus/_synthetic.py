"""Documents drawn from topics that are known, to test and measure with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number, whole
from opelda.errors import InputError

DOCUMENTS_AT_ONCE = 4096
OWN_SHARE = 0.9


@dataclass(frozen=True)
class Generated:
    """Documents and what they were drawn from.

    Attributes
    ----------
    X : CSR array (D, V), float32
        Word counts.
    topics : float64 array (K, V)
    mixtures : float64 array (D, K)

    Examples
    --------
    >>> made = generate(10, n_words=50, n_topics=3)
    >>> made.X.shape, made.topics.shape, made.mixtures.shape
    ((10, 50), (3, 50), (10, 3))
    """

    X: sparse.csr_array
    topics: NDArray[np.float64]
    mixtures: NDArray[np.float64]


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
        Easy topics instead of drawn ones: each has 90% of its mass on a block of words of its own,
        where the n-th word has a share in proportion to 1/n; the rest is spread over all blocks.
    random_state : int, Generator or None
        What `numpy.random.default_rng` takes.

    Returns
    -------
    Generated

    Examples
    --------
    >>> made = generate(1000, n_words=60, n_topics=3, separated=True)
    >>> made.topics[:, :20].sum(axis=1).round(2)
    array([0.93, 0.03, 0.03])
    """
    n_docs = whole("n_docs", n_docs, 0)
    n_words = whole("n_words", n_words)
    n_topics = whole("n_topics", n_topics)
    n_tokens = number("n_tokens", n_tokens, 0, 1e6, above=True)
    alpha = number("doc_topic_prior", doc_topic_prior, 0, 1e6, above=True)
    eta = number("topic_word_prior", topic_word_prior, 0, 1e6, above=True)
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
    parts = [
        draw_counts(rng, mixtures[first : first + DOCUMENTS_AT_ONCE], cumulative, n_tokens)
        for first in range(0, max(n_docs, 1), DOCUMENTS_AT_ONCE)
    ]
    return Generated(sparse.vstack(parts, format="csr"), topics, mixtures)


def owned_topics(
    weight: NDArray[np.float64], owner: NDArray[np.integer[Any]], n_topics: int
) -> NDArray[np.float64]:
    """Return topics with most of their mass on the words they own, in proportion to weight."""
    own = np.where(owner == np.arange(n_topics)[:, None], weight, 0.0)
    own /= own.sum(axis=1, keepdims=True)
    topics: NDArray[np.float64] = OWN_SHARE * own + (1 - OWN_SHARE) * weight / weight.sum()
    return topics


def draw_counts(
    rng: np.random.Generator,
    mixtures: NDArray[np.float64],
    cumulative: NDArray[np.float64],
    n_tokens: float,
) -> sparse.csr_array:
    """Draw a document per mixture: how many tokens, how many of each topic, and their words.

    `cumulative` are the sums of each topic's probabilities up to a word.
    """
    n_docs, n_topics = mixtures.shape
    lengths = np.maximum(rng.poisson(n_tokens, n_docs), 1)
    per_topic = rng.multinomial(lengths, mixtures)
    rows = [np.repeat(np.arange(n_docs, dtype=np.int32), per_topic[:, k]) for k in range(n_topics)]
    words = [_draw_words(rng, sums, len(row)) for sums, row in zip(cumulative, rows, strict=True)]
    place = (np.concatenate(rows), np.concatenate(words))
    tokens = np.ones(len(place[0]), np.float32)
    return sparse.csr_array((tokens, place), shape=(n_docs, cumulative.shape[1]))


def _draw_words(
    rng: np.random.Generator, cumulative: NDArray[np.float64], n_tokens: int
) -> NDArray[np.int32]:
    # the first word whose sum exceeds the draw: words of probability zero are never it
    draws = rng.random(n_tokens) * cumulative[-1]
    words: NDArray[np.int32] = np.searchsorted(cumulative, draws, side="right").astype(np.int32)
    return words
