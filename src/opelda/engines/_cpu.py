"""The CPU engine: native kernels, threads over documents, the GIL released."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import psi

from opelda import _native
from opelda.engines._cpu_tokens import CPUTokens, padded
from opelda.engines._engine import (
    EVERYTHING,
    Batch,
    ByWord,
    Certificate,
    Kept,
    Picks,
    Solution,
    Wanted,
)
from opelda.errors import EngineError

# from here on OPE's bounds are taken from one-byte rows
MANY_TOPICS = 256
# types of counts that documents are gathered from as they are
GATHERED = frozenset(map(np.dtype, "fdqihbQIHB?"))


class CPUEngine(CPUTokens):
    """Runs the native kernels on this machine's processor.

    >>> CPUEngine().name
    'cpu'
    """

    name = "cpu"
    kernels = ("ope", "vb", "cvb0", "cvb", "cgs", "fw", "em")

    def infer(
        self,
        kernel: str,
        batch: Batch,
        settings: Mapping[str, Any],
        n_threads: int = 1,
        wanted: Wanted = EVERYTHING,
    ) -> Solution:
        """Infer the mixtures of a batch; see `opelda.engines.Engine.infer`."""
        if kernel not in self.kernels:
            raise EngineError(f"The CPU engine has no kernel {kernel!r}; it has {self.kernels}.")
        if kernel == "ope" and batch.coarse is None and batch.n_topics >= MANY_TOPICS:
            coarse, scale = coarse_rows(batch.rows, n_threads)
            batch = replace(batch, coarse=coarse, coarse_scale=scale)
        shape = (batch.n_docs, batch.n_topics)
        certificate = _empty_certificate(batch.n_docs) if wanted.certificate else None
        # the kernels of OPE and EM have their mixtures in another form as well; EM's certificate
        # is taken from the dense one
        other_form = kernel == "ope" or (kernel == "em" and not wanted.certificate)
        theta = np.empty(shape, np.float32) if wanted.theta or not other_form else None
        factors = np.empty(shape, np.float32) if wanted.factors and kernel == "vb" else None
        n_iter = np.empty(batch.n_docs, np.int32)
        kept = None
        if kernel == "em" and wanted.picks:
            width = min(int(settings["n_kept"]), batch.n_topics)
            kept = (
                np.empty((batch.n_docs, width), np.int32),
                np.empty((batch.n_docs, width), np.float32),
            )
        picks = getattr(_native, kernel)(
            _native_batch(batch),
            _native_results(theta, n_iter, certificate, factors, kept),
            n_threads=n_threads,
            **settings,
        )
        return Solution(theta, n_iter, certificate, picks if kernel == "ope" else kept, factors)

    def certify(self, batch: Batch, theta: NDArray[np.float32], n_threads: int = 1) -> Certificate:
        """Compute the certificate of given mixtures; see `opelda.engines.Engine.certify`."""
        certificate = _empty_certificate(batch.n_docs)
        results = _native_results(None, None, certificate, None)
        _native.certify(_native_batch(batch), theta, results, n_threads=n_threads)
        return certificate

    def by_word(
        self,
        indptr: NDArray[np.int64],
        words: NDArray[np.int32],
        counts: NDArray[np.float32],
        n_words: int,
        n_threads: int = 1,
    ) -> ByWord:
        """Turn a batch of documents around; see `opelda.engines.Engine.by_word`."""
        return ByWord(*_native.by_word(indptr, words, counts, n_words, n_threads))

    def lay_out(
        self, kept: Kept, words: NDArray[np.int32] | None, *, logs: bool = False, n_threads: int = 1
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Lay out the topics of some words; see `opelda.engines.Engine.lay_out`."""
        n_words, stride = kept.rows.shape
        rows = aligned_empty(n_words if words is None else len(words), stride)
        mean = np.empty(len(rows), np.float32)
        inverse, digamma = np.zeros(stride, np.float32), np.zeros(stride)
        inverse[: kept.n_topics] = 1.0 / kept.totals
        digamma[: kept.n_topics] = psi(kept.totals)
        prior = np.asarray(kept.prior, np.float32)
        _native.lay_out(
            kept.rows,
            n_topics=kept.n_topics,
            scale=kept.scale,
            prior_weight=kept.prior_weight,
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
        return rows, mean

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
        """Add a batch's statistics to the rows kept; see `opelda.engines.Engine.add`."""
        rows, mean = laid_out
        stride = rows.shape[1]
        grown = np.empty(stride)
        _native.add(
            kept.rows,
            n_topics=kept.n_topics,
            words=by_word.words,
            starts=by_word.starts,
            entries=by_word.entries,
            rows=rows,
            **_mixtures(solution, rows, mean, divide),
            divide=divide,
            gain=padded(gain, stride),
            grown=grown,
            n_threads=n_threads,
        )
        return grown[: kept.n_topics]

    def read_rows(self, batch: Batch, *, ahead: int = 12, n_threads: int = 1) -> None:
        """Read the topic weights of a batch's words once and do nothing else: the limit to beat.

        The rows of the word `ahead` words later are fetched meanwhile; 0 is a plain loop.
        """
        _native.read_rows(_native_batch(batch), ahead=ahead, n_threads=n_threads)

    @property
    def instruction_set(self) -> str:
        """The instruction set in use: 'avx512', 'avx2' or 'base'."""
        return str(_native.instruction_set())

    def use_instruction_set(self, name: str) -> None:
        """Switch every CPU engine of this process to another instruction set (for tests)."""
        if not _native.use_instruction_set(name):
            raise EngineError(f"This processor or build has no instruction set {name!r}.")


def _native_batch(batch: Batch) -> Any:
    return _native.Batch(
        batch.rows,
        batch.n_topics,
        batch.indptr,
        batch.words,
        batch.counts,
        batch.alpha,
        batch.coarse,
        batch.coarse_scale,
        batch.ids,
    )


def _native_results(
    theta: NDArray[np.float32] | None,
    n_iter: NDArray[np.int32] | None,
    certificate: Certificate | None,
    factors: NDArray[np.float32] | None,
    kept: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None,
) -> Any:
    kept_topics, kept_shares = kept or (None, None)
    if certificate is None:
        return _native.Results(
            theta, n_iter, None, None, None, None, factors, kept_topics, kept_shares
        )
    return _native.Results(
        theta,
        n_iter,
        certificate.gap,
        certificate.likelihood_gap,
        certificate.log_likelihood,
        certificate.log_prior,
        factors,
        kept_topics,
        kept_shares,
    )


def _mixtures(
    solution: Solution, rows: NDArray[np.float32], mean: NDArray[np.float32], divide: bool
) -> dict[str, Any]:
    """Return a batch's mixtures as `_native.add` takes them: OPE's picks, or a dense array."""
    names = ("theta", "indptr", "topics", "shares", "rest", "start", "start_words")
    parts: dict[str, Any] = dict.fromkeys(names)
    picks = solution.picks
    if not isinstance(picks, Picks):
        dense = solution.factors if divide and solution.factors is not None else solution.theta
        parts["theta"] = np.ascontiguousarray(dense, np.float32)
        return parts
    start = picks.start
    uniform = (start == start[0]).all()
    parts.update(indptr=picks.indptr, topics=picks.topics, shares=picks.shares, rest=picks.rest)
    parts["start"] = padded(start, rows.shape[1])
    parts["start_words"] = mean if uniform else rows[:, : len(start)] @ start
    return parts


def coarse_rows(
    rows: NDArray[np.float32], n_threads: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return rows as one-byte floats rounded up, packed as kernels read them, and their scales.

    With many topics reading the rows is what OPE's time goes into; its bounds do not need them to
    the last bit, only from above.

    >>> coarse, scale = coarse_rows(np.full((2, 64), 0.01, np.float32))
    >>> coarse.shape, scale.shape
    ((2, 16), (2,))
    """
    n_rows, stride = rows.shape
    coarse = np.empty((n_rows, -(-stride // 64) * 16), np.int32)
    scale = np.empty(n_rows, np.float32)
    _native.coarsen(rows, coarse, scale, n_threads=n_threads)
    return coarse, scale


def gather(
    X: sparse.csr_array, documents: NDArray[np.int64], n_threads: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Return some documents of a checked collection as kernels take them: indptr, words, counts.

    Only they are copied and converted, whatever the collection's types.

    >>> X = sparse.csr_array([[0, 2, 1], [3, 0, 0], [0, 0, 4]])
    >>> indptr, words, counts = gather(X, np.array([2, 0]))
    >>> indptr.tolist(), words.tolist(), counts.tolist()
    ([0, 1, 3], [2, 1, 2], [4.0, 2.0, 1.0])
    """
    counts = X.data
    if counts.dtype not in GATHERED:  # long doubles
        counts = counts.astype(np.float32)
    return _native.gather(X.indptr, X.indices, counts, documents, n_threads)


def aligned_empty(n_rows: int, stride: int) -> NDArray[np.float32]:
    """Return an array on a 64-byte boundary, so that no vector load crosses a cache line.

    >>> aligned_empty(3, 16).ctypes.data % 64
    0
    """
    raw = np.empty(n_rows * stride + 16, np.float32)
    offset = (-raw.ctypes.data // raw.itemsize) % 16
    return raw[offset : offset + n_rows * stride].reshape(n_rows, stride)


def _empty_certificate(n_docs: int) -> Certificate:
    return Certificate(*(np.empty(n_docs) for _ in range(4)))
