"""The CUDA engine: topics, documents and tokens on a GPU, with a CPU engine for the rest."""

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._accuracy import kept, replaced
from opelda.engines._solutions import certify_empty, completed, joined
from opelda.engines.cpu import _kernels as cpu
from opelda.engines.cpu._engine import CPUEngine
from opelda.engines.cuda import _kernels as kernels
from opelda.engines.cuda import _sweeps as sweeps
from opelda.engines.cuda._device import LANES, device_of
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
    SMALLEST,
    Certificate,
    Chosen,
    Documents,
    Engine,
    ExactSettings,
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
    is_concave,
    known,
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
            known(documents, weights.n_words)
        n_topics, n_threads = weights.n_topics, self.host.n_threads
        blocks, lengths = documents.some(chosen, n_topics, n_threads)
        if not lengths.any():
            return None
        certify, divide = wanted.certificate, wanted.factors
        logs, alpha = divide and task.method.expects_logs, task.alpha.astype(np.float32)
        table = CudaTable.of_weights(weights, logs=True) if logs else self._table(weights)
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

    def _sweep(
        self, tokens: Any, alpha: NDArray[np.float64], seed: int, n_draws: int, by: Any, prior: Any
    ) -> TokenCounts:
        with self.device.busy():
            return sweeps.sweep(tokens, alpha, seed, n_draws, by, prior)

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        def add(rows: Any, factor: float) -> NDArray[np.float64]:
            cells = there.there
            self.device.run(
                "counts", f"add_{there.kind}", cells.size,
                cells, np.float64(factor * there.unit), np.int64(cells.size),
                np.int32(there.n_topics), np.int32(rows.shape[1]), rows,
            )  # fmt: skip
            return factor * there.sums

        with self.device.busy():
            there = sweeps.CudaCounts.of(self.device, counts)
            weights.blend(share, add)

    def histogram(self, tokens: Any, share: float, row: int | None = None) -> SizeHistogram:
        with self.device.busy():
            return tokens.histogram(share, row)  # type: ignore[no-any-return]

    def infer(
        self, topics: Any, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        with self.device.busy():
            table = self._table(topics)
            rows = known(documents, table.n_words)
            blocks = in_blocks(rows, table.n_topics)
            if len(blocks) == 1:
                return self._solve(table, rows, task, wanted)
            empty = self.device.cp.empty if isinstance(rows, GivenRows) else np.empty
            theta = empty((rows.n_docs, table.n_topics), np.float32) if wanted.theta else None

            def solve(block: tuple[slice, Rows]) -> Solution:
                found = self._solve(table, block[1], task, wanted)
                if theta is None or found.theta is None:
                    return found
                # (one final copy of all mixtures would need another synchronisation)
                here = isinstance(theta, np.ndarray)
                theta[block[0]] = found.theta if here else self.device.array(found.theta)
                return replace(found, theta=None)

            found: Solution = joined(self.device.side_by_side(solve, blocks))
            return found if theta is None else replace(found, theta=theta)

    def certify(
        self, topics: Any, documents: Documents, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        with self.device.busy():
            table = self._table(topics)
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
        device, found = self.device, np.zeros(documents.n_docs)

        def score(block: tuple[slice, Rows]) -> None:
            rows, logs = CudaRows.of(device, block[1]), device.cp.zeros(block[1].n_docs)
            mixtures = device.array(theta[block[0]], np.float32)
            device.run(
                "predict", f"predict_{topics.dtype}", rows.n_docs,
                rows.indptr, rows.words, rows.counts, np.int32(rows.n_docs),
                topics, np.int64(topics.shape[1]), np.int32(len(topics)),
                mixtures, np.float64(SMALLEST), logs,
                threads=LANES,
            )  # fmt: skip
            found[block[0]] = device.host(logs)

        with device.busy():
            single = components.dtype == np.float32
            topics = device.array(components, np.float32 if single else np.float64)
            device.side_by_side(score, in_blocks(documents.part(), len(topics)))
        return found

    def read(self, *given: Any, **options: Any) -> NDArray[Any]:
        with self.device.busy():
            return super().read(*given, **options)

    def _table(self, topics: Any, words: NDArray[np.int32] | None = None) -> CudaTable:
        if isinstance(topics, CudaTable):
            return topics
        if words is not None:
            return CudaTable.of_weights(topics, words)
        found: CudaTable = topics.derived(lambda: CudaTable.of_weights(topics))
        return found

    def _solve(self, table: CudaTable, rows: Rows, task: Task, wanted: Wanted) -> Solution:
        """Infer mixtures, on the GPU where it has a kernel."""
        if is_concave(task.alpha) and isinstance(rows, GivenRows):
            rows = Rows(rows.indptr, rows.words, rows.counts)  # the processor knows their bounds

        def here(some: Rows, how: Task, parts: Wanted) -> Solution:
            return cpu.solve(table, some, how, parts, self.host.n_threads)

        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            settings = kernels.kernel_of(how, table.n_topics)
            if settings is None:
                return here(some, how, parts)
            there, alpha = CudaRows.of(table.device, some), how.alpha.astype(np.float32)
            dense = parts.theta or parts.certificate
            found = kernels.solve(table, there, settings, alpha, dense, parts.factors)
            solution = kernels.on_host(table.device, found, some, parts)
            if parts.certificate:
                bounds = kernels.certify(table, there, found.theta, how.alpha)
                solution = replace(solution, certificate=bounds)
            solution = completed(solution, some, how.alpha)
            if solution.loss is None or not isinstance(settings, ExactSettings):
                return solution
            # the processor infers the mixtures that miss the accuracy
            loss = solution.loss
            if solution.certificate is not None:  # (another bound of the same)
                loss = np.minimum(loss, solution.certificate.likelihood_loss)
                solution.certificate.likelihood_loss[:] = loss
            solution = replace(solution, loss=loss)
            missed = np.flatnonzero(loss > settings.limits(some.tokens()))
            if not len(missed):
                return solution
            best = here(some.take(missed), how, parts)
            return replaced(solution, missed, best, np.arange(len(missed)))

        return kept(infer, table.known_part(rows), task, wanted)
