"""Mixtures and their bounds: an engine's answer to `infer`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import on_device
from opelda.engines._documents import Rows


@dataclass(frozen=True)
class Batch:
    """Documents with the topics of their words, in host memory, for a method without a kernel.

    The documents are CSR: words sorted and distinct within a document, counts > 0, every word with
    a positive probability in at least one topic.
    """

    rows: NDArray[Any]  # (V, at least K): word j in topic k; columns from n_topics on are zeros
    mean: NDArray[Any]  # (V,): each word's probability under the uniform mixture
    n_topics: int
    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]
    alpha: NDArray[Any]
    # the rows' words where they are not 0, 1, 2, ...: keys of random numbers need them
    ids: NDArray[np.int32] | None = None

    @classmethod
    def of(cls, topics: Any, documents: Rows, alpha: NDArray[Any]) -> "Batch":
        """Put documents beside an engine's topics, which have `rows`, `mean`, `n_topics`, `ids`."""
        shown = topics.rows, topics.mean, topics.n_topics
        return cls(*shown, documents.indptr, documents.words, documents.counts, alpha, topics.ids)

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1


@dataclass(frozen=True)
class Certificate:
    """Bounds and terms of f, per document."""

    gap: NDArray[np.float64]
    likelihood_gap: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    # a bound, with its own rounding, of any mixture's lead in log-likelihood
    likelihood_loss: NDArray[np.float64]

    @classmethod
    def room(cls, n_docs: int) -> "Certificate":
        """Return arrays to be filled."""
        return cls(*(np.empty(n_docs) for _ in range(5)))


@dataclass(frozen=True)
class Intervals:
    """Credible intervals of shares, and the probability that the main topic has the largest."""

    lower: NDArray[np.float32]  # (n_docs, K)
    upper: NDArray[np.float32]
    main_topic_probability: NDArray[np.float32]


@dataclass(frozen=True)
class Picks:
    """Mixtures of OPE, EM and Exact: a few topics, and a rest spread like the start.

    theta_dk = rest_d start_k + (share of topic k in document d, 0 where it was never picked).
    """

    indptr: NDArray[np.int64]  # CSR of the topics of each document, in picking order
    topics: NDArray[np.int32]
    shares: NDArray[np.float32]
    rest: NDArray[np.float32]
    start: NDArray[np.float32]  # (K,), or a row per document if their priors differ


@dataclass(frozen=True)
class Wanted:
    """The parts of a solution that the caller needs; an engine may leave out the rest."""

    theta: bool = True  # dense, even where mixtures also come as `Picks`
    certificate: bool = True
    factors: bool = False  # the weights of tokens' topics, where those are not the mixture
    picks: bool = True  # the mixtures of OPE, EM and Exact as a few topics and a rest
    close: bool = False  # tight bounds, at the cost of an exact mixture each


EVERYTHING = Wanted(close=True)
SPARSE = Wanted(theta=False, close=True)  # mixtures as picks where the method makes them so
MIXTURES = Wanted(certificate=False, picks=False)
FEW_TOPICS = Wanted(theta=False, certificate=False)


@dataclass(frozen=True)
class Solution:
    """Mixtures of some documents; None for the parts that were not wanted."""

    # (n_docs, n_topics): without words the prior's mean; on the GPU where the documents were there
    theta: Any
    n_iter: NDArray[np.int32]
    # the documents' lengths, without words that no topic has; with a certificate only
    n_tokens: NDArray[np.float64] | None = None
    certificate: Certificate | None = None
    picks: Picks | None = None  # of OPE, EM and Exact
    # VB's exp(E[log theta]), up to a factor a document: P(z = k) of a token of word j is
    # proportional to factors_dk beta_kj; None: the mixture itself
    factors: NDArray[np.float32] | None = None
    # a bound, if wanted, of any mixture's lead in log-likelihood, or in f where f is concave
    loss: NDArray[np.float64] | None = None
    intervals: Intervals | None = None  # of `CPUEngine.intervals`

    def dense(self) -> NDArray[Any]:
        """Return the mixtures, a number for each document and topic."""
        theta: NDArray[Any] = self.theta
        if theta is None:
            assert self.picks is not None
            theta = self.picks.rest[:, None] * self.picks.start + self.picked().toarray()
        return theta

    def as_csr(self) -> sparse.csr_array:
        """Return the mixtures as a sparse matrix; documents without a rest are never dense."""
        picks = self.picks
        if picks is None or (self.theta is not None and picks.rest.any()):
            return sparse.csr_array(self.dense())
        picked, full = self.picked(), np.flatnonzero(picks.rest)
        if not len(full):
            return picked
        start = picks.start if picks.start.ndim == 1 else picks.start[full]
        dense = picked[full].toarray() + picks.rest[full, None] * start
        return with_rows(picked, full, sparse.csr_array(dense))

    def picked(self) -> sparse.csr_array:
        """Return the shares of the picked topics, without the rest."""
        picks = self.picks
        assert picks is not None
        parts = picks.shares, picks.topics, picks.indptr
        shape = len(picks.rest), picks.start.shape[-1]
        picked = sparse.csr_array(parts, shape=shape, copy=True)  # it is sorted in place
        picked.sort_indices()
        return picked

    def mean_gap(self, rows: Rows) -> float:
        """Return the mean over documents with words; NaN without certificates."""
        bounds = self.certificate
        return np.nan if bounds is None else float(bounds.gap[~rows.empty].mean())


def with_rows(
    matrix: sparse.csr_array, rows: NDArray[np.intp], others: sparse.csr_array
) -> sparse.csr_array:
    """Return a matrix with some rows replaced."""
    order = np.arange(matrix.shape[0])
    order[rows] = len(order) + np.arange(len(rows))
    return sparse.csr_array(sparse.vstack([matrix, others], "csr")[order])


def where_it_was(found: Any, X: Any) -> Any:
    """Return mixtures in the memory of the documents X."""
    if not on_device(X) or on_device(found):
        return found
    import cupy
    from cupyx.scipy import sparse as on_gpu

    return cupy.asarray(found) if isinstance(found, np.ndarray) else on_gpu.csr_matrix(found)


def put(theta: Any, rows: NDArray[np.intp], values: Any) -> None:
    """Replace the mixtures of some documents, maybe on a GPU, whose arrays take no NumPy arrays."""
    if on_device(theta):
        import cupy

        rows, values = cupy.asarray(rows), cupy.asarray(values, theta.dtype)
    theta[rows] = values


def completed(found: Solution, rows: Rows, alpha: NDArray[np.float64]) -> Solution:
    """Complete a solution: documents without words, and lengths where there are bounds."""
    empty = rows.empty
    if empty.any():
        if found.theta is not None:
            put(found.theta, np.flatnonzero(empty), alpha / alpha.sum())
        found.n_iter[empty] = 0
        if found.factors is not None:
            found.factors[empty] = 0.0
        if found.certificate is not None:
            certify_empty(found.certificate, rows, alpha)
    if found.certificate is None and found.loss is None:
        return found
    return replace(found, n_tokens=rows.tokens())


def certify_empty(certificate: Certificate, rows: Rows, alpha: NDArray[np.float64]) -> None:
    """Certify the prior's mean for documents without words."""
    empty = rows.empty
    certificate.gap[empty] = certificate.likelihood_gap[empty] = 0.0
    certificate.log_likelihood[empty] = certificate.likelihood_loss[empty] = 0.0
    certificate.log_prior[empty] = float((alpha - 1) @ np.log(alpha / alpha.sum()))


def joined(parts: list[Any]) -> Any:
    """Concatenate the solutions, or certificates, of consecutive documents."""
    first = parts[0]
    if len(parts) == 1 or first is None:
        return first
    if isinstance(first, np.ndarray):
        return np.concatenate(parts)
    fields = {name: joined([getattr(part, name) for part in parts]) for name in vars(first)}
    if isinstance(first, Picks):
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        ends = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
        fields.update(indptr=ends, start=first.start if first.start.ndim == 1 else fields["start"])
    return type(first)(**fields)


def interleaved(parts: list[Solution], order: NDArray[np.intp]) -> Solution:
    """Join solutions whose priors differ; `order` has the row of each document of the parts."""
    found, row = [], np.argsort(order)
    for part in parts:
        picks = part.picks
        if picks is not None:
            shape = len(picks.rest), len(picks.start)
            part = replace(part, picks=replace(picks, start=np.broadcast_to(picks.start, shape)))
        found.append(part)
    return _rows_of(joined(found), row)  # type: ignore[no-any-return]


def _rows_of(found: Any, rows: NDArray[np.intp]) -> Any:
    if found is None or isinstance(found, np.ndarray):
        return None if found is None else found[rows]
    fields = {name: _rows_of(value, rows) for name, value in vars(found).items() if name != "picks"}
    if isinstance(found, Solution) and found.picks is not None:
        picks = found.picks
        shape = len(picks.rest), picks.start.shape[-1]
        # (rows of a CSR array keep the order of their entries)
        some = sparse.csr_array((picks.shares, picks.topics, picks.indptr), shape=shape)[rows]
        ends = some.indptr.astype(np.int64)
        parts = ends, some.indices.astype(np.int32), some.data, picks.rest[rows], picks.start[rows]
        fields["picks"] = Picks(*parts)
    return type(found)(**fields)
