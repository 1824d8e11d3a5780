"""Start topics from documents that hold seed words, and from clusters of documents."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda.engines.seam import Documents, Weights
from opelda.learning._plan import Plan
from opelda.learning._seeds import Pull
from opelda.learning._space import Space, clusters, embedded, rows_of, sums_by
from opelda.learning._state import State

Rows = dict[int, sparse.csr_array]  # the words of topics


def begin(plan: Plan, state: State, documents: Documents, given: Rows | None = None) -> None:
    """Start topics from documents if the schedule or seed words ask for it, or `given` words."""
    rest = plan.schedule.init == "documents" and not given
    if rest or plan.seeds is not None or given:
        how: Any = {"rest": rest, "space": plan.space, "given": given}
        seed_topics(state.weights, documents, state.seed, plan.pull(state), **how)


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
    space: Space | None = None,
    given: Rows | None = None,
) -> None:
    """Add the words of documents to each topic of a random start, with the weight of the start.

    Seeded topics start from documents that hold their words; with `rest`, other topics start from
    clusters of documents in a space, by default that of latent semantic analysis. More than 1,000
    topics keep the random start: clustering would take longer than learning.
    """
    found = dict(given or {})
    if pull is not None:
        found |= _holding(pull, documents, documents.order(seed, 0))
    others = [topic for topic in range(weights.n_topics) if topic not in found]
    if rest and others and weights.n_topics <= 1000:
        looked_at = documents.order(seed, 0, n_clustered(weights.n_topics))
        if pull is not None:  # leave out documents with seed words, if enough others remain
            has = sparse.csr_array(documents.matrix[looked_at][:, pull.columns])
            free = looked_at[np.diff(has.indptr) == 0]
            looked_at = free if len(free) >= 2 * len(others) else looked_at
        X, rng = rows_of(documents, looked_at), np.random.default_rng([seed, 5])
        with threadpool_limits(1):  # many threads are slower beside other programs
            places = embedded(X, rng) if space is None else space.places(X, looked_at)
            clustered = clusters(places, len(others), rng)
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
