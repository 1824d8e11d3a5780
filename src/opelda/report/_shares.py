"""Shares of topics over time, or by group."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._validation import real_array
from opelda.errors import InputError
from opelda.report._inferred import infer_blocks


@dataclass(frozen=True)
class Shares:
    """Mean shares of topics, a row for each label.

    Attributes
    ----------
    labels : list
        The distinct labels, in their order.
    n_docs : int64 array
        Documents of each label that count.
    shares : float64 array (labels, topics)
        Rows sum to 1.

    Examples
    --------
    >>> from opelda.report import shares_over
    >>> shares_over([[1.0, 0.0], [0.0, 1.0]], None, ["a", "a"]).labels
    ['a']
    """

    labels: list[Any]
    n_docs: NDArray[np.int64]
    shares: NDArray[np.float64]


def shares_over(theta: Any, weights: ArrayLike | None, labels: Sequence[Any]) -> Shares:
    """Return the mean shares of topics in the documents of each label.

    Parameters
    ----------
    theta : array (D, K), sparse or dense, or Inference
        Mixtures, as `transform` and `infer` return them.
    weights : array (D,), optional
        How much each document counts, such as its tokens; None is all alike.
    labels : sequence of D labels
        A document's time, group or the like; those without one (None, NaN) are left out.

    Returns
    -------
    Shares

    Examples
    --------
    >>> from opelda.report import shares_over
    >>> theta = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0]]
    >>> found = shares_over(theta, None, [2001, 2001, 2000, None])
    >>> found.labels, found.n_docs.tolist(), found.shares.tolist()
    ([2000, 2001], [1, 2], [[0.0, 1.0], [0.75, 0.25]])
    """
    mixtures = getattr(theta, "theta", theta)
    if not sparse.issparse(mixtures):
        mixtures = np.asarray(mixtures)
    if mixtures.ndim != 2:
        raise InputError("must be an array (documents, topics).", "theta")
    n_docs = mixtures.shape[0]
    if len(labels) != n_docs:
        raise InputError(f"are {len(labels)}, but there are {n_docs} documents.", "labels")
    counted = np.ones(n_docs) if weights is None else real_array("weights", weights, (n_docs,))
    if (counted < 0).any():
        raise InputError("must not be negative.", "weights")
    names, index = numbered(labels)
    sums = Sums(len(names))
    sums.add(mixtures, counted, index)
    return sums.shares(names)


class Sums:
    """Weighted sums of mixtures by label, over blocks of documents."""

    def __init__(self, n_labels: int) -> None:
        self._totals, self._sums = np.zeros(n_labels), None
        self._n_docs = np.zeros(n_labels, np.int64)

    def add(self, theta: Any, weights: Any, index: Any) -> None:
        """Take up documents by the number of their label; -1 is none."""
        chosen = np.flatnonzero((index >= 0) & (weights > 0))
        of = index[chosen]
        parts = (weights[chosen], (of, chosen))
        picked = sparse.csr_array(parts, shape=(len(self._totals), theta.shape[0]))
        summed = picked @ theta
        summed = summed.toarray() if hasattr(summed, "toarray") else summed
        self._sums = summed if self._sums is None else self._sums + summed
        self._totals += np.bincount(of, weights[chosen], len(self._totals))
        self._n_docs += np.bincount(of, minlength=len(self._totals))

    def shares(self, labels: Sequence[Any]) -> Shares:
        """Return the means; labels without a document that counts are left out."""
        if self._sums is None or not self._n_docs.any():
            raise InputError("There is no document with a label and a weight; give some.")
        known = np.flatnonzero(self._n_docs)
        # not by the sum of weights alone: rows of single precision add up to nearly 1
        means = self._sums[known] / self._sums[known].sum(axis=1, keepdims=True)
        return Shares([labels[i] for i in known], self._n_docs[known], means)


def numbered(labels: Sequence[Any]) -> tuple[list[Any], NDArray[np.intp]]:
    """Return the distinct labels in their order, and the number of each document's; -1 is none."""
    plain = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    known = {label for label in plain if label is not None and label == label}
    try:
        names = sorted(known)
    except TypeError:
        names = sorted(known, key=str)
    number = {name: i for i, name in enumerate(names)}
    index = [number.get(label, -1) if label == label else -1 for label in plain]
    return names, np.array(index, np.intp)


def corpus_shares(model: Any, corpus: Any, names: Sequence[Any], index: Any) -> Shares:
    """Return the mean shares of documents by the number of their label; empty ones do not count."""
    sums, n_docs = Sums(len(names)), 0
    for block in infer_blocks(model, corpus):
        n_docs = block.first + len(block.theta)
        if n_docs > len(index):
            break
        part = index[block.first : n_docs]
        sums.add(block.theta, (block.tokens > 0).astype(np.float64), part)
    if n_docs != len(index):
        more = "more" if n_docs > len(index) else f"{n_docs}"
        raise InputError(f"There are {len(index)} labels, but {more} documents; give one for each.")
    return sums.shares(names)
