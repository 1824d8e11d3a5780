"""Streaming Bayes spread over partitions (Broderick et al. 2013).

lambda <- lambda + sum_p (what partition p adds), all of them by the same lambda, in the order of
the partitions: synchronous, so that a run can be repeated. The sum depends on how documents are
divided by rounding alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
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
from opelda.learning._seeding import LOOKED_AT, seed_topics
from opelda.learning._state import State
from opelda.spark._blocks import COUNTS, SCHEMA, PackedDocuments, record, rows_of
from opelda.spark._cluster import Cluster, collected
from opelda.spark._worker import Batches, Counter, Numbering, settle

ROUNDS = 20  # MLlib's number of iterations


@dataclass(frozen=True)
class Slice:
    """Some documents of packed blocks: those of a range of keys."""

    numbering: Numbering
    n_words: int
    first: float
    last: float

    def __call__(self, batches: Batches) -> Iterator[sparse.csr_array]:
        """Yield counts."""
        for row in rows_of(batches):
            block, keys = self.numbering(PackedDocuments.of(row))
            place = keys.astype(np.float64) / 2.0**64
            chosen = np.flatnonzero((place >= self.first) & (place < self.last))
            if len(chosen):
                yield PackedDocuments(0, block.rows.take(chosen), chosen.astype(np.int32)).matrix(
                    self.n_words
                )


@dataclass(frozen=True)
class Column:
    """All documents of a column."""

    counter: Counter

    def __call__(self, batches: Batches) -> Iterator[sparse.csr_array]:
        """Yield counts."""
        for batch in batches:
            yield self.counter(batch.column(0))


@dataclass(frozen=True)
class Explain:
    """Sums up what a partition's documents add to topics."""

    documents: Slice | Column
    weights: HostWeights
    task: Task
    divide: bool

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield one row."""
        from pyspark import TaskContext

        settle()
        parts = [matrix for matrix in self.documents(batches) if matrix.shape[0]]
        if not parts:
            return
        engine, context = CPUEngine(1), TaskContext.get()
        documents = engine.documents(sparse.csr_array(sparse.vstack(parts, "csr")))
        found = engine.statistics(
            engine.weights(self.weights),
            documents,
            self.task,
            divide=self.divide,
            chosen=ranked(documents.keys),  # rows of a partition come in any order
        )
        sizes = np.array([found.n_docs, documents.n_words], np.int64)
        part = 0 if context is None else context.partitionId()
        yield record(COUNTS, part, found.words, found.values, found.mass, sizes)


def explain(table: DataFrame, task: Explain) -> Statistics | None:
    """Return what all partitions of a table add; None where they hold no documents."""
    rows = sorted(collected(table.mapInArrow(task, SCHEMA)), key=lambda row: row.part)
    total: Statistics | None = None
    for row in rows:
        words, mass = row.array("lengths", np.int32), row.array("counts", np.float64)
        values = row.array("words", np.float64).reshape(len(words), -1)
        n_docs = int(row.array("copies", np.int64)[0])
        part = Statistics(words, values, mass, n_docs)
        total = part if total is None else total + part
    return total


def add(plan: Plan, state: State, table: DataFrame, documents: Slice | Column) -> int:
    """Update topics with the documents of a table; return how many there were."""
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
    """Learn from a collection, a range of keys in each round."""
    plan: Plan = model._plan()
    state = plan.start(cluster.n_words)
    if plan.schedule.init == "documents":
        sample = plan.engine.documents(cluster.sample(2 * LOOKED_AT * plan.n_topics))
        seed_topics(plan.engine, state.weights, sample, state.seed)
    state.vocabulary, model.n_features_in_, model._state = words, cluster.n_words, state
    reporter = Reporter(model, plan.listeners, n_docs_total=cluster.n_docs)
    n_rounds = n_rounds or ROUNDS
    with plan.listeners(model):
        for number in range(n_rounds):
            started = perf_counter()
            bounds = number / n_rounds, (number + 1) / n_rounds
            some = Slice(cluster.numbering, cluster.n_words, *bounds)
            n_docs = add(plan, state, cluster.documents, some)
            done = Updated(1.0, perf_counter() - started, 0.0, np.nan)
            if reporter.tell(done if n_docs else None, 1, n_docs):
                break
