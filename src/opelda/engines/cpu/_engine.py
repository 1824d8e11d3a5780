"""The CPU engine: native kernels, threads over documents, the GIL released."""

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _native
from opelda._validation import threads
from opelda.engines._accuracy import kept
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
    Engine,
    HostWeights,
    Intervals,
    Prior,
    Rows,
    SizeHistogram,
    Solution,
    Task,
    TokenCounts,
    Tokens,
    Wanted,
    Weights,
    known,
)
from opelda.errors import EngineError

CHUNK = 16_384  # documents at a time whose topics are made for them


class CPUEngine(Engine):
    """Runs the native kernels on this machine's processor.

    Parameters
    ----------
    n_threads : int or None
        As `n_jobs` elsewhere: None means every core, but one core inside a worker.

    Examples
    --------
    >>> CPUEngine(2)
    CPUEngine(n_threads=2)
    """

    name = "cpu"

    def __init__(self, n_threads: int | None = None) -> None:
        if n_threads is not None:  # counting cores costs as much as a short document
            threads(n_threads, "n_threads")
        self._n_threads = n_threads

    @property
    def n_threads(self) -> int:
        """Threads of a call, counted on demand, for one document needs one thread."""
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

    def _explain(
        self, weights: Weights, documents: Documents, chosen: Chosen, task: Task, wanted: Wanted
    ) -> updates.Explained | None:
        n_threads, method = self.n_threads, task.method
        rows = updates.gathered(documents, chosen, n_threads)
        if not len(rows.words):
            return None
        batch = updates.transposed(rows, weights.n_words, n_threads)
        words = None if method.needs_every_word else batch.words
        logs = wanted.factors and method.expects_logs
        table = tables.topic_rows(weights, words, logs=logs, n_threads=n_threads)
        inferred = rows if words is None else replace(rows, words=batch.slots)
        ready = perf_counter()
        solution = self._solve(table, inferred, task, wanted)
        e_seconds = perf_counter() - ready
        if words is None:
            held = batch.words
            table = TopicTable(table.rows[held], table.mean[held], table.n_topics, held)
        gap = solution.mean_gap(rows)
        parts = batch, table, solution, wanted.factors, n_threads
        return updates.Explained(*parts, e_seconds, gap)

    def tokens(self, documents: Documents, n_topics: int, **given: Any) -> BlockTokens:
        topics = given.pop("topics", None)
        return BlockTokens.laid_out(Tokens.of(documents, n_topics, **given), topics, self.n_threads)

    def _sweep(
        self, tokens: Any, alpha: NDArray[np.float64], seed: int, n_draws: int, by: Any, prior: Any
    ) -> TokenCounts:
        return sweeps.sweep(tokens, alpha, seed, n_draws, by, prior, self.n_threads)

    def blend(self, weights: Weights, counts: TokenCounts, share: float) -> None:
        def add(rows: NDArray[np.float32], factor: float) -> NDArray[np.float64]:
            unit = factor * 2.0**-counts.shift
            _native.add_counts(rows, *counts.arrays, factor=unit, n_threads=self.n_threads)
            return factor * counts.sums

        weights.blend(share, add)

    def histogram(self, tokens: BlockTokens, share: float, row: int | None = None) -> SizeHistogram:
        return tokens.histogram(share, row)

    def infer(
        self,
        topics: TopicTable | Weights,
        documents: Documents,
        task: Task,
        wanted: Wanted = EVERYTHING,
    ) -> Solution:
        every = task.method.needs_every_word
        if isinstance(topics, TopicTable) or every or topics.rows.nbytes <= tables.MOST_BYTES:
            table = self._table(topics)
            return self._solve(table, known(documents, table.n_words), task, wanted)
        parts = []
        for first in range(0, max(documents.n_docs, 1), CHUNK):
            rows = documents.part(first, min(first + CHUNK, documents.n_docs))
            batch = updates.transposed(rows, topics.n_words, self.n_threads)
            table = tables.topic_rows(topics, batch.words, n_threads=self.n_threads)
            parts.append(self._solve(table, replace(rows, words=batch.slots), task, wanted))
        found: Solution = joined(parts)
        return found

    def intervals(
        self,
        topics: TopicTable,
        documents: Documents,
        main: NDArray[np.integer],
        alpha: NDArray[np.float64],
        *,
        level: float,
        seed: int,
        n_tables: int = 1,
    ) -> Intervals:
        """Return credible intervals of shares, by draws from the posterior for a prior alpha (K,).

        Given are each document's main topic, and the topics of `n_tables` runs, one after another.
        """
        rows = topics.known_part(known(documents, topics.n_words))
        n_threads = self.n_threads if rows.n_docs > 32 else 1
        return kernels.intervals(topics, rows, main, alpha, level, seed, n_tables, n_threads)

    def certify(
        self,
        topics: TopicTable | Weights,
        documents: Documents,
        theta: NDArray[Any],
        alpha: NDArray[np.float64],
    ) -> Certificate:
        table = self._table(topics)
        rows = table.known_part(known(documents, table.n_words))
        return kernels.certify(table, rows, theta, alpha, self.n_threads)

    @property
    def instruction_set(self) -> str:
        """The instruction set in use: 'avx512', 'avx2' or 'base'."""
        return str(_native.instruction_set())

    def use_instruction_set(self, name: str) -> None:
        """Switch every CPU engine of this process to another instruction set (for tests)."""
        if not _native.use_instruction_set(name):
            raise EngineError(
                f"This CPU or this build does not support the instruction set {name!r}."
            )

    def content_keys(self, rows: Rows) -> NDArray[np.uint64]:
        """Return a key per document; see `seam.content_keys`."""
        return kernels.content_keys(rows, None, self.n_threads)

    def _table(self, topics: Any, words: NDArray[np.int32] | None = None) -> TopicTable:
        if isinstance(topics, TopicTable):
            return topics

        def make() -> TopicTable:
            return tables.topic_rows(topics, words, n_threads=self.n_threads)

        if words is not None:
            return make()
        found: TopicTable = topics.derived(make, tables.MOST_BYTES)
        return found

    def _solve(self, table: TopicTable, rows: Rows, task: Task, wanted: Wanted) -> Solution:
        # threads take 32 documents at a time; asking for them takes longer than starting a kernel
        n_threads = self.n_threads if rows.n_docs > 32 else 1

        def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
            return kernels.solve(table, some, how, parts, n_threads)

        return kept(infer, table.known_part(rows), task, wanted)
