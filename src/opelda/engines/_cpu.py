"""The CPU engine: native kernels, threads over documents, the GIL released."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _native
from opelda.engines._engine import Batch, Certificate, Solution
from opelda.errors import EngineError


class CPUEngine:
    """Runs the native kernels on this machine's processor.

    >>> CPUEngine().name
    'cpu'
    """

    name = "cpu"
    kernels = ("ope", "vb", "cvb0", "cvb", "cgs", "fw")

    def infer(
        self, kernel: str, batch: Batch, settings: Mapping[str, Any], n_threads: int = 1
    ) -> Solution:
        """Infer the mixtures of a batch; see `opelda.engines.Engine.infer`."""
        if kernel not in self.kernels:
            raise EngineError(f"The CPU engine has no kernel {kernel!r}; it has {self.kernels}.")
        options = dict(settings)
        certificate = _empty_certificate(batch.n_docs) if options.pop("certify", True) else None
        theta = np.empty((batch.n_docs, batch.n_topics), np.float32)
        n_iter = np.empty(batch.n_docs, np.int32)
        picks = getattr(_native, kernel)(
            _native_batch(batch),
            _native_results(theta, n_iter, certificate),
            n_threads=n_threads,
            **options,
        )
        return Solution(theta, n_iter, certificate, picks)

    def certify(self, batch: Batch, theta: NDArray[np.float32], n_threads: int = 1) -> Certificate:
        """Compute the certificate of given mixtures; see `opelda.engines.Engine.certify`."""
        certificate = _empty_certificate(batch.n_docs)
        results = _native_results(None, None, certificate)
        _native.certify(_native_batch(batch), theta, results, n_threads=n_threads)
        return certificate

    def word_sums(
        self, batch: Batch, theta: NDArray[np.float32], *, divide: bool, n_threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Sum a batch's statistics per word; see `opelda.engines.Engine.word_sums`."""
        shape = (batch.n_docs, len(batch.rows))
        by_word = sparse.csr_array((batch.counts, batch.words, batch.indptr), shape=shape).tocsc()
        starts = by_word.indptr.astype(np.int64)
        words = np.flatnonzero(np.diff(starts)).astype(np.int32)
        sums = np.empty((len(words), batch.n_topics), np.float32)
        _native.word_sums(
            batch.rows,
            theta,
            words,
            np.append(starts[words], starts[-1]),  # words that do not occur take no entries
            by_word.indices.astype(np.int32, copy=False),
            by_word.data,
            divide=divide,
            sums=sums,
            n_threads=n_threads,
        )
        return words, sums

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
    )


def _native_results(
    theta: NDArray[np.float32] | None,
    n_iter: NDArray[np.int32] | None,
    certificate: Certificate | None,
) -> Any:
    if certificate is None:
        return _native.Results(theta, n_iter, None, None, None, None)
    return _native.Results(
        theta,
        n_iter,
        certificate.gap,
        certificate.likelihood_gap,
        certificate.log_likelihood,
        certificate.log_prior,
    )


def _empty_certificate(n_docs: int) -> Certificate:
    return Certificate(*(np.empty(n_docs) for _ in range(4)))
