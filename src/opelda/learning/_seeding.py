"""Start topics from documents that hold seed words, and from clusters of documents."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda.engines.seam import Documents, Weights
from opelda.learning._plan import Plan
from opelda.learning._seeds import Pull
from opelda.learning._state import State

N_DIMENSIONS = 100  # of the space of words and documents


def begin(plan: Plan, state: State, documents: Documents) -> None:
    """Start topics from documents if the schedule or seed words ask for it."""
    rest = plan.schedule.init == "documents"
    if rest or plan.seeds is not None:
        pull, vectors = plan.pull(state), plan.embeddings
        seed_topics(state.weights, documents, state.seed, pull, rest=rest, vectors=vectors)


def n_clustered(n_topics: int) -> int:
    """Return how many documents are clustered."""
    return max(5000, 20 * n_topics)


def seed_topics(
    weights: Weights,
    documents: Documents,
    seed: int,
    pull: Pull | None = None,
    *,
    rest: bool = True,
    vectors: NDArray[np.float32] | None = None,
) -> None:
    """Add the words of documents to each topic of a random start, with the weight of the start.

    Seeded topics start from documents that hold their words; with `rest`, other topics start from
    clusters of documents, or of their vectors, if given. More than 1,000 topics keep the random
    start: clustering would take longer than learning.
    """
    found: dict[int, sparse.csr_array] = {}
    if pull is not None:
        found = _holding(pull, documents, documents.order(seed, 0))
    others = [topic for topic in range(weights.n_topics) if topic not in found]
    if rest and others and weights.n_topics <= 1000:
        looked_at = documents.order(seed, 0, n_clustered(weights.n_topics))
        if pull is not None:  # leave out documents with seed words, if enough others remain
            has = sparse.csr_array(documents.matrix[looked_at][:, pull.columns])
            free = looked_at[np.diff(has.indptr) == 0]
            looked_at = free if len(free) >= 2 * len(others) else looked_at
        X, rng = rows_of(documents, looked_at), np.random.default_rng([seed, 5])
        with threadpool_limits(1):  # many threads are slower beside other programs
            space = embedded(X, rng) if vectors is None else directions(vectors[looked_at])
            clustered = clusters(space, len(others), rng)
        if clustered is not None:
            cluster = clustered[0]
            shares = sparse.diags_array(1.0 / np.maximum(X.sum(axis=1), 1e-300)) @ X
            sums = sparse.csr_array(sums_by(cluster, len(others), shares))
            found |= {topic: sums[[row]] for row, topic in enumerate(others)}
    if not found:
        return
    try:
        for topic, row in found.items():
            weights.add(topic, row.indices, weights.n_words * row.data / row.data.sum())
    finally:  # also after an interruption
        weights.recount()


def rows_of(documents: Documents, chosen: NDArray[np.int64]) -> sparse.csr_array:
    """Return documents in double precision, without stored zeros."""
    rows = Documents(documents.matrix[chosen]).part()
    parts = rows.counts.astype(np.float64), rows.words, rows.indptr
    return sparse.csr_array(parts, shape=(rows.n_docs, documents.n_words))


def _holding(
    pull: Pull, documents: Documents, order: NDArray[np.int64]
) -> dict[int, sparse.csr_array]:
    """Return by topic the mean of at most 50 documents with the largest share of seed words.

    Rare seed words count more; `order` resolves ties.
    """
    X = documents.matrix
    has: Any = (X[:, pull.columns] > 0).astype(np.float64)[order]
    rarity = np.log1p(X.shape[0] / np.maximum(has.sum(axis=0), 1.0))
    length = np.sqrt(np.maximum(np.diff(X.indptr)[order], 1))
    found = {}
    for topic in np.unique(pull.topics).tolist():
        own = np.where(pull.topics == topic, rarity, 0.0)
        score = (has @ own) / length
        best = np.argsort(-score, kind="stable")[:50]
        best = best[score[best] > 0]
        if len(best):
            rows = rows_of(documents, order[best])
            shares = sparse.diags_array(1.0 / rows.sum(axis=1)) @ rows
            found[topic] = sparse.csr_array(shares.sum(axis=0)[None, :])
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


def directions(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length 1, or 0."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(length > 1e-6, rows / np.maximum(length, 1e-6), 0.0)


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
