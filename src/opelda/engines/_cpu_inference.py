"""The part of the CPU engine that infers mixtures and reads topics."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda import _native
from opelda.engines import _cpu_kernels as kernels
from opelda.engines import _cpu_updates as updates
from opelda.engines._cpu_tables import Table, lay_out
from opelda.engines._documents import Documents, Rows, chunks
from opelda.engines._engine import Solver, Task
from opelda.engines._settings import OPESettings
from opelda.engines._solutions import (
    EVERYTHING,
    Batch,
    Certificate,
    Solution,
    Wanted,
    certify_empty,
    completed,
    joined,
)
from opelda.engines._weights import Weights

# Larger tables of topics are not kept, and are laid out for some documents at a time.
MOST_BYTES = 2**28
CHUNK = 16_384
AT_ONCE = 32  # documents that threads take at a time: fewer need no second one


class CPUInference:
    """Mixtures by native kernels, and by the methods themselves where there is none."""

    @property
    def n_threads(self) -> int:
        """Threads of a call."""
        raise NotImplementedError

    def infer(
        self,
        topics: Table | Weights,
        documents: Documents,
        task: Task,
        wanted: Wanted = EVERYTHING,
    ) -> Solution:
        """Infer mixtures; see `Engine.infer`."""
        if isinstance(topics, Table) or self._affords(topics, task.method):
            table = self._whole(topics)
            return self._solve(table, _fitting(documents, table), task, wanted)
        parts = []
        for first, last in chunks(documents.n_docs, CHUNK):
            rows = documents.part(first, last)
            batch = updates.transposed(rows, topics.n_words, self.n_threads)
            table = lay_out(topics, batch.words, n_threads=self.n_threads)
            parts.append(self._solve(table, replace(rows, words=batch.slots), task, wanted))
        return joined(parts)

    def certify(
        self,
        topics: Table | Weights,
        documents: Documents,
        theta: NDArray[Any],
        alpha: NDArray[np.float64],
    ) -> Certificate:
        """Certify mixtures; see `Engine.certify`."""
        table = self._whole(topics)
        rows = _fitting(documents, table)
        if table.known is not None:
            rows = rows.where(table.known[rows.words])
        certificate = self._certified(table, rows, theta, alpha)
        certify_empty(certificate, rows, alpha)
        return certificate

    def read(self, weights: Weights, words: NDArray[np.int32] | None = None) -> NDArray[np.float32]:
        """Return topics; see `Engine.read`."""
        if words is None:
            table = self._whole(weights)
        else:
            updates.check_words(words, weights.n_words)
            table = lay_out(weights, words, n_threads=self.n_threads)
        topics: NDArray[np.float32] = table.rows[:, : weights.n_topics].T
        topics.flags.writeable = False
        return topics

    def _whole(self, topics: Table | Weights) -> Table:
        """Return the topics of every word; those of weights are kept until they change."""
        if isinstance(topics, Table):
            return topics
        table: Table | None = topics.derived
        if table is None:
            version = topics.version
            table = lay_out(topics, None, n_threads=self.n_threads)
            if table.rows.nbytes <= MOST_BYTES:
                topics.keep(table, version)
        return table

    def _affords(self, weights: Weights, method: Solver) -> bool:
        return method.needs_every_word or weights.rows.nbytes <= MOST_BYTES

    def _laid_out(
        self, weights: Weights, batch: updates.Transposed, method: Solver, divide: bool
    ) -> Table:
        """Lay out the topics of a batch's words for learning, of every word where a method asks."""
        words = None if method.needs_every_word else batch.words
        logs = divide and method.expects_logs
        return lay_out(weights, words, logs=logs, n_threads=self.n_threads)

    def _explained(
        self,
        table: Table,
        rows: Rows,
        batch: updates.Transposed,
        task: Task,
        *,
        divide: bool,
        certify: bool = False,
        alike: bool = False,
    ) -> tuple[Solution, Table]:
        """Infer a batch for learning; return that and the topics of its words.

        Topics that are all but `alike` are not screened: no bound tells them apart.
        """
        every = task.method.needs_every_word
        inferred = rows if every else replace(rows, words=batch.slots)
        wanted = Wanted(theta=False, certificate=certify, factors=divide)
        solution = self._solve(table, inferred, task, wanted, screen=not alike)
        if every:
            words = batch.words
            table = Table(table.rows[words], table.mean[words], table.n_topics, words)
        return solution, table

    def _solve(
        self, table: Table, rows: Rows, task: Task, wanted: Wanted, screen: bool = True
    ) -> Solution:
        if table.known is not None:
            rows = rows.where(table.known[rows.words])
        n_topics, alpha = table.n_topics, task.alpha.astype(np.float32)
        settings = task.method.kernel(n_topics, task.seed)
        if settings is None:
            found = task.method.solve(
                Batch(
                    rows=table.rows,
                    mean=table.mean,
                    n_topics=n_topics,
                    indptr=rows.indptr,
                    words=rows.words,
                    counts=rows.counts,
                    alpha=alpha,
                    ids=table.ids,
                ),
                task.seed,
            )
            theta = np.ascontiguousarray(found.theta, np.float32)
            certificate = None
            if wanted.certificate:
                certificate = self._certified(table, rows, theta, task.alpha)
            found = replace(found, theta=theta, certificate=certificate)
        else:
            if isinstance(settings, OPESettings) and not screen:
                settings = replace(settings, screen=False)
            n_threads = self.n_threads if rows.n_docs > AT_ONCE else 1
            found = kernels.run(settings, kernels.Call(table, rows, alpha, wanted, n_threads))
        return completed(found, rows, task.alpha)

    def _certified(
        self, table: Table, rows: Rows, theta: NDArray[Any], alpha: NDArray[np.float64]
    ) -> Certificate:
        certificate = Certificate.room(rows.n_docs)
        mixtures = np.ascontiguousarray(theta, np.float32)
        _native.certify(
            kernels.native_batch(table, rows, alpha.astype(np.float32)),
            mixtures,
            kernels.native_results(None, None, certificate, None, (None, None)),
            n_threads=self.n_threads,
        )
        return certificate


def _fitting(documents: Documents, table: Table) -> Rows:
    """Return the documents, whose words the table must have."""
    rows = documents.part()
    if documents.n_words > len(table.rows):
        updates.check_words(rows.words, len(table.rows))
    return rows
