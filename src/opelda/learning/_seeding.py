"""A start from documents far apart from each other: every topic begins with the words of one."""

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

LOOKED_AT = 20  # documents per topic


def begin(plan: Plan, state: State, documents: Documents) -> None:
    """Let topics begin with documents, as the schedule and seed words say."""
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
    """Add to each topic of a random start the words of a document, weighing as much as the start.

    Topics of seed words begin with those of documents that hold these, and the `rest`, if it is
    wanted, with documents far from them too. The start stays as it is for more than 1,000 topics,
    where looking would take longer than learning, and where no such documents are found.
    """
    begun: dict[int, sparse.csr_array] = {}
    if pull is not None:
        begun = _holding(pull, documents, documents.order(seed, 0))
    others = [topic for topic in range(weights.n_topics) if topic not in begun]
    found = dict(begun)
    if rest and others and weights.n_topics <= 1000:
        looked_at = documents.order(seed, 0, LOOKED_AT * weights.n_topics)
        if pull is not None:  # documents with a seed word have a topic, unless too few are left
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
    finally:  # also of a start that is interrupted
        weights.recount()


def _rows(documents: Documents, chosen: NDArray[np.int64]) -> sparse.csr_array:
    """Return some documents in double precision, without zeros that are stored."""
    rows = Documents(documents.matrix[chosen]).part()
    parts = rows.counts.astype(np.float64), rows.words, rows.indptr
    return sparse.csr_array(parts, shape=(rows.n_docs, documents.n_words))


def _holding(
    pull: Pull, documents: Documents, order: NDArray[np.int64]
) -> dict[int, sparse.csr_array]:
    """Return by topic the mean of the up to 50 documents that hold most of its seed words.

    Words count by how rare they are, in a document by how many others it has; ties go by order.
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
    """Choose a document for each topic, far from each other and those that topics have begun with.

    They are far by `Engine.far_apart`, words weighed by how rare they are; None where too few
    differ.
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
