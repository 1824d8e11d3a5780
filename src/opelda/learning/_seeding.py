"""Start topics from documents: documents that hold seed words, and distant documents."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines import Engine
from opelda.engines.seam import Documents, Weights
from opelda.learning._plan import Plan
from opelda.learning._seeds import Pull
from opelda.learning._state import State

LOOKED_AT = 20  # candidate documents per topic


def begin(plan: Plan, state: State, documents: Documents) -> None:
    """Start topics from documents if the schedule or seed words ask for it."""
    rest = plan.schedule.init == "documents"
    if rest or plan.seeds is not None:
        pull = plan.pull(state)
        seed_topics(plan.engine, state.weights, documents, state.seed, pull, rest=rest)


def seed_topics(
    engine: Engine,
    weights: Weights,
    documents: Documents,
    seed: int,
    pull: Pull | None = None,
    *,
    rest: bool = True,
) -> None:
    """Add the words of a document to each topic of a random start, with the weight of the start.

    Seeded topics start from documents that hold their words; with `rest`, other topics start from
    documents far from these and from each other. More than 1,000 topics keep the random start: the
    search would take longer than learning.
    """
    begun: dict[int, sparse.csr_array] = {}
    if pull is not None:
        begun = _holding(pull, documents, documents.order(seed, 0))
    others = [topic for topic in range(weights.n_topics) if topic not in begun]
    found = dict(begun)
    if rest and others and weights.n_topics <= 1000:
        looked_at = documents.order(seed, 0, LOOKED_AT * weights.n_topics)
        if pull is not None:  # leave out documents with seed words, if enough others remain
            has = sparse.csr_array(documents.matrix[looked_at][:, pull.columns])
            free = looked_at[np.diff(has.indptr) == 0]
            looked_at = free if len(free) >= 2 * len(others) else looked_at
        X = _rows(documents, looked_at)
        rng = np.random.default_rng([seed, 5])
        chosen = far_apart(engine, X, len(others), rng, list(begun.values()))
        if chosen is not None:
            found |= {topic: X[[row]] for topic, row in zip(others, chosen, strict=True)}
    if not found:
        return
    try:
        for topic, row in found.items():
            weights.add(topic, row.indices, weights.n_words * row.data / row.data.sum())
    finally:  # also after an interruption
        weights.recount()


def _rows(documents: Documents, chosen: NDArray[np.int64]) -> sparse.csr_array:
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
            rows = _rows(documents, order[best])
            shares = sparse.diags_array(1.0 / rows.sum(axis=1)) @ rows
            found[topic] = sparse.csr_array(shares.sum(axis=0)[None, :])
    return found


def far_apart(
    engine: Engine,
    X: sparse.csr_array,
    n_topics: int,
    rng: np.random.Generator,
    begun: Sequence[sparse.csr_array] = (),
) -> NDArray[np.int64] | None:
    """Choose a document per topic, far from `begun` and from each other (`Engine.far_apart`).

    Return None if too few documents differ.
    """
    if n_topics > X.shape[0]:
        return None
    rows = sparse.csr_array(sparse.vstack((X, *begun))) if len(begun) else X
    return engine.far_apart(_weighed(rows), rng.random(n_topics), len(begun))


def _weighed(X: sparse.csr_array) -> sparse.csr_array:
    """Return rows of length 1: log(1 + count) log(1 + documents / documents with the word)."""
    frequency = np.bincount(X.indices[X.data > 0], minlength=X.shape[1])
    rarity = np.log1p(X.shape[0] / np.maximum(frequency, 1))
    data = np.log1p(X.data.astype(np.float64)) * rarity[X.indices]
    weighed = sparse.csr_array((data, X.indices, X.indptr), shape=X.shape)
    length = np.sqrt(weighed.multiply(weighed).sum(axis=1))
    scale = sparse.diags_array(1.0 / np.where(length > 0, length, 1.0))
    return sparse.csr_array(scale @ weighed)
