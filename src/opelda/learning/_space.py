"""Spaces in which similar documents are near, and clusters of documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda.engines.seam import Documents
from opelda.inference._groups import Groups, directions

N_DIMENSIONS = 100  # of spaces made from the documents
LOOKED_AT = 20_000  # documents
MOST_PAIRS = 50_000_000  # of words that are counted for vectors of words


@dataclass(frozen=True)
class Space:
    """Places of documents: directions of sums of the vectors of words, beside given vectors."""

    words: NDArray[np.float32]  # (V, n)
    documents: NDArray[np.float32] | None = None  # (D, m), given by the user

    def places(self, X: sparse.csr_array, chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return directions of the documents X, whose numbers are `chosen`; 0 for none."""
        logs = sparse.csr_array((np.log1p(X.data), X.indices, X.indptr), shape=X.shape)
        found = directions((logs @ self.words).astype(np.float32))
        if self.documents is None:
            return found
        return directions(np.hstack((found, directions(self.documents[chosen]))))

    def groups(self, centres: NDArray[np.float32], n_topics: int) -> Groups:
        """Return groups for centres of clusters, which add nothing yet."""
        n, added = self.words.shape[1], np.zeros((len(centres), n_topics))
        axes = np.ascontiguousarray(self.words @ centres[:, :n].T, np.float32)
        if self.documents is None:
            return Groups(axes, added)
        return Groups(axes, added, self.words, np.ascontiguousarray(centres[:, n:].T))


def rows_of(documents: Documents, chosen: NDArray[np.int64]) -> sparse.csr_array:
    """Return documents in double precision, without stored zeros."""
    rows = Documents(documents.matrix[chosen]).part()
    parts = rows.counts.astype(np.float64), rows.words, rows.indptr
    return sparse.csr_array(parts, shape=(rows.n_docs, documents.n_words))


def own_space(documents: Documents, seed: int, given: NDArray[np.float32] | None = None) -> Space:
    """Return the space of vectors that the documents give to words, beside given vectors."""
    X = rows_of(documents, documents.order(seed, 0, LOOKED_AT))
    with threadpool_limits(1):  # many threads are slower beside other programs
        return Space(_attraction(X, np.random.default_rng([seed, 6])), given)


def _attraction(X: sparse.csr_array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a vector per word (V, n), whose products approximate how words attract each other.

    The matrix is the positive pointwise mutual information of words in documents (Levy & Goldberg
    2014), smaller for rare pairs, by a randomised eigendecomposition (Halko et al. 2011). Words of
    fewer than five documents are 0; rarer words are longer.
    """
    X = X[: int(np.searchsorted(np.cumsum(np.diff(X.indptr) ** 2.0), MOST_PAIRS)) + 1]
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    known = np.flatnonzero(frequency >= 5)
    found = np.zeros((X.shape[1], N_DIMENSIONS), np.float32)
    if not len(known):
        return found
    has = X[:, known].astype(np.float32)
    has.data[:] = 1.0
    pairs = sparse.csr_array(has.T @ has)
    pairs.setdiag(0.0)
    pairs.eliminate_zeros()
    times = pairs.sum(axis=1).astype(np.float64)
    word = np.repeat(np.arange(len(known)), np.diff(pairs.indptr))
    attraction = np.log(pairs.data * (times.sum() / times[word]) / times[pairs.indices])
    pairs.data = np.maximum(attraction * pairs.data / (pairs.data + 5.0), 0.0).astype(np.float32)
    Q = rng.standard_normal((len(known), min(N_DIMENSIONS, len(known))), np.float32)
    for _ in range(3):
        Q, _ = np.linalg.qr(pairs @ Q)
    values, axes = np.linalg.eigh((Q.T @ (pairs @ Q)).astype(np.float64))
    lengths = np.sqrt(np.maximum(values, 0.0))
    rarity = np.log1p(X.shape[0] / np.maximum(frequency[known], 1))
    found[known, : len(lengths)] = rarity[:, np.newaxis] * (Q @ (axes * lengths))
    return found


def clusters(
    space: NDArray[np.float32], n_clusters: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]] | None:
    """Return the cluster of each direction, -1 for 0, and the centres; None if too few differ.

    k-means (Lloyd 1982) starts from the best of several runs on 100 documents per cluster.
    """
    has_place = space.any(axis=1)
    rows = space[has_place]
    some, runs = rows[: 100 * n_clusters], []
    for _ in range(min(10, max(1, 200 // n_clusters))):
        centres = _spread(some, n_clusters, rng)
        if centres is None:
            return None
        runs.append(_k_means(some, centres))
    cluster = np.full(len(space), -1)
    cluster[has_place], centres, _ = _k_means(rows, max(runs, key=lambda run: run[2])[1])
    return cluster, centres


def embedded(X: sparse.csr_array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a direction per document, the mean direction of its words; 0 without frequent words.

    Latent semantic analysis (Deerwester et al. 1990) places words that occur in two documents, by a
    randomised singular value decomposition (Halko et al. 2011). A count weighs
    log(1 + count) log(1 + documents / documents with the word), in rows of length 1.
    """
    frequency = np.bincount(X.indices, minlength=X.shape[1])
    rarity = np.log1p(X.shape[0] / np.maximum(frequency, 1))
    data = np.log1p(X.data) * rarity[X.indices]
    weighed = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    length = np.sqrt(weighed.multiply(weighed).sum(axis=1))
    unit = sparse.csr_array(sparse.diags_array(1.0 / np.maximum(length, 1e-300)) @ weighed)
    A = unit[:, np.flatnonzero(frequency >= 2)].astype(np.float32)
    across, n = sparse.csr_array(A.T), min(N_DIMENSIONS, *A.shape)
    Q, _ = np.linalg.qr(A @ (across @ rng.standard_normal((X.shape[0], n), np.float32)))
    B = across @ Q
    squares, axes = np.linalg.eigh((B.T @ B).astype(np.float64))
    is_real = squares > 1e-5 * squares.max(initial=0.0)
    words = directions(B @ (axes[:, is_real] * squares[is_real] ** -0.25).astype(np.float32))
    return directions(A @ words)


def _spread(
    rows: NDArray[np.float32], n_clusters: int, rng: np.random.Generator
) -> NDArray[np.float32] | None:
    """Choose directions that are far apart, by k-means++ (Arthur & Vassilvitskii 2007)."""
    chosen: list[int] = []
    distance = np.ones(len(rows), np.float32)
    for draw in rng.random(n_clusters):
        ends = np.cumsum(distance)
        if not len(rows) or not ends[-1] > 0:
            return None
        chosen.append(int(np.searchsorted(ends, draw * ends[-1], side="right")))
        apart = 1.0 - rows @ rows[chosen[-1]]
        distance = np.minimum(distance, np.where(apart > 1e-5, apart, 0.0))
    return rows[chosen]


def _k_means(rows: NDArray[np.float32], centres: NDArray[np.float32]) -> Any:
    """Return clusters, their centres and the sum of cosines to these, after ten iterations."""
    for _ in range(10):
        cosines = rows @ centres.T
        cluster = cosines.argmax(axis=1)
        means = directions(sums_by(cluster, len(centres), rows))
        centres = np.where(means.any(axis=1, keepdims=True), means, centres)
    return cluster, centres, float(cosines.max(axis=1).sum())


def sums_by(cluster: NDArray[np.int64], n_clusters: int, rows: Any) -> Any:
    """Return the sum of the rows of each cluster."""
    (members,) = np.nonzero(cluster >= 0)
    cells = np.ones(len(members), np.float32), (cluster[members], members)
    return sparse.csr_array(cells, shape=(n_clusters, len(cluster))) @ rows
