"""The parts of a topic: topics of the tokens that are its own."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import learning
from opelda.engines import Engine
from opelda.engines.seam import HostWeights, Weights
from opelda.errors import InputError
from opelda.learning.streaming._window import Assignments

DOCS_AT_ONCE = 1024
# Less of a token than this is no sign of the topic, and a document with less than two tokens of it
# says nothing of what goes together.
LEAST_OF_TOKEN, LEAST_TOKENS = 0.05, 2.0
# Small, for most documents are about one of the parts; and given: one that is learned would begin
# by giving a part to common words.
PRIOR = 0.1
DRAWS = 5  # of the parts that a window's tokens begin with


@dataclass(frozen=True)
class Parts:
    """Parts of a topic, the heaviest first."""

    weights: Weights  # of the parts alone
    shares: NDArray[np.float64]  # (V, parts) of each word's weight in the topic
    sizes: NDArray[np.float64]  # (parts,) of all of it


def expected_counts(
    X: sparse.csr_array, theta: NDArray[Any], topics: NDArray[Any], topic: int
) -> sparse.csr_array:
    """Return the counts of documents that are expected to be of a topic.

    Of d_j those are d_j theta_dk beta_kj / sum_k theta_dk beta_kj.
    """
    data = np.zeros(X.nnz)
    for first in range(0, X.shape[0], DOCS_AT_ONCE):
        ends = X.indptr[first : first + DOCS_AT_ONCE + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        documents = np.repeat(np.arange(first, first + len(ends) - 1), np.diff(ends))
        words, slots = np.unique(X.indices[here], return_inverse=True)
        beta = np.ascontiguousarray(topics[:, words].T, np.float64)
        all_ = np.einsum("ik,ik->i", theta[documents], beta[slots])
        own = theta[documents, topic] * beta[slots, topic]
        data[here] = X.data[here] * own / np.maximum(all_, 1e-300)
    kept = data >= LEAST_OF_TOKEN
    ends = np.concatenate(([0], np.cumsum(kept)))[X.indptr]
    return sparse.csr_array((data[kept], X.indices[kept], ends), shape=X.shape)


def token_counts(kept: Assignments, topic: int, n_words: int) -> sparse.csr_array:
    """Return how many tokens of each document are of a topic, by word."""
    documents = np.repeat(np.arange(kept.rows.n_docs), np.diff(kept.ends))
    own = kept.topics == topic
    cells = np.ones(int(own.sum()), np.float32), (documents[own], kept.token_words[own])
    shape = kept.rows.n_docs, n_words
    return sparse.csr_array(sparse.coo_array(cells, shape=shape))


def parts_of(
    counts: sparse.csr_array, weights: NDArray[Any], n_parts: int, seed: int, **machine: Any
) -> Parts:
    """Learn so many topics from the tokens of one, whose words have these weights."""
    told = counts[np.flatnonzero(counts.sum(axis=1) >= LEAST_TOKENS)]
    if told.shape[0] < n_parts:
        raise InputError(
            f"Only {told.shape[0]} of the documents have two tokens of the topic, which are too "
            f"few to split it into {n_parts}; give more documents that it is in."
        )
    # words by their own numbers would be laid out for nothing
    words = np.unique(told.indices)
    model = learning.TopicModel(n_parts, doc_topic_prior=PRIOR, random_state=seed, **machine)
    model.fit(told[:, words])
    host = model._state.weights.host()
    rows = np.zeros((counts.shape[1], n_parts), np.float32)
    rows[words] = host.scale * host.rows
    prior = np.full(counts.shape[1], np.mean(host.prior), np.float32)
    prior[words] = host.prior
    sizes = rows.sum(axis=0, dtype=np.float64)
    sizes /= sizes.sum()
    shares = rows + prior[:, np.newaxis] * sizes
    shares /= shares.sum(axis=1, keepdims=True)
    order = np.argsort(-(weights @ shares), kind="stable")
    return Parts(
        model._engine().weights(HostWeights(rows[:, order], prior, 1.0, 1.0)),
        shares[:, order],
        sizes[order],
    )


def drawn_parts(
    engine: Engine, parts: Parts, counts: sparse.csr_array, seed: int
) -> NDArray[np.uint16]:
    """Return a part for each of the tokens that were counted, document by document."""
    tokens: Any = engine.tokens(engine.documents(counts), len(parts.sizes))
    engine.sweep(parts.weights, tokens, parts.sizes, seed=seed, n_draws=DRAWS)
    topics: NDArray[np.uint16] = tokens.topics
    return topics
