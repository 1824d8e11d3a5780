"""The CUDA engine: topics, documents and tokens on a GPU; what has no kernel there runs here."""

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines import _cpu_kernels as cpu_kernels
from opelda.engines import _cuda_kernels as kernels
from opelda.engines import _cuda_sweeps as sweeps
from opelda.engines._accuracy import kept
from opelda.engines._cpu import CPUEngine
from opelda.engines._cpu_updates import check_words
from opelda.engines._cuda_counts import blend
from opelda.engines._cuda_device import device_of, tell
from opelda.engines._cuda_documents import CudaDocuments, CudaRows, in_blocks
from opelda.engines._cuda_sweeps import CudaTokens
from opelda.engines._cuda_tables import CudaTable, CudaWeights
from opelda.engines._cuda_updates import Sums
from opelda.engines._documents import Chosen, Documents, Rows
from opelda.engines._engine import Rule, Solver, Statistics, Step, Task, Updated, changing
from opelda.engines._settings import KernelSettings
from opelda.engines._solutions import EVERYTHING, Certificate, Solution, Wanted, completed, joined
from opelda.engines._tokens import SizeHistogram, TokenCounts
from opelda.engines._weights import HostWeights, Prior, Weights


class CudaEngine(CPUEngine):
    """Runs on a GPU of NVIDIA's.

    Parameters
    ----------
    device : int
        Which one.
    n_threads : int or None
        Threads of what is done by the processor.
    """

    def __init__(self, device: int = 0, n_threads: int | None = None) -> None:
        super().__init__(n_threads)
        self.device = device_of(device)
        self.name = "cuda" if device == 0 else f"cuda:{device}"
        self._sums: Sums | None = None  # between updates

    def __repr__(self) -> str:
        return f"CudaEngine(device={self.device.number})  # {self.device.title}"

    def documents(self, X: sparse.csr_array) -> CudaDocuments:
        """Take a collection; see `Engine.documents`."""
        return CudaDocuments(X, self._content_keys)

    def weights(self, host: HostWeights) -> CudaWeights:
        """Take weights; see `Engine.weights`."""
        return self._owned(super().weights(host))

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> CudaWeights:
        """Make the weights that learning starts with; see `Engine.random_weights`."""
        return self._owned(super().random_weights(n_words, n_topics, prior, seed))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> CudaTable:
        """Take fixed topics; see `Engine.topics`."""
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
        """Infer and update; see `Engine.update`."""
        settings = self._settings(task, weights.n_topics)
        if settings is None:
            return super().update(
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
        """Infer and sum up; see `Engine.statistics`."""
        settings = self._settings(task, weights.n_topics)
        if settings is None:
            return super().statistics(weights, documents, task, divide=divide, chosen=chosen)
        assert isinstance(weights, CudaWeights)
        with self.device.busy():
            blocks, lengths = self._chosen(documents, chosen, weights)
            sums, _ = self._summed(weights, blocks, task, settings, lengths.sum(), divide=divide)
            mass = sums.mass()
            found = Statistics(*sums.taken(), mass, len(lengths))
            self._sums = sums
        return found

    def tokens(  # type: ignore[override]
        self,
        documents: Documents,
        n_topics: int,
        *,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
        topics: NDArray[np.uint16] | None = None,
    ) -> CudaTokens:
        """Make tokens; see `Engine.tokens`."""
        assert isinstance(documents, CudaDocuments)
        with self.device.busy():
            return CudaTokens.made(self.device, documents, n_topics, copies, shift, topics)

    def sweep(
        self,
        weights: Any,
        tokens: Any,
        alpha: NDArray[np.float64],
        *,
        counts: TokenCounts | None = None,
        prior: Prior | None = None,
        seed: int,
        n_draws: int = 1,
    ) -> TokenCounts:
        """Draw and count; see `Engine.sweep`."""
        how: dict[str, Any] = {"seed": seed, "n_draws": n_draws}
        with self.device.busy():
            return sweeps.sweep(weights, tokens, alpha, counts, prior, **how)

    def blend(self, weights: Any, counts: TokenCounts, share: float) -> None:
        """Average; see `Engine.blend`."""
        with self.device.busy():
            blend(weights, counts, share)

    def histogram(self, tokens: Any, share: float) -> SizeHistogram:
        """Count documents; see `Engine.histogram`."""
        with self.device.busy():
            found: SizeHistogram = tokens.histogram(share)
        return found

    def infer(
        self, topics: Any, documents: Documents, task: Task, wanted: Wanted = EVERYTHING
    ) -> Solution:
        """Infer mixtures; see `Engine.infer`."""
        with self.device.busy():
            table, rows = self._fitting(topics, documents)
            blocks = in_blocks(self.device, rows, table.n_topics)
            found: Solution = joined([self._solve(table, some, task, wanted) for some in blocks])
        return found

    def certify(
        self,
        topics: Any,
        documents: Documents,
        theta: NDArray[Any],
        alpha: NDArray[np.float64],
    ) -> Certificate:
        """Certify mixtures; see `Engine.certify`."""
        with self.device.busy():
            table, rows = self._fitting(topics, documents)
            parts, first = [], 0
            for some in in_blocks(self.device, table.known_part(rows), table.n_topics):
                there, last = CudaRows.of(self.device, some), first + some.n_docs
                parts.append(kernels.certificate(table, there, some, theta[first:last], alpha))
                first = last
            found: Certificate = joined(parts)
        return found

    def read(self, weights: Any, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
        """Return topics; see `Engine.read`."""
        if words is not None:
            check_words(words, weights.n_words)
        with self.device.busy():
            table = self._whole(weights) if words is None else CudaTable.of_weights(weights, words)
            topics: NDArray[np.float32] = table.rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    def _owned(self, weights: Weights) -> CudaWeights:
        """Return the same weights as the GPU has them."""
        given = {
            name: getattr(weights, name) for name in ("scale", "prior_weight", "sums", "prior")
        }
        return CudaWeights(
            self.device, self.name, weights.rows, weights.n_topics, given.pop("prior"), **given
        )

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

    def _settings(self, task: Task, n_topics: int) -> KernelSettings | None:
        """Return the settings of an update's kernel on the GPU; None where it runs here."""
        settings = task.method.kernel(n_topics, task.seed)
        if kernels.has_kernel(settings) and task.accuracy is None:
            return settings
        _tell_of(task.method)
        return None

    def _chosen(
        self, documents: Documents, chosen: Chosen, weights: Weights
    ) -> tuple[Iterable[CudaRows], NDArray[np.float64]]:
        """Return some documents, whose words topics must have, as `CudaDocuments.some` does."""
        assert isinstance(documents, CudaDocuments)
        if documents.n_words > weights.n_words:
            check_words(documents.part().words, weights.n_words)
        return documents.some(self.device, chosen, weights.n_topics, self.n_threads)

    def _summed(
        self,
        weights: CudaWeights,
        blocks: Iterable[CudaRows],
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
        gaps = []
        for rows in blocks:
            found = kernels.solve(table, rows, settings, alpha, theta=certify, factors=divide)
            if certify:
                bounds = kernels.certify(table, rows, found.theta, alpha)
                gaps.append(bounds[0][rows.lengths > 0])
            sums.add(table, rows, found, n_tokens, divide)
        return sums, float(np.concatenate(gaps).mean()) if certify else np.nan

    def _solve(
        self, table: Any, rows: Rows, task: Task, wanted: Wanted, screen: bool = True
    ) -> Solution:
        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            settings = how.method.kernel(table.n_topics, how.seed)
            if not isinstance(table, CudaTable) or not kernels.has_kernel(settings):
                _tell_of(how.method)
                return cpu_kernels.solve(table, some, how, parts, screen, self.n_threads)
            assert settings is not None
            there, alpha = CudaRows.of(self.device, some), how.alpha.astype(np.float32)
            dense = parts.theta or parts.certificate
            found = kernels.solve(table, there, settings, alpha, dense, parts.factors)
            solution = kernels.on_host(self.device, found, some, parts)
            if parts.certificate:
                bounds = kernels.certificate(table, there, some, found.theta, how.alpha)
                solution = replace(solution, certificate=bounds)
            return completed(solution, some, how.alpha)

        return kept(infer, table.known_part(rows), task, wanted)


def _tell_of(method: Solver) -> None:
    name = type(method).__name__
    tell(f"{name} as it is set has no kernel on the GPU: the processor infers these mixtures.")
