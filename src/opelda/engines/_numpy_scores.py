"""Held-out scores and rows far apart in NumPy, as engines on a processor have them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines.seam import Documents, Weights

SMALLEST = 1e-30  # a word to which a document's mixture gives less counts as this
NEAR = 1e-9  # documents that are no farther from each other hold the same words
WEIGHTS_AT_ONCE = 2**22


class Plain:
    """What engines on a processor share; see `Engine` for what is asked."""

    name: str

    def resident(self, X: Any) -> Documents | None:
        """Take no arrays of a device; see `Engine.resident`."""
        return None

    def keeps(self, weights: Weights) -> bool:
        """Whether weights live here; see `Engine.keeps`."""
        return weights.owner == self.name

    def predict(
        self, components: NDArray[Any], documents: Documents, theta: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return log probabilities of documents; see `Engine.predict`."""
        X = documents.matrix
        document = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        logs, topics = np.zeros(X.nnz), components.T
        if X.nnz > len(topics):  # then it pays to have each word's probabilities side by side
            topics = np.ascontiguousarray(topics)
        n_at_once = max(1, WEIGHTS_AT_ONCE // len(components))
        for first in range(0, X.nnz, n_at_once):
            part = slice(first, first + n_at_once)
            # x_j = sum_k theta_k beta_kj for the words of each document alone
            beta = topics[X.indices[part]]
            x = np.multiply(beta, theta[document[part]], dtype=np.float64).sum(axis=1)
            logs[part] = np.log(np.maximum(x, SMALLEST))
        return np.bincount(document, X.data * logs, X.shape[0]).astype(np.float64)

    def far_apart(
        self, X: sparse.csr_array, draws: NDArray[np.float64], n_begun: int = 0
    ) -> NDArray[np.int64] | None:
        """Choose documents; see `Engine.far_apart`."""
        n_docs = X.shape[0] - n_begun
        columns = X[:n_docs].tocsc()
        nearest, distance = np.zeros(n_docs), (np.diff(X.indptr[: n_docs + 1]) > 0).astype(float)

        def leave(row: int) -> None:
            here = slice(X.indptr[row], X.indptr[row + 1])
            # the columns of its words alone: the product with the whole matrix takes 30 times as
            # long
            np.maximum(nearest, columns[:, X.indices[here]] @ X.data[here], out=nearest)
            distance[:] = np.where(distance > 0, 1.0 - nearest, 0.0)
            distance[distance < NEAR] = 0.0

        for row in range(n_docs, X.shape[0]):
            leave(row)
        chosen: list[int] = []
        for draw in draws:
            ends = np.cumsum(distance**2)
            if not ends[-1] > 0:
                return None
            chosen.append(int(np.searchsorted(ends, draw * ends[-1], side="right")))
            leave(chosen[-1])
        return np.array(chosen)
