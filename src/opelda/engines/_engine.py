"""What an engine is asked and what it answers: arrays and plain numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Batch:
    """Documents and the topics to explain them with, in the form every kernel takes.

    Attributes
    ----------
    rows : float32 array (V, stride), C-contiguous
        Topics word-major: ``rows[j, k]`` is the probability of word j in topic k; columns from
        ``n_topics`` on are zeros (stride is a multiple of 16).
    mean : float32 array (V,)
        Each word's mean over the topics: its probability under the uniform mixture.
    n_topics : int
    indptr, words, counts : int64, int32, float32 arrays
        The documents as CSR: words sorted and distinct within a document, counts > 0, every word
        with a positive probability in at least one topic.
    alpha : float32 array (n_topics,)
    coarse, coarse_scale : int32 array (V, ...), float32 array (V,), or None
        The rows in one byte each, rounded up, for kernels that can use bounds.
    """

    rows: NDArray[np.float32]
    mean: NDArray[np.float32]
    n_topics: int
    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    alpha: NDArray[np.float32]
    coarse: NDArray[np.int32] | None = None
    coarse_scale: NDArray[np.float32] | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


@dataclass(frozen=True)
class Certificate:
    """Per document: the two gaps and the two terms of f (float64 arrays)."""

    gap: NDArray[np.float64]
    likelihood_gap: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_prior: NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """What a method found for a batch.

    Attributes
    ----------
    theta : float array (n_docs, n_topics)
    n_iter : int32 array (n_docs,)
    certificate : Certificate or None
        None when the kernel did not compute it; then `Engine.certify` does.
    picks : (indptr, topics, weights) or None
        CSR of the topics OPE moved to and their weights; a kernel answers how often it moved there,
        `OPE.solve` turns that into shares of the mixture.
    """

    theta: NDArray[Any]
    n_iter: NDArray[np.int32]
    certificate: Certificate | None = None
    picks: tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]] | None = None


class Engine(Protocol):
    """A place where kernels run."""

    name: str

    def infer(
        self, kernel: str, batch: Batch, settings: Mapping[str, Any], n_threads: int = 1
    ) -> Solution:
        """Infer the mixtures of a batch with the kernel of that name.

        `settings` are the kernel's own numbers and arrays, as listed in docs/architecture.md.
        Raises `EngineError` when the engine does not have the kernel.
        """
        ...

    def certify(self, batch: Batch, theta: NDArray[np.float32], n_threads: int = 1) -> Certificate:
        """Compute the certificate of given mixtures."""
        ...

    def word_sums(
        self, batch: Batch, theta: NDArray[np.float32], *, divide: bool, n_threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Sum a batch's statistics per word, which is all that learning needs of it.

        Returns the words the batch holds (ascending) and, a row for each, sum_d w_dj theta_dk with
        w = d_j, or with ``divide`` d_j / x_dj where x_dj = sum_k theta_dk beta_kj. Documents are
        added in their order: the sums do not depend on the number of threads.
        """
        ...
