"""Groups of similar documents, which add to the prior of their members' mixtures.

A short document has few words, its group has many. The prior of a document in group g is
alpha + added_g, where added_g is the mean mixture of the group times a strength.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.seam import Documents, Engine, Solution, Task, Wanted, interleaved
from opelda.errors import InputError
from opelda.inference._checked_topics import Topics


@dataclass(frozen=True)
class Groups:
    """Groups of documents, by words and by vectors that the user may give.

    The group of a document has the largest score: c @ axes / |c @ words|, c = log(1 + counts), plus
    the direction of the given vector @ given.
    """

    axes: NDArray[np.float32]  # (V, groups)
    added: NDArray[np.float64]  # (groups, K) to alpha
    words: NDArray[np.float32] | None = None  # (V, dimensions); None without given vectors
    given: NDArray[np.float32] | None = None  # (dimensions of given vectors, groups)

    @property
    def strength(self) -> float:
        """The tokens that a group counts for in the prior of each member."""
        return float(self.added.sum(axis=1).mean())

    def alphas(self, alpha: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the prior of each group."""
        return alpha + self.added

    def members(self, X: sparse.csr_array, embeddings: Any = None) -> NDArray[np.int64]:
        """Return the group of each document, -1 for none; without given vectors by words alone.

        Scores are summed per document, so documents do not affect each other's groups.
        """
        vectors = None
        if embeddings is not None:
            if self.given is None:
                raise given_vectors()
            vectors = directions(as_vectors(embeddings, X.shape[0], len(self.given)))
        known = X[:, : len(self.axes)]  # a growing vocabulary has had more words since
        logs = np.log1p(known.data.astype(np.float64))
        counts = sparse.csr_array((logs, known.indices, known.indptr), shape=known.shape)
        found, axes = np.empty(X.shape[0], np.int64), self.axes.astype(np.float64)
        words = None if vectors is None or self.words is None else self.words.astype(np.float64)
        for first in range(0, len(found), 4096):
            part = counts[first : first + 4096]
            scores = part @ axes
            if vectors is not None and words is not None and self.given is not None:
                length = np.linalg.norm(part @ words, axis=1, keepdims=True)
                scores /= np.maximum(length, 1e-6)
                # (a dense product would depend on the number of rows)
                scores += sparse.csr_array(vectors[first : first + 4096]) @ self.given
            best = np.where(scores.any(axis=1), scores.argmax(axis=1), -1)
            found[first : first + 4096] = best
        return found


def directions(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length 1, or 0."""
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(length > 1e-6, rows / np.maximum(length, 1e-6), 0.0)


def given_vectors() -> InputError:
    """Return the error for vectors that a model cannot use."""
    return InputError(
        "has no effect, because the model was fitted without; remove it, or fit with embeddings.",
        "embeddings",
    )


def as_vectors(given: Any, n_docs: int, n_dimensions: int | None = None) -> NDArray[np.float32]:
    """Return the vectors of documents, checked."""
    vectors = np.asarray(given)
    if vectors.dtype.kind not in "fiu" or vectors.ndim != 2 or len(vectors) != n_docs:
        raise InputError(
            f"must be numbers with a row for each of the {n_docs} documents, got "
            f"{vectors.dtype} of shape {vectors.shape}.",
            "embeddings",
        )
    vectors = vectors.astype(np.float32, copy=False)
    if not np.isfinite(vectors).all():
        bad = int(np.argmin(np.isfinite(vectors).all(axis=1)))
        raise InputError(f"has NaN or infinite values in row {bad}.", "embeddings")
    if n_dimensions not in (None, vectors.shape[1]):
        raise InputError(
            f"must have {n_dimensions} columns, as in fit, got {vectors.shape[1]}; use the same "
            "encoder.",
            "embeddings",
        )
    return vectors


def infer_members(
    engine: Engine,
    topics: Any,
    documents: Documents,
    task: Task,
    wanted: Wanted,
    alphas: NDArray[np.float64] | None,
    member: NDArray[np.int64] | None,
    tables: Sequence[Topics] | None = None,
) -> Solution:
    """Infer mixtures with the prior of each document's group, a row of `alphas`.

    `tables` are the topics of each group, if groups have their own.
    """
    if alphas is None or member is None or not (member >= 0).any():
        return engine.infer(topics, documents, task, wanted)
    order = np.argsort(member, kind="stable")
    numbers, first = np.unique(member[order], return_index=True)
    own = [
        (tables[g].on(engine) if tables else topics, replace(task, alpha=alphas[g]))
        if g >= 0
        else (topics, task)
        for g in numbers.tolist()
    ]
    if len(own) == 1:
        return engine.infer(own[0][0], documents, own[0][1], wanted)
    parts = [
        engine.infer(table, engine.documents(documents.matrix[rows]), each, wanted)
        for rows, (table, each) in zip(np.split(order, first[1:]), own, strict=True)
    ]
    return interleaved(parts, order)
