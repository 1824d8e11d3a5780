"""Streaming Bayes spread over partitions (Broderick et al. 2013), synchronously.

lambda <- lambda + sum_p (statistics of partition p by lambda), in the order of the partitions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from scipy import sparse

from opelda.corpus import Vocabulary
from opelda.engines import CPUEngine
from opelda.engines.seam import HostWeights, Statistics, Step, Task, Updated, ranked
from opelda.learning._listeners import Reporter
from opelda.learning._plan import Plan
from opelda.learning._seeding import n_clustered, seed_topics
from opelda.learning._state import State
from opelda.spark._blocks import COUNTS, SCHEMA, PackedDocuments, record, rows_of
from opelda.spark._cluster import Cluster, collected
from opelda.spark._worker import Batches, Counter, Numbering, settle, stacked


@dataclass(frozen=True)
class Slice:
    """The documents of packed blocks in a range of keys."""

    numbering: Numbering
    n_words: int
    first: float
    last: float

    def __call__(self, batches: Batches) -> Iterator[sparse.csr_array]:
        for row in rows_of(batches):
            block, keys = self.numbering(PackedDocuments.of(row))
            place = keys.astype(np.float64) / 2.0**64
            chosen = np.flatnonzero((place >= self.first) & (place < self.last))
            if len(chosen):
                yield replace(block, rows=block.rows.take(chosen)).matrix(self.n_words)


@dataclass(frozen=True)
class Explain:
    """Sums up the statistics of a partition's documents."""

    documents: Slice | Counter  # of a column
    weights: HostWeights
    task: Task
    divide: bool

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        settle()
        if isinstance(self.documents, Slice):
            found = self.documents(batches)
        else:
            found = (self.documents(batch.column(0)) for batch in batches)
        parts = [matrix for matrix in found if matrix.shape[0]]
        if not parts:
            return
        engine, context = CPUEngine(1), TaskContext.get()
        documents = engine.documents(stacked(parts))
        statistics = engine.statistics(
            engine.weights(self.weights),
            documents,
            self.task,
            divide=self.divide,
            chosen=ranked(documents.keys),  # rows of a partition come in any order
        )
        part = 0 if context is None else context.partitionId()
        n_docs = np.array([statistics.n_docs], np.int64)
        yield record(COUNTS, part, statistics.words, statistics.values, statistics.mass, n_docs)


def explain(table: DataFrame, task: Explain) -> Statistics | None:
    """Return the statistics of all partitions of a table; None without documents."""
    total: Statistics | None = None
    for row in sorted(collected(table.mapInArrow(task, SCHEMA)), key=lambda row: row.part):
        words, mass = row.array("lengths", np.int32), row.array("counts", np.float64)
        values = row.array("words", np.float64).reshape(len(words), -1)
        part = Statistics(words, values, mass, int(row.array("copies", np.int64)[0]))
        total = part if total is None else total + part
    return total


def add(plan: Plan, state: State, table: DataFrame, documents: Slice | Counter) -> int:
    """Update topics with the documents of a table; return their number."""
    t, rule = state.n_updates + 1, plan.rule
    task = Task(plan.method, plan.alpha, state.seed | t << 32)
    divide = bool(getattr(rule, "divide", True))
    found = explain(table, Explain(documents, state.weights.host(), task, divide))
    if found is None or not len(found.words):
        return 0 if found is None else found.n_docs
    pull = plan.pull(state)
    if pull is not None:
        found = pull.on_statistics(found)
    step = Step(t, 1.0, state.population + found.n_docs, state.seed)
    with state.lock.writing():
        plan.engine.apply(state.weights, found, rule, step)  # type: ignore[arg-type]
        state.n_updates += 1
        state.n_docs_seen += found.n_docs
        state.population += found.n_docs
    return found.n_docs


def fit(model: Any, cluster: Cluster, words: Vocabulary | None, n_rounds: int | None) -> None:
    """Learn from a collection, a range of keys in each round; 20 rounds as in MLlib."""
    plan: Plan = model._plan()
    state = plan.start(cluster.n_words)
    if plan.schedule.init == "documents":
        sample = plan.engine.documents(cluster.sample(2 * n_clustered(plan.n_topics))[0])
        seed_topics(state.weights, sample, state.seed)
    state.vocabulary, model.n_features_in_, model._state = words, cluster.n_words, state
    reporter = Reporter(model, plan.listeners, n_docs_total=cluster.n_docs)
    n_rounds = n_rounds or 20
    with plan.listeners(model):
        for number in range(n_rounds):
            started = perf_counter()
            bounds = number / n_rounds, (number + 1) / n_rounds
            some = Slice(cluster.numbering, cluster.n_words, *bounds)
            n_docs = add(plan, state, cluster.documents, some)
            done = Updated(1.0, perf_counter() - started, 0.0, np.nan)
            if reporter.tell(done if n_docs else None, 1, n_docs):
                break
