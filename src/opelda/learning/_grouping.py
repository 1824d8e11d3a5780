"""Find groups of similar documents for the prior of mixtures."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda._validation import whole
from opelda.engines.seam import MIXTURES, Documents
from opelda.errors import InputError
from opelda.inference._groups import Groups, infer_members
from opelda.inference._infer import as_prior, as_task
from opelda.learning._seeding import n_clustered
from opelda.learning._space import LOOKED_AT, Space, clusters, rows_of, sums_by

# Groups help documents of a few words, and cost time: by default only these have groups.
MOST_TOKENS, LEAST_DOCS = 25, 1000
MOST_GROUPS = 1000
STRENGTH, WITH_VECTORS = 0.75, 1.5  # of a group, in mean document lengths


def are_short(matrix: sparse.csr_array) -> bool:
    """Whether documents are many and short, so that groups are worth their time."""
    n_docs = matrix.shape[0]
    return bool(n_docs >= LEAST_DOCS and matrix.sum() <= MOST_TOKENS * n_docs)


def number_of_groups(given: int | None, n_topics: int, *, useful: bool, embeddings: bool) -> int:
    """Return the given number of groups; for None K if they are useful, else 0."""
    if given is None:
        return min(n_topics, MOST_GROUPS) if useful or embeddings else 0
    if not whole("n_groups", given, 0, MOST_GROUPS) and embeddings:
        raise InputError("has no effect with n_groups=0; remove one of the two.", "embeddings")
    return given


def find_groups(model: Any, documents: Documents, n_groups: int, space: Space) -> Groups | None:
    """Cluster documents, and find the mixtures of each cluster; None if too few differ."""
    state = model._state
    chosen, rng = documents.order(state.seed, 0, LOOKED_AT), np.random.default_rng([state.seed, 7])
    X = rows_of(documents, chosen)
    n = n_clustered(n_groups)
    with threadpool_limits(1):
        found = clusters(space.places(X[:n], chosen[:n]), n_groups, rng)
        if found is None:
            return None
        n_topics = state.weights.n_topics
        groups = space.groups(found[1], n_topics)
    given = None if space.documents is None else space.documents[chosen]
    engine, member = model._engine(), groups.members(X, given)
    some, alpha = engine.documents(X), as_prior(model.doc_topic_prior, n_topics)
    task, shares = as_task(model._transform_method(), alpha, state.seed, None), groups.added
    full = (STRENGTH if given is None else WITH_VECTORS) * float(X.sum()) / max(X.shape[0], 1)
    for strength in (0.0, full):
        alphas = alpha + strength * shares
        solution = infer_members(engine, state.weights, some, task, MIXTURES, alphas, member)
        theta = sums_by(member, n_groups, np.asarray(solution.theta, np.float64))
        n_members = np.bincount(member[member >= 0], minlength=n_groups)[:, np.newaxis]
        shares = (theta + alpha / alpha.sum()) / (n_members + 1)
    return replace(groups, added=full * shares)
