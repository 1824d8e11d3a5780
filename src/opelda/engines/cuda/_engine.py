"""The CUDA engine: topics, documents and tokens on a GPU, with a CPU engine for the rest."""

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._solutions import certify_empty, joined
from opelda.engines.cpu._engine import CPUEngine
from opelda.engines.cpu._updates import check_words, known
from opelda.engines.cuda import _kernels as kernels
from opelda.engines.cuda import _mixtures as mixtures
from opelda.engines.cuda import _sweeps as sweeps
from opelda.engines.cuda._device import device_of
from opelda.engines.cuda._documents import (
    CudaDocuments,
    CudaRows,
    GivenDocuments,
    GivenRows,
    in_blocks,
    resident,
)
from opelda.engines.cuda._tables import CudaTable, CudaWeights
from opelda.engines.cuda._updates import Sums
from opelda.engines.seam import (
    EVERYTHING,
    Certificate,
    Chosen,
    Documents,
    Engine,
    Explained,
    HostWeights,
    Prior,
    Rows,
    SizeHistogram,
    Solution,
    Statistics,
    Task,
    TokenCounts,
    Tokens,
    Updated,
    Wanted,
    Weights,
)


class CudaEngine(Engine):
    """Runs on an NVIDIA GPU; a `CPUEngine` runs methods without a kernel there.

    Parameters
    ----------
    device : int
        The GPU's number.
    n_threads : int or None
        Threads of the processor's part.
    """

    def __init__(self, device: int = 0, n_threads: int | None = None) -> None:
        self.host = CPUEngine(n_threads)
        self.device = device_of(device)
        self.name = "cuda" if device == 0 else f"cuda:{device}"
        self._sums: Sums | None = None  # for the next update of this shape

    def __repr__(self) -> str:
        return f"CudaEngine(device={self.device.number})  # {self.device.title}"

    def documents(self, X: sparse.csr_array) -> CudaDocuments:
        return CudaDocuments(self.device, X, self.host.content_keys)

    def resident(self, X: Any) -> GivenDocuments | None:
        with self.device.busy():
            return resident(self.device, X)

    def weights(self, host: HostWeights) -> CudaWeights:
        return CudaWeights.of(self.device, self.name, self.host.weights(host))

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> CudaWeights:
        made = self.host.random_weights(n_words, n_topics, prior, seed)
        return CudaWeights.of(self.device, self.name, made)

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> CudaTable:
        with self.device.busy():
            return CudaTable.of_topics(self.device, components, ids)

    def update(self, *given: Any, **options: Any) -> Updated | None:
        with self.device.busy():
            return super().update(*given, **options)

    def statistics(self, *given: Any, **options: Any) -> Statistics:
        with self.device.busy():
            return super().statistics(*given, **options)

    def _explain(
        self, weights: Weights, documents: Documents, chosen: Chosen, task: Task, wanted: Wanted
    ) -> Explained | None:
        settings = kernels.kernel_of(task, weights.n_topics, learning=True)
        if settings is None:
            return self.host._explain(weights, documents, chosen, task, wanted)
        assert isinstance(weights, CudaWeights)
        assert isinstance(documents, CudaDocuments)
        started = perf_counter()
        if documents.n_words > weights.n_words:
            check_words(documents.part().words, weights.n_words)
        n_topics, n_threads = weights.n_topics, self.host.n_threads
        blocks, lengths = documents.some(chosen, n_topics, n_threads)
        if not lengths.any():
            return None
        certify, divide = wanted.certificate, wanted.factors
        logs, alpha = divide and task.method.expects_logs, task.alpha.astype(np.float32)
        table = CudaTable.of_weights(weights, logs=True) if logs else self._whole(weights)
        sums, n_tokens = self._sums, float(lengths.sum())
        # sums that an interruption left behind are not used again
        if sums is None or not sums.clean or sums.shape != (weights.n_words, n_topics):
            sums = self._sums = Sums(self.device, weights.n_words, n_topics)
        sums.clean = False

        def add(some: CudaRows | Rows) -> NDArray[np.float64]:
            rows = CudaRows.of(self.device, some)
            found = kernels.solve(table, rows, settings, alpha, theta=certify, factors=divide)
            sums.add(table, rows, found, n_tokens, divide)
            if not certify:
                return np.zeros(0)
            gap = kernels.certify(table, rows, found.theta, task.alpha).gap
            return gap[rows.lengths > 0]

        gaps = np.concatenate(self.device.side_by_side(add, blocks))
        sums.mean_gap = float(gaps.mean()) if certify else np.nan
        sums.e_seconds = perf_counter() - started
        return sums

    def tokens(self, documents: Documents, n_topics: int, **given: Any) -> Tokens:
        assert isinstance(documents, CudaDocuments)
        with self.device.busy():
            return sweeps.tokens_made(documents, n_topics, **given)

    def sweep(
        self, weights: Any, tokens: Any, alpha: NDArray[np.float64], **given: Any
    ) -> TokenCounts:
        with self.device.busy():
            return sweeps.sweep(weights, tokens, alpha, **given)

    def blend(self, weights: Any, counts: TokenCounts, share: float) -> None:
        with self.device.busy():
            sweeps.blend(weights, counts, share)

    def histogram(self, tokens: Any, share: float) -> SizeHistogram:
        with self.device.busy():
            return tokens.histogram(share)  # type: ignore[no-any-return]

    def infer(
        self, topics: Any, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        with self.device.busy():
            table, n_threads = self._whole(topics), self.host.n_threads
            rows = known(documents, table.n_words)
            blocks = in_blocks(rows, table.n_topics)
            if len(blocks) == 1:
                return mixtures.solved(table, rows, task, wanted, n_threads)
            empty = self.device.cp.empty if isinstance(rows, GivenRows) else np.empty
            theta = empty((rows.n_docs, table.n_topics), np.float32) if wanted.theta else None

            def solve(block: tuple[slice, Rows]) -> Solution:
                found = mixtures.solved(table, block[1], task, wanted, n_threads)
                if theta is None or found.theta is None:
                    return found
                # (a copy of all mixtures in the end would take one more wait)
                here = isinstance(theta, np.ndarray)
                theta[block[0]] = found.theta if here else self.device.array(found.theta)
                return replace(found, theta=None)

            found: Solution = joined(self.device.side_by_side(solve, blocks))
            return found if theta is None else replace(found, theta=theta)

    def certify(
        self, topics: Any, documents: Documents, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        with self.device.busy():
            table = self._whole(topics)
            rows = table.known_part(known(documents, table.n_words))

            def bounds(block: tuple[slice, Rows]) -> Certificate:
                there = CudaRows.of(self.device, block[1])
                return kernels.certify(table, there, theta[block[0]], alpha)

            blocks = in_blocks(rows, table.n_topics)
            found: Certificate = joined(self.device.side_by_side(bounds, blocks))
            certify_empty(found, rows, alpha)
        return found

    def predict(
        self, components: NDArray[Any], documents: Documents, theta: NDArray[Any]
    ) -> NDArray[np.float64]:
        with self.device.busy():
            return mixtures.predict(self.device, components, documents, theta)

    def far_apart(
        self, X: sparse.csr_array, draws: NDArray[np.float64], n_begun: int = 0
    ) -> NDArray[np.int64] | None:
        with self.device.busy():
            return mixtures.far_apart(self.device, X, draws, n_begun)

    def read(self, weights: Any, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
        if words is not None:
            check_words(words, weights.n_words)
        with self.device.busy():
            table = self._whole(weights) if words is None else CudaTable.of_weights(weights, words)
            topics: NDArray[np.float32] = table.rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    def _whole(self, topics: Any) -> CudaTable:
        """Return the topics of every word; cache a table of weights until they change."""
        if isinstance(topics, CudaTable):
            return topics
        table: CudaTable = topics.derived(lambda: CudaTable.of_weights(topics))
        return table
