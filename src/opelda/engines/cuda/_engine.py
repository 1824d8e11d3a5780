"""The CUDA engine: topics, documents and tokens on a GPU; its host engine does what it cannot."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._solutions import joined
from opelda.engines.cpu._engine import CPUEngine
from opelda.engines.cpu._updates import check_words
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
from opelda.engines.cuda._tokens import CudaTokenBlocks, CudaTokens, tokens_made
from opelda.engines.cuda._updates import Sums
from opelda.engines.seam import (
    EVERYTHING,
    Certificate,
    Chosen,
    Documents,
    HostWeights,
    KernelSettings,
    Prior,
    Rows,
    Rule,
    SizeHistogram,
    Solution,
    Statistics,
    Step,
    Task,
    TokenCounts,
    Updated,
    Wanted,
    Weights,
    changing,
)


class CudaEngine:
    """Runs on a GPU of NVIDIA's, and what has no kernel there by a `CPUEngine`.

    Parameters
    ----------
    device : int
        Which one.
    n_threads : int or None
        Threads of what is done by the processor.
    """

    def __init__(self, device: int = 0, n_threads: int | None = None) -> None:
        self.host = CPUEngine(n_threads)
        self.device = device_of(device)
        self.name = "cuda" if device == 0 else f"cuda:{device}"
        self._sums: Sums | None = None  # between updates

    def __repr__(self) -> str:
        return f"CudaEngine(device={self.device.number})  # {self.device.title}"

    def documents(self, X: sparse.csr_array) -> CudaDocuments:
        return CudaDocuments(X, self.host.content_keys)

    def resident(self, X: Any) -> GivenDocuments | None:
        with self.device.busy():
            return resident(self.device, X)

    def keeps(self, weights: Weights) -> bool:
        return weights.owner == self.name

    def weights(self, host: HostWeights) -> CudaWeights:
        return self._owned(self.host.weights(host))

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> CudaWeights:
        return self._owned(self.host.random_weights(n_words, n_topics, prior, seed))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> CudaTable:
        with self.device.busy():
            return CudaTable.of_topics(self.device, components, ids)

    def update(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        rule: Rule,
        step: Step,
        *,
        chosen: Chosen = None,
        certify: bool = False,
    ) -> Updated | None:
        settings = kernels.for_updates(task, weights.n_topics)
        if settings is None:
            return self.host.update(
                weights, documents, task, rule, step, chosen=chosen, certify=certify
            )
        assert isinstance(weights, CudaWeights)
        started = perf_counter()
        with self.device.busy():
            blocks, lengths = self._chosen(documents, chosen, weights)
            if not lengths.any():
                return None
            how = {"divide": rule.divide, "certify": certify}
            sums, gap = self._summed(weights, blocks, task, settings, lengths.sum(), **how)
            solved = perf_counter()
            with changing(self, weights, step):
                gain = rule.prepare(weights, step, len(lengths), sums.mass)
                sums.add_to(weights, gain)
            self._sums = sums
        return Updated(step.rho, solved - started, perf_counter() - solved, gap)

    def statistics(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        *,
        divide: bool,
        chosen: Chosen = None,
    ) -> Statistics:
        settings = kernels.for_updates(task, weights.n_topics)
        if settings is None:
            return self.host.statistics(weights, documents, task, divide=divide, chosen=chosen)
        assert isinstance(weights, CudaWeights)
        with self.device.busy():
            blocks, lengths = self._chosen(documents, chosen, weights)
            sums, _ = self._summed(weights, blocks, task, settings, lengths.sum(), divide=divide)
            mass = sums.mass()
            found = Statistics(*sums.taken(), mass, len(lengths))
            self._sums = sums
        return found

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        self.host.apply(weights, statistics, rule, step)

    def tokens(
        self, documents: Documents, n_topics: int, **given: Any
    ) -> CudaTokens | CudaTokenBlocks:
        assert isinstance(documents, CudaDocuments)
        with self.device.busy():
            return tokens_made(self.device, documents, n_topics, **given)

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
            table, rows = self._fitting(topics, documents)
            blocks = in_blocks(rows, table.n_topics)
            if len(blocks) == 1:
                return self._solve(table, rows, task, wanted)
            empty = self.device.cp.empty if isinstance(rows, GivenRows) else np.empty
            theta = empty((rows.n_docs, table.n_topics), np.float32) if wanted.theta else None

            def solve(block: tuple[slice, Rows]) -> Solution:
                found = self._solve(table, block[1], task, wanted)
                if theta is None or found.theta is None:
                    return found
                # (all together in the end would be one more wait)
                here = isinstance(theta, np.ndarray)
                theta[block[0]] = found.theta if here else self.device.array(found.theta)
                return replace(found, theta=None)

            found: Solution = joined(self.device.side_by_side(solve, blocks))
            return found if theta is None else replace(found, theta=theta)

    def certify(
        self, topics: Any, documents: Documents, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        with self.device.busy():
            table, rows = self._fitting(topics, documents)

            def bounds(block: tuple[slice, Rows]) -> Certificate:
                there = CudaRows.of(self.device, block[1])
                return kernels.certificate(table, there, block[1], theta[block[0]], alpha)

            blocks = in_blocks(table.known_part(rows), table.n_topics)
            found: Certificate = joined(self.device.side_by_side(bounds, blocks))
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

    def _owned(self, weights: Weights) -> CudaWeights:
        return CudaWeights.of(self.device, self.name, weights)

    def _whole(self, topics: Any) -> CudaTable:
        """Return the topics of every word; those of weights are cached until they change."""
        if isinstance(topics, CudaTable):
            return topics
        table: CudaTable | None = topics.derived
        if table is None:
            version = topics.version  # before reading: another thread may change them meanwhile
            table = CudaTable.of_weights(topics)
            topics.keep(table, version)
        return table

    def _fitting(self, topics: Any, documents: Documents) -> tuple[CudaTable, Rows]:
        """Return the topics of every word and the documents, whose words they must have."""
        table, rows = self._whole(topics), documents.part()
        if documents.n_words > table.n_words:
            check_words(rows.words, table.n_words)
        return table, rows

    def _chosen(
        self, documents: Documents, chosen: Chosen, weights: Weights
    ) -> tuple[Sequence[CudaRows | Rows], NDArray[np.float64]]:
        """Return some documents, whose words topics must have, as `CudaDocuments.some` does."""
        assert isinstance(documents, CudaDocuments)
        if documents.n_words > weights.n_words:
            check_words(documents.part().words, weights.n_words)
        return documents.some(self.device, chosen, weights.n_topics, self.host.n_threads)

    def _summed(
        self,
        weights: CudaWeights,
        blocks: Sequence[CudaRows | Rows],
        task: Task,
        settings: KernelSettings,
        n_tokens: float,
        *,
        divide: bool,
        certify: bool = False,
    ) -> tuple[Sums, float]:
        """Infer documents and sum up; return that and the mean gap."""
        logs, alpha = divide and task.method.expects_logs, task.alpha.astype(np.float32)
        table = CudaTable.of_weights(weights, logs=True) if logs else self._whole(weights)
        # sums that an interruption left behind are not used again
        sums, self._sums = self._sums, None
        if sums is None or sums.shape != (weights.n_words, weights.n_topics):
            sums = Sums(self.device, weights.n_words, weights.n_topics)

        def add(some: CudaRows | Rows) -> NDArray[np.float64]:
            rows = CudaRows.of(self.device, some)
            found = kernels.solve(table, rows, settings, alpha, theta=certify, factors=divide)
            sums.add(table, rows, found, n_tokens, divide)
            if not certify:
                return np.zeros(0)
            gaps = kernels.certify(table, rows, found.theta, task.alpha)[0]
            return gaps[rows.lengths > 0]

        gaps = np.concatenate(self.device.side_by_side(add, blocks))
        return sums, float(gaps.mean()) if certify else np.nan

    def _solve(self, table: CudaTable, rows: Rows, task: Task, wanted: Wanted) -> Solution:
        return mixtures.solved(table, rows, task, wanted, self.host.n_threads)
