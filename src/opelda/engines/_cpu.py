"""The CPU engine: native kernels, threads over documents, the GIL released."""

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _native
from opelda._validation import threads
from opelda.engines import _cpu_kernels as kernels
from opelda.engines import _cpu_updates as updates
from opelda.engines._cpu_inference import CPUInference
from opelda.engines._cpu_sweeps import CPUSweeps
from opelda.engines._cpu_tables import (
    Table,
    aligned_empty,
    padded_prior,
    padded_rows,
    row_width,
)
from opelda.engines._documents import Chosen, Documents
from opelda.engines._engine import Rule, Statistics, Step, Task, Updated, changing
from opelda.engines._weights import HostWeights, Prior, Weights
from opelda.errors import EngineError


class CPUEngine(CPUInference, CPUSweeps):
    """Runs the native kernels on this machine's processor.

    Parameters
    ----------
    n_threads : int or None
        As ``n_jobs`` everywhere: None is every core, but one inside a worker.

    Examples
    --------
    >>> CPUEngine(2)
    CPUEngine(n_threads=2)
    """

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None:
            threads(n_threads, "n_threads")
        self._n_threads = n_threads

    @property
    def n_threads(self) -> int:
        """Threads of a call; looked up when they are needed, for one document needs none."""
        return threads(self._n_threads, "n_threads")

    def __repr__(self) -> str:
        return f"CPUEngine(n_threads={self.n_threads})"

    def documents(self, X: sparse.csr_array) -> Documents:
        """Take a collection; see `Engine.documents`."""
        return Documents(X)

    def weights(self, host: HostWeights) -> Weights:
        """Take weights; see `Engine.weights`. Rows that need no padding are not copied."""
        n_topics = host.rows.shape[1]
        rows = host.rows
        if row_width(n_topics) != n_topics or not rows.flags.c_contiguous:
            rows = padded_rows(rows, n_topics)
        return Weights(
            self.name,
            rows,
            n_topics,
            padded_prior(host.prior, n_topics),
            scale=host.scale,
            prior_weight=host.prior_weight,
            sums=host.sums,
        )

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        """Make the weights that learning starts with; see `Engine.random_weights`."""
        rows = aligned_empty(n_words, row_width(n_topics))
        _native.random_start(rows, n_topics=n_topics, seed=seed, n_threads=self.n_threads)
        return Weights(self.name, rows, n_topics, padded_prior(prior, n_topics))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> Table:
        """Take fixed topics; see `Engine.topics`."""
        return Table.of(components, ids)

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
        started = perf_counter()
        rows = updates.gathered(documents, chosen, self.n_threads)
        if not len(rows.words):
            return None
        batch = updates.transposed(rows, weights.n_words, self.n_threads)
        table = self._laid_out(weights, batch, task.method, rule.divide)
        laid_out = perf_counter()
        solution, table = self._explained(
            table,
            rows,
            batch,
            task,
            divide=rule.divide,
            certify=certify,
            alike=step.number == 1,
        )
        solved = perf_counter()
        with changing(self, weights, step):
            gain = rule.prepare(
                weights,
                step,
                rows.n_docs,
                lambda: updates.mass(solution, batch.tokens, weights.n_topics),
            )
            weights.sums = weights.sums + updates.add(
                weights.rows,
                batch.words,
                batch,
                table,
                solution,
                divide=rule.divide,
                gain=gain,
                n_threads=self.n_threads,
            )
        gap = np.nan
        if solution.certificate is not None:
            gap = float(solution.certificate.gap[~rows.empty].mean())
        ended = perf_counter()
        return Updated(step.rho, solved - laid_out, ended - solved + laid_out - started, gap)

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
        rows = updates.gathered(documents, chosen, self.n_threads)
        batch = updates.transposed(rows, weights.n_words, self.n_threads)
        table = self._laid_out(weights, batch, task.method, divide)
        solution, table = self._explained(table, rows, batch, task, divide=divide)
        n_topics, n_words = weights.n_topics, len(batch.words)
        values = np.zeros(table.rows.shape, np.float32)
        updates.add(
            values,
            np.arange(n_words, dtype=np.int32),
            batch,
            table,
            solution,
            divide=divide,
            gain=np.ones(n_topics),
            n_threads=self.n_threads,
        )
        mass = updates.mass(solution, batch.tokens, n_topics)
        return Statistics(batch.words, values[:, :n_topics].astype(np.float64), mass, rows.n_docs)

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        """Update by statistics; see `Engine.apply`."""
        with changing(self, weights, step):
            gain = rule.prepare(weights, step, statistics.n_docs, lambda: statistics.mass)
            before = weights.rows[statistics.words, : weights.n_topics]
            after = before + (gain * statistics.values).astype(np.float32)
            weights.rows[statistics.words, : weights.n_topics] = after
            weights.sums = weights.sums + (after.astype(np.float64) - before).sum(axis=0)

    @property
    def instruction_set(self) -> str:
        """The instruction set in use: 'avx512', 'avx2' or 'base'."""
        return str(_native.instruction_set())

    def use_instruction_set(self, name: str) -> None:
        """Switch every CPU engine of this process to another instruction set (for tests)."""
        if not _native.use_instruction_set(name):
            raise EngineError(f"This processor or build has no instruction set {name!r}.")

    def read_rows(self, topics: Table, documents: Documents, ahead: int = 12) -> None:
        """Read the topic weights of the documents' words and do nothing else: the limit to beat.

        The row of the word `ahead` words later is fetched meanwhile; 0 is a plain loop.
        """
        alpha = np.ones(topics.n_topics, np.float32)
        batch = kernels.native_batch(topics, documents.part(), alpha)
        _native.read_rows(batch, ahead=ahead, n_threads=self.n_threads)
