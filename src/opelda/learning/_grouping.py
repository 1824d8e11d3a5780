"""Find groups of similar documents for the prior of mixtures."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda._validation import whole
from opelda.engines.seam import MIXTURES, Documents
from opelda.errors import InputError
from opelda.inference._groups import Groups, infer_members
from opelda.inference._infer import as_prior, as_task
from opelda.learning._seeding import (
    N_DIMENSIONS,
    clusters,
    directions,
    n_clustered,
    rows_of,
    sums_by,
)

# Groups help documents of a few words, and cost time: by default only these have groups.
MOST_TOKENS, LEAST_DOCS = 25, 1000
LOOKED_AT = 20_000  # documents
MOST_GROUPS = 1000
STRENGTH = 0.75  # of a group, in mean document lengths


def number_of_groups(
    given: int | None, matrix: sparse.csr_array, n_topics: int, embeddings: Any
) -> int:
    """Return the given number of groups; for None K for short texts and embeddings, else 0."""
    if given is not None:
        if not whole("n_groups", given, 0, MOST_GROUPS) and embeddings is not None:
            raise InputError("has no effect with n_groups=0; remove one of the two.", "embeddings")
        return given
    n_docs = matrix.shape[0]
    is_short = n_docs >= LEAST_DOCS and matrix.sum() <= MOST_TOKENS * n_docs
    return min(n_topics, MOST_GROUPS) if is_short or embeddings is not None else 0


def find_groups(
    model: Any, documents: Documents, n_groups: int, embeddings: NDArray[np.float32] | None
) -> Groups | None:
    """Cluster documents, and find the mixtures of each cluster; None if too few differ."""
    state = model._state
    chosen, rng = documents.order(state.seed, 0, LOOKED_AT), np.random.default_rng([state.seed, 6])
    X = rows_of(documents, chosen)
    vectors = None if embeddings is None else embeddings[chosen]
    with threadpool_limits(1):
        if vectors is None:
            words = word_vectors(X, rng)
            logs = sparse.csr_array((np.log1p(X.data), X.indices, X.indptr), shape=X.shape)
            space = directions((logs @ words).astype(np.float32))
        else:
            space = directions(vectors)
        found = clusters(space[: n_clustered(n_groups)], n_groups, rng)
        if found is None:
            return None
        axes = found[1].T if vectors is not None else words @ found[1].T
    n_topics = state.weights.n_topics
    axes = np.ascontiguousarray(axes, np.float32)
    groups = Groups(axes, np.zeros((n_groups, n_topics)), vectors is None)
    engine, member = model._engine(), groups.members(X, vectors)
    assert member is not None  # with vectors, every document has a place
    some, alpha = engine.documents(X), as_prior(model.doc_topic_prior, n_topics)
    task, shares = as_task(model._transform_method(), alpha, state.seed, None), groups.added
    full = STRENGTH * float(X.sum()) / max(X.shape[0], 1)
    for strength in (0.0, full):
        known = replace(groups, added=strength * shares)
        solution = infer_members(engine, state.weights, some, task, MIXTURES, known, member)
        theta = sums_by(member, n_groups, np.asarray(solution.theta, np.float64))
        n_members = np.bincount(member[member >= 0], minlength=n_groups)[:, np.newaxis]
        shares = (theta + alpha / alpha.sum()) / (n_members + 1)
    return replace(groups, added=full * shares)


def word_vectors(X: sparse.csr_array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return a vector per word (V, n), whose products approximate how words attract each other.

    The matrix is the positive pointwise mutual information of words in documents (Levy & Goldberg
    2014), smaller for rare pairs, by a randomised eigendecomposition (Halko et al. 2011). Words of
    fewer than five documents are 0; rarer words are longer.
    """
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
