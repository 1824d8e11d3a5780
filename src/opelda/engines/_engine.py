"""What an engine is asked and what it answers: arrays and plain numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opelda.engines._tokens import DrawsTopics

LANES = 16  # floats of a cache line, which rows are padded to


def row_width(n_topics: int) -> int:
    """Return the floats of a row that holds so many topics.

    >>> row_width(16), row_width(17)
    (16, 32)
    """
    return -(-n_topics // LANES) * LANES


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
    ids : int32 array (V,) or None
        Which words the rows are, where they are not words 0, 1, 2, ... of the vocabulary; what is
        random about a document is keyed by them.
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
    ids: NDArray[np.int32] | None = None

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
class Picks:
    """Mixtures as OPE and EM make them: a few topics, and a rest spread like the start.

    theta_dk = rest_d start_k + (share of topic k in document d, 0 where it was never picked).

    Attributes
    ----------
    indptr, topics, shares : int64, int32, float32 arrays
        CSR of the topics each document moved to, in picking order, or those that EM kept.
    rest : float32 array (n_docs,)
    start : float32 array (n_topics,)
    """

    indptr: NDArray[np.int64]
    topics: NDArray[np.int32]
    shares: NDArray[np.float32]
    rest: NDArray[np.float32]
    start: NDArray[np.float32]


@dataclass(frozen=True)
class Wanted:
    """What the caller needs of a solution; a kernel may leave out the rest.

    Attributes
    ----------
    theta : bool
        The mixtures as a dense array, even where they also come as `Picks`.
    certificate : bool
    factors : bool
        What tokens' topics are weighed by, where that is not the mixture.
    picks : bool
        The mixtures of OPE and EM as a few topics and a rest.
    """

    theta: bool = True
    certificate: bool = True
    factors: bool = False
    picks: bool = True


EVERYTHING = Wanted()


@dataclass(frozen=True)
class Solution:
    """What a method found for a batch.

    Attributes
    ----------
    theta : float array (n_docs, n_topics) or None
        None only where it was not wanted.
    n_iter : int32 array (n_docs,)
    certificate : Certificate or None
        None when the kernel did not compute it; then `Engine.certify` does.
    picks : (indptr, topics, times), (topics, shares) or Picks or None
        A kernel answers how often OPE moved to which topics, or (n_docs x topics kept) which
        topics EM kept; their `solve` makes `Picks` of it.
    factors : float32 array (n_docs, n_topics) or None
        VB's exp(E[log theta]), up to a factor a document: P(z = k) of a token of word j is
        proportional to factors_dk beta_kj. None: the mixture itself.
    """

    theta: NDArray[Any] | None
    n_iter: NDArray[np.int32]
    certificate: Certificate | None = None
    picks: Picks | tuple[NDArray[Any], ...] | None = None
    factors: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class ByWord:
    """A batch of documents seen from its words.

    Attributes
    ----------
    words : int32 array (n,)
        The words it holds, ascending.
    places : int32 array (entries,)
        Each entry's word as a place in `words`, in the documents' order.
    starts, entries : int64 array (n + 1,), uint64 array (entries,)
        For each word its documents, in their order: the document as an int32 and the count there
        as a float32, in one place.
    tokens : float64 array (n_docs,)
        The documents' lengths.
    """

    words: NDArray[np.int32]
    places: NDArray[np.int32]
    starts: NDArray[np.int64]
    entries: NDArray[np.uint64]
    tokens: NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """The topics as a learner keeps them: lambda_kj = scale rows_jk + prior_weight eta_kj.

    Attributes
    ----------
    rows : float32 array (V, stride)
        Word-major and padded with zeros, like `Batch.rows`.
    n_topics : int
    scale, prior_weight : float
    prior : float, float32 array (V,) or float32 array (V, stride)
        eta: one number, one per word, or one per word and topic.
    totals : float64 array (n_topics,)
        sum_j lambda_kj.
    """

    rows: NDArray[np.float32]
    n_topics: int
    scale: float
    prior_weight: float
    prior: float | NDArray[np.float32]
    totals: NDArray[np.float64]


class Engine(DrawsTopics, Protocol):
    """A place where kernels run."""

    name: str

    def infer(
        self,
        kernel: str,
        batch: Batch,
        settings: Mapping[str, Any],
        n_threads: int = 1,
        wanted: Wanted = EVERYTHING,
    ) -> Solution:
        """Infer the mixtures of a batch with the kernel of that name.

        `settings` are the kernel's own numbers and arrays, as listed in docs/architecture.md.
        Raises `EngineError` when the engine does not have the kernel.
        """
        ...

    def certify(self, batch: Batch, theta: NDArray[np.float32], n_threads: int = 1) -> Certificate:
        """Compute the certificate of given mixtures."""
        ...

    def by_word(
        self,
        indptr: NDArray[np.int64],
        words: NDArray[np.int32],
        counts: NDArray[np.float32],
        n_words: int,
        n_threads: int = 1,
    ) -> ByWord:
        """Turn a batch of documents around; words are below n_words."""
        ...

    def lay_out(
        self, kept: Kept, words: NDArray[np.int32] | None, *, logs: bool = False, n_threads: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lay out the topics of some words, or of all, as `Batch.rows` and `Batch.mean`.

        beta_kj = lambda_kj / sum_j lambda_kj; with ``logs`` exp(E[log beta_kj]), each word's row
        up to a factor. No row is all zeros.
        """
        ...

    def add(
        self,
        kept: Kept,
        by_word: ByWord,
        laid_out: tuple[NDArray[np.float32], NDArray[np.float32]],
        solution: Solution,
        *,
        divide: bool,
        gain: NDArray[np.float64],
        n_threads: int = 1,
    ) -> NDArray[np.float64]:
        """Add a batch's statistics to the rows kept: rows_jk += gain_k sum_d w_djk.

        w_djk = d_j theta_dk, or with ``divide`` d_j phi_djk where phi_djk, proportional to
        theta_dk beta_kj, is the probability that a token of word j is of topic k. Documents are
        added in their order: the sums do not depend on the number of threads. Returns how much
        sum_j rows_jk has grown for each topic.
        """
        ...
