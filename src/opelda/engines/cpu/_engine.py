"""The CPU engine: native kernels, threads over documents, the GIL released."""

from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _native
from opelda._validation import threads
from opelda.engines._accuracy import kept
from opelda.engines._numpy_scores import Plain
from opelda.engines._solutions import joined
from opelda.engines.cpu import _kernels as kernels
from opelda.engines.cpu import _sweeps as sweeps
from opelda.engines.cpu import _tables as tables
from opelda.engines.cpu import _updates as updates
from opelda.engines.cpu._sweeps import BlockTokens
from opelda.engines.cpu._tables import TopicTable
from opelda.engines.seam import (
    EVERYTHING,
    Certificate,
    Chosen,
    Documents,
    HostWeights,
    Prior,
    Rows,
    Rule,
    Solution,
    Solver,
    Statistics,
    Step,
    Task,
    TokenCounts,
    Tokens,
    Updated,
    Wanted,
    Weights,
    changing,
)
from opelda.errors import EngineError

CHUNK = 16_384  # documents at a time whose topics are made for them


class CPUEngine(Plain):
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

    name = "cpu"

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None:  # looking for cores takes as long as a short document
            threads(n_threads, "n_threads")
        self._n_threads = n_threads

    @property
    def n_threads(self) -> int:
        """Threads of a call; looked up when they are needed, for one document needs none."""
        return threads(self._n_threads, "n_threads")

    def __repr__(self) -> str:
        return f"CPUEngine(n_threads={self.n_threads})"

    def documents(self, X: sparse.csr_array) -> Documents:
        return Documents(X, self.content_keys)

    def weights(self, host: HostWeights) -> Weights:
        rows, n_topics = host.rows, host.rows.shape[1]
        if tables.row_width(n_topics) != n_topics or not rows.flags.c_contiguous:
            rows = tables.padded_rows(rows, n_topics)
        taken = vars(host) | {"rows": rows, "prior": tables.padded_prior(host.prior, n_topics)}
        return Weights(self.name, n_topics=n_topics, **taken)

    def random_weights(self, n_words: int, n_topics: int, prior: Prior, seed: int) -> Weights:
        rows = tables.aligned_empty(n_words, tables.row_width(n_topics))
        _native.random_start(rows, n_topics=n_topics, seed=seed, n_threads=self.n_threads)
        return Weights(self.name, rows, n_topics, tables.padded_prior(prior, n_topics))

    def topics(self, components: NDArray[Any], ids: NDArray[np.int32] | None = None) -> TopicTable:
        return TopicTable.of(components, ids)

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
        started = perf_counter()
        rows = updates.gathered(documents, chosen, self.n_threads)
        if not len(rows.words):
            return None
        batch = updates.transposed(rows, weights.n_words, self.n_threads)
        table = self._batch_topics(weights, batch, task.method, rule.divide)
        ready = perf_counter()
        # whatever takes long, and may be interrupted, comes before the first change
        solution, table = self._explained(
            table, rows, batch, task, divide=rule.divide, certify=certify, alike=step.number == 1
        )
        solved = perf_counter()
        with changing(self, weights, step):
            explained = partial(updates.mass, solution, batch.tokens, weights.n_topics)
            gain = rule.prepare(weights, step, rows.n_docs, explained)
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
        m_seconds = perf_counter() - solved + ready - started
        return Updated(step.rho, solved - ready, m_seconds, solution.mean_gap(rows))

    def statistics(
        self,
        weights: Weights,
        documents: Documents,
        task: Task,
        *,
        divide: bool,
        chosen: Chosen = None,
    ) -> Statistics:
        rows = updates.gathered(documents, chosen, self.n_threads)
        batch = updates.transposed(rows, weights.n_words, self.n_threads)
        table = self._batch_topics(weights, batch, task.method, divide)
        solution, table = self._explained(table, rows, batch, task, divide=divide)
        n_topics, values = weights.n_topics, np.zeros(table.rows.shape, np.float32)
        every, as_is = np.arange(len(batch.words), dtype=np.int32), np.ones(n_topics)
        how: dict[str, Any] = {"divide": divide, "gain": as_is, "n_threads": self.n_threads}
        updates.add(values, every, batch, table, solution, **how)
        mass = updates.mass(solution, batch.tokens, n_topics)
        return Statistics(batch.words, values[:, :n_topics].astype(np.float64), mass, rows.n_docs)

    def apply(self, weights: Weights, statistics: Statistics, rule: Rule, step: Step) -> None:
        with changing(self, weights, step):
            gain = rule.prepare(weights, step, statistics.n_docs, lambda: statistics.mass)
            before = weights.rows[statistics.words, : weights.n_topics]
            after = before + (gain * statistics.values).astype(np.float32)
            weights.rows[statistics.words, : weights.n_topics] = after
            weights.sums = weights.sums + (after.astype(np.float64) - before).sum(axis=0)

    def tokens(
        self,
        documents: Documents,
        n_topics: int,
        *,
        topics: NDArray[np.uint16] | None = None,
        **of_whole: Any,
    ) -> BlockTokens:
        tokens = Tokens.of(documents, n_topics, **of_whole)
        return BlockTokens.laid_out(tokens, topics, self.n_threads)

    def sweep(
        self, weights: Weights | None, tokens: BlockTokens, alpha: NDArray[np.float64], **given: Any
    ) -> TokenCounts:
        return sweeps.sweep(weights, tokens, alpha, **given, n_threads=self.n_threads)

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        sweeps.blend(weights, counts, share, self.n_threads)

    histogram = staticmethod(BlockTokens.histogram)

    def infer(
        self,
        topics: TopicTable | Weights,
        documents: Documents,
        task: Task,
        wanted: Wanted = EVERYTHING,
    ) -> Solution:
        every = task.method.needs_every_word
        if isinstance(topics, TopicTable) or every or topics.rows.nbytes <= tables.MOST_BYTES:
            return self._solve(*self._fitting(topics, documents), task, wanted)
        parts = []
        for first in range(0, max(documents.n_docs, 1), CHUNK):
            rows = documents.part(first, min(first + CHUNK, documents.n_docs))
            batch = updates.transposed(rows, topics.n_words, self.n_threads)
            table = tables.topic_rows(topics, batch.words, n_threads=self.n_threads)
            parts.append(self._solve(table, replace(rows, words=batch.slots), task, wanted))
        found: Solution = joined(parts)
        return found

    def certify(
        self,
        topics: TopicTable | Weights,
        documents: Documents,
        theta: NDArray[Any],
        alpha: NDArray[np.float64],
    ) -> Certificate:
        table, rows = self._fitting(topics, documents)
        return kernels.certify(table, table.known_part(rows), theta, alpha, self.n_threads)

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
        if words is None:
            table = self._whole(weights)
        else:
            updates.check_words(words, weights.n_words)
            table = tables.topic_rows(weights, words, n_threads=self.n_threads)
        topics: NDArray[np.float32] = table.rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    @property
    def instruction_set(self) -> str:
        """The instruction set in use: 'avx512', 'avx2' or 'base'."""
        return str(_native.instruction_set())

    def use_instruction_set(self, name: str) -> None:
        """Switch every CPU engine of this process to another instruction set (for tests)."""
        if not _native.use_instruction_set(name):
            raise EngineError(f"This processor or build has no instruction set {name!r}.")

    def content_keys(self, rows: Rows) -> NDArray[np.uint64]:
        """Return a key per document, of its words and counts alone; see `seam.content_keys`."""
        return kernels.content_keys(rows, None, self.n_threads)

    def _fitting(
        self, topics: TopicTable | Weights, documents: Documents
    ) -> tuple[TopicTable, Rows]:
        """Return the topics of every word and the documents, whose words they must have."""
        table, rows = self._whole(topics), documents.part()
        if documents.n_words > len(table.rows):
            updates.check_words(rows.words, len(table.rows))
        return table, rows

    def _whole(self, topics: TopicTable | Weights) -> TopicTable:
        """Return the topics of every word; those of weights are cached until they change."""
        if isinstance(topics, TopicTable):
            return topics
        table: TopicTable | None = topics.derived
        if table is None:
            version = topics.version  # before reading: another thread may change them meanwhile
            table = tables.topic_rows(topics, None, n_threads=self.n_threads)
            if table.rows.nbytes <= tables.MOST_BYTES:
                topics.keep(table, version)
        return table

    def _batch_topics(
        self, weights: Weights, batch: updates.Transposed, method: Solver, divide: bool
    ) -> TopicTable:
        """Return the topics of a batch's words for learning, of every word where a method asks."""
        words = None if method.needs_every_word else batch.words
        logs = divide and method.expects_logs
        return tables.topic_rows(weights, words, logs=logs, n_threads=self.n_threads)

    def _explained(
        self,
        table: TopicTable,
        rows: Rows,
        batch: updates.Transposed,
        task: Task,
        *,
        divide: bool,
        certify: bool = False,
        alike: bool = False,
    ) -> tuple[Solution, TopicTable]:
        """Infer a batch for learning; return that and the topics of its words.

        Topics that are all but `alike` are not screened: no bound tells them apart.
        """
        every = task.method.needs_every_word
        inferred = rows if every else replace(rows, words=batch.slots)
        wanted = Wanted(theta=False, certificate=certify, factors=divide)
        solution = self._solve(table, inferred, task, wanted, screen=not alike)
        words = batch.words
        if every:
            table = TopicTable(table.rows[words], table.mean[words], table.n_topics, words)
        return solution, table

    def _solve(
        self, table: TopicTable, rows: Rows, task: Task, wanted: Wanted, screen: bool = True
    ) -> Solution:
        # asking for the threads takes longer than starting a kernel
        n_threads = self.n_threads if rows.n_docs > kernels.AT_ONCE else 1

        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            return kernels.solve(table, some, how, parts, screen, n_threads)

        return kept(infer, table.known_part(rows), task, wanted)
