"""A start from documents far apart from each other: every topic begins with the words of one."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._documents import Documents
from opelda.engines._weights import Weights

LOOKED_AT = 20  # documents per topic
MOST_TOPICS = 1000  # with more, looking would take longer than learning


def seed_topics(weights: Weights, documents: Documents, seed: int) -> None:
    """Add to each topic of a random start the words of a document, weighing as much as the start.

    Leaves the start as it is where there are too many topics, or no such documents are found.
    """
    if weights.n_topics > MOST_TOPICS:
        return
    looked_at = documents.order(seed, 0, LOOKED_AT * weights.n_topics)
    rows = Documents(documents.matrix[looked_at]).part()
    parts = rows.counts.astype(np.float64), rows.words, rows.indptr
    X = sparse.csr_array(parts, shape=(rows.n_docs, documents.n_words))
    chosen = far_apart(X, weights.n_topics, np.random.default_rng([seed, 5]))
    if chosen is None:
        return
    try:
        for topic, document in enumerate(chosen):
            part = slice(X.indptr[document], X.indptr[document + 1])
            counts = X.data[part]
            weights.add(topic, X.indices[part], weights.n_words * counts / counts.sum())
    finally:  # also of a start that is interrupted
        weights.recount()


def far_apart(
    X: sparse.csr_array, n_topics: int, rng: np.random.Generator
) -> NDArray[np.int64] | None:
    """Choose documents as k-means++ does (Arthur & Vassilvitskii 2007), one for each topic.

    A document's chance grows with the square of its distance from those chosen before: one less the
    cosine of the two, words weighed by how rare they are. None where too few documents differ.

    >>> X = sparse.csr_array(np.kron(np.eye(3), np.ones((5, 4))))
    >>> chosen = far_apart(X, 3, np.random.default_rng(0))
    >>> sorted(int(document) // 5 for document in chosen)
    [0, 1, 2]
    """
    if n_topics > X.shape[0]:
        return None
    weighed = _weighed(X)
    columns = weighed.tocsc()
    chosen: list[int] = []
    nearest = np.zeros(X.shape[0])
    distance = np.asarray(np.diff(weighed.indptr) > 0, np.float64)  # empty documents say nothing
    for _ in range(n_topics):
        ends = np.cumsum(distance**2)
        if not ends[-1] > 0:
            return None
        chosen.append(int(np.searchsorted(ends, rng.random() * ends[-1], side="right")))
        here = slice(weighed.indptr[chosen[-1]], weighed.indptr[chosen[-1] + 1])
        # the columns of its words alone: the product with the whole matrix takes 30 times as long
        cosines = columns[:, weighed.indices[here]] @ weighed.data[here]
        nearest = np.maximum(nearest, cosines)
        distance = np.where(distance > 0, np.maximum(1.0 - nearest, 0.0), 0.0)
        distance[chosen] = 0.0
        distance[distance < 1e-9] = 0.0  # the same words as one that was chosen
    return np.array(chosen)


def _weighed(X: sparse.csr_array) -> sparse.csr_array:
    """Rows of length 1: log(1 + count) times log(1 + documents / documents with the word)."""
    frequency = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
    rarity = np.log1p(X.shape[0] / np.maximum(frequency, 1))
    data = np.log1p(X.data.astype(np.float64)) * rarity[X.indices]
    weighed = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    length = np.sqrt(weighed.multiply(weighed).sum(axis=1))
    scale = sparse.diags_array(1.0 / np.where(length > 0, length, 1.0))
    return sparse.csr_array(scale @ weighed)
