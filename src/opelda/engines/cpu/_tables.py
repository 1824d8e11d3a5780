"""Topics as the CPU's kernels read them: word-major rows, padded, single precision."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import psi

from opelda import _native
from opelda.engines.seam import SMALLEST_PROBABILITY, Prior, Rows, Weights

MANY_TOPICS = 256  # from here on OPE's bounds are taken from one-byte rows
MOST_BYTES = 2**28  # larger tables are not cached, but made for some documents at a time


@dataclass
class TopicTable:
    """The topics of some words, or of all, as probabilities."""

    rows: NDArray[np.float32]  # (n, stride): word j in topic k; columns from K on are zeros
    mean: NDArray[np.float32]  # of each word over the topics
    n_topics: int
    ids: NDArray[np.int32] | None = None  # the words, where they are not 0, 1, 2, ...
    known: NDArray[np.bool_] | None = None  # which words some topic has; None: all
    _coarse: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None

    @classmethod
    def of(cls, components: NDArray[Any], ids: NDArray[np.int32] | None) -> "TopicTable":
        """Lay out topics (K, n) that are given."""
        n_topics = len(components)
        rows = padded_rows(components.T, n_topics)
        rows[rows < SMALLEST_PROBABILITY] = 0.0
        mean = (rows.sum(axis=1, dtype=np.float64) / n_topics).astype(np.float32)
        known = mean > 0
        return cls(rows, mean, n_topics, ids, None if known.all() else known)

    @property
    def n_words(self) -> int:
        return len(self.rows)

    def known_part(self, rows: Rows) -> Rows:
        """Remove words of probability zero in every topic."""
        return rows if self.known is None else rows.where(self.known[rows.words])

    def coarse(self, n_threads: int) -> tuple[Any, Any]:
        """Return the rows in one byte a weight, rounded up, and their scales, where they pay.

        With many topics OPE's time goes into reading the rows, of which its bounds need upper
        bounds alone.
        """
        if self.n_topics < MANY_TOPICS:
            return None, None
        if self._coarse is None:
            n_rows, stride = self.rows.shape
            coarse = np.empty((n_rows, -(-stride // 64) * 16), np.int32)
            scale = np.empty(n_rows, np.float32)
            _native.coarsen(self.rows, coarse, scale, n_threads=n_threads)
            self._coarse = coarse, scale
        return self._coarse

    def under(
        self, start: NDArray[np.float32], used: NDArray[np.int32] | None
    ) -> NDArray[np.float32]:
        """Return the probabilities of words under a mixture: all words, or the words `used`."""
        if (start == start[0]).all():
            return self.mean
        some: Any = slice(None)
        if used is not None and len(used) * 4 < len(self.rows):
            some = np.unique(used)  # a few documents of a large vocabulary
        words = np.empty(len(self.rows), np.float32)
        # by NumPy's own loop: BLAS adds a row up in an order that depends on the number of rows
        words[some] = np.einsum("jk,k->j", self.rows[some, : self.n_topics], start)
        return words


def topic_rows(
    weights: Weights, words: NDArray[np.int32] | None, *, logs: bool = False, n_threads: int
) -> TopicTable:
    """Turn the weights of some words, or of all, into probabilities.

    beta_kj = lambda_kj / sum_j lambda_kj; with ``logs`` exp(E[log beta_kj]), each word's row up to
    a factor. No row is all zeros: an unknown word has the same probability in all topics.
    """
    n_words, stride = weights.rows.shape
    rows = aligned_empty(n_words if words is None else len(words), stride)
    mean = np.empty(len(rows), np.float32)
    totals = weights.totals
    inverse, digamma = np.zeros(stride, np.float32), np.zeros(stride)
    inverse[: weights.n_topics] = 1.0 / totals
    if logs:
        digamma[: weights.n_topics] = psi(totals)
    prior = np.asarray(weights.prior, np.float32)
    _native.topic_rows(
        weights.rows,
        n_topics=weights.n_topics,
        scale=weights.scale,
        prior_weight=weights.prior_weight,
        prior=float(prior) if prior.ndim == 0 else 0.0,
        prior_words=prior if prior.ndim == 1 else None,
        prior_rows=prior if prior.ndim == 2 else None,
        inverse=inverse,
        digamma=digamma,
        logs=logs,
        words=words,
        rows=rows,
        mean=mean,
        n_threads=n_threads,
    )
    return TopicTable(rows, mean, weights.n_topics, words)


def row_width(n_topics: int) -> int:
    """Return the floats of a row, whole cache lines: 16 for 16 topics, 32 for 17."""
    return -(-n_topics // 16) * 16


def aligned_empty(n_rows: int, stride: int) -> NDArray[np.float32]:
    """Return an array on a 64-byte boundary, so that no vector load crosses a cache line."""
    raw = np.empty(n_rows * stride + 16, np.float32)
    offset = (-raw.ctypes.data // raw.itemsize) % 16
    return raw[offset : offset + n_rows * stride].reshape(n_rows, stride)


def padded_rows(rows: NDArray[Any], n_topics: int) -> NDArray[np.float32]:
    """Return a copy of rows (n, K) with the width that kernels read."""
    wide = aligned_empty(len(rows), row_width(n_topics))
    wide[:, :n_topics] = rows
    wide[:, n_topics:] = 0.0
    return wide


def padded_prior(prior: Prior, n_topics: int) -> Prior:
    """Return eta with rows, where it has some, as wide as kernels read them."""
    if isinstance(prior, np.ndarray) and prior.ndim == 2:
        return padded_rows(prior, n_topics)
    return prior


def padded(values: NDArray[Any], stride: int) -> NDArray[np.float32]:
    """Return a row as wide as kernels read it, filled up with zeros."""
    row = np.zeros(stride, np.float32)
    row[: len(values)] = values
    return row
