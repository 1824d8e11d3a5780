"""Costs of the parts of a fit on executors, each measured alone here; see `cost`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import unwrap_udt
from scipy import sparse

from benchmarks.spark.setting import FILES, Watch, table, written
from opelda import TopicModel
from opelda.spark import LDA
from opelda.spark._blocks import ARROW, COUNTS, DOCUMENTS, SCHEMA, joined_counts, record, rows_of
from opelda.spark._cluster import Cluster, collected
from opelda.spark._worker import Counter, Numbering, Sweep, settle

REPEATED = 5  # documents are packed so often
MOVED = 6_000_000  # bytes a partition


@dataclass
class Cost:
    """Seconds by the clock, and of processors."""

    clock: float
    cpu: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.clock + other.clock, self.cpu + other.cpu)

    def __mul__(self, factor: float) -> Cost:
        return Cost(self.clock * factor, self.cpu * factor)

    def less(self, other: Cost) -> Cost:
        """Return what is beyond another, at least nothing."""
        return Cost(max(self.clock - other.clock, 0.0), max(self.cpu - other.cpu, 0.0))


def usual(work: Callable[[], Any], times: int = 5) -> Cost:
    """Return the median cost of some work, done once before."""
    work()
    found = []
    for _ in range(times):
        with Watch() as watch:
            work()
        found.append((watch.seconds, watch.cpu))
    return Cost(*(statistics.median(each) for each in zip(*found, strict=True)))


def alone(work: Callable[[], Any], times: int = 5) -> Cost:
    """Return the least cost of work in this thread."""
    found = []
    for _ in range(times):
        started, cpu = perf_counter(), process_time()
        work()
        found.append((perf_counter() - started, process_time() - cpu))
    return Cost(*(min(each) for each in zip(*found, strict=True)))


def passed(batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield what comes, with columns that may be null."""
    settle()
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, schema=ARROW)


def echo(batches: Any) -> Iterator[pa.RecordBatch]:
    """Yield what comes, and a row that is collected."""
    yield from passed(batches)
    yield record(COUNTS, 0, np.zeros(1))


@dataclass
class Discard:
    """Takes something to executors, and does nothing."""

    thing: Any

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        yield from echo(batches)


def job(documents: DataFrame, task: Any) -> Callable[[], Any]:
    """Return a job as a sweep is one."""

    def work() -> None:
        made = documents.mapInArrow(task, SCHEMA).localCheckpoint()
        collected(made.where("kind = 1"))

    return work


@dataclass
class Sent:
    """Makes a row of so many bytes in each partition."""

    kind: int
    n_bytes: int

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        yield from passed(batches)
        yield record(self.kind, 0, np.zeros(self.n_bytes, np.uint8))


def packed(documents: DataFrame) -> Cluster:
    return Cluster(documents.select(unwrap_udt("features")), Counter(), 10)


def in_task(X: sparse.csr_array, model: TopicModel, blocks: list) -> tuple[Cost, list, Any]:
    """Return the cost of a token in a task, the counts of partitions, and the sweep's task."""
    host, shape = model._state.weights.host(), (X.shape[1], len(model.components_))
    how = {
        "n_topics": shape[1],
        "n_words": X.shape[1],
        "shift": 0,
        "share": 0.2,
        "n_ranges": 1,
        "alpha": np.full(shape[1], 0.1),
        "seed": 1,
        "prior": host.prior,
    }
    task = Sweep(**how, weights=host, numbering=Numbering({}))
    for _ in range(6):
        made = [list(task([block])) for block in blocks]
        found = [row for rows in made for row in rows_of(rows)]
        blocks = [row.batch for row in found if row.kind == DOCUMENTS]
        cells = [row for row in found if row.kind == COUNTS]
        task = Sweep(**how, counts=joined_counts(cells, 1, shape, 0))
    cost = alone(lambda: [list(task([block])) for block in blocks], 3)
    return cost * (1 / float(X.sum())), cells, task


def size(rows: list) -> float:
    return sum(row.batch.slice(row.at, 1).nbytes for row in rows) / 1e6


def constants(spark: SparkSession, X: sparse.csr_array, folder: Path, topics: list[int]) -> dict:
    """Measure everything alone."""
    n_docs, n_cores = X.shape[0], spark.sparkContext.defaultParallelism
    few = table(spark, written(X[: 8 * FILES], folder))
    blocks_of_few = packed(few).documents
    documents = table(spark, written(X, folder))
    many = reduce(DataFrame.unionAll, [documents] * REPEATED).coalesce(FILES)
    usual(job(blocks_of_few, echo), 20)  # JVMs compile
    start = usual(lambda: packed(few).close(), 3)
    pack = usual(lambda: packed(many).close(), 3).less(start)
    J = usual(job(blocks_of_few, echo), 9)
    cluster = packed(documents)
    held = collected(cluster.documents)
    bulk = blocks_of_few.mapInArrow(Sent(DOCUMENTS, MOVED), SCHEMA).persist()
    moved = usual(job(bulk, echo)).less(J)
    bulk.unpersist()
    up = usual(job(blocks_of_few, Sent(COUNTS, MOVED))).less(J)
    found: dict[str, Any] = {
        "cores": n_cores,
        "tokens": float(X.sum()),
        "words": X.shape[1],
        "MB of blocks": size(held),
        "J": J,
        "pack, a document": Cost(pack.clock * n_cores, pack.cpu) * (1 / n_docs / REPEATED),
        "move, a MB": Cost(moved.clock * n_cores, moved.cpu) * (1e6 / FILES / MOVED),
        "up, a MB": up * (1e6 / MOVED / FILES),
    }
    for k in topics:
        model = TopicModel(k, random_state=0, n_sweeps=0)
        online = alone(lambda m=model: m.fit(X), 2)
        token, parts, task = in_task(X, model, [row.batch.slice(row.at, 1) for row in held])
        add = alone(lambda c=parts, k=k: joined_counts(c, 1, (X.shape[1], k), 0))
        down = usual(job(blocks_of_few, Discard(task.counts))).less(J)
        shipped = task.counts.cells.nnz * 12 / 1e6
        fit, sweep = fixed(few, k)
        found[f"K={k}"] = {
            "fit": fit,
            "sweep": sweep,
            "online, a document": online * (1 / n_docs),
            "draw, a token": token,
            "MB of counts": shipped,
            "MB of counts, a part": size(parts) / len(parts),
            "add, a MB": add * (1 / size(parts)),
            "down, a MB": down * (1 / shipped),
        }
    cluster.close()
    return found


def fixed(few: DataFrame, k: int) -> tuple[Cost, Cost]:
    """Return the costs of a fit and of a sweep of hardly any documents."""
    less, more = (
        usual(lambda n=n: LDA(k=k, seed=0, localDocs=0, maxIter=n).fit(few), 3) for n in (2, 12)
    )
    sweep = more.less(less) * 0.1
    return less.less(sweep * 2), sweep


def text_cost(data: Path | None, n_docs: int = 4_000) -> Cost:
    """Return the cost of making counts of an abstract, its words known."""
    from opelda.corpus import read

    if data is None:
        return Cost(float("nan"), float("nan"))
    path = data / "arxiv" / "abstracts-250k.parquet"
    column = pa.parquet.read_table(path, columns=["abstract"]).slice(0, n_docs).column(0)
    vocabulary = read(path, text_column="abstract", limit=n_docs).vocabulary
    counter = Counter(len(vocabulary), vocabulary)
    return alone(lambda: counter(column.combine_chunks()), 3) * (1 / n_docs)


def plain(thing: Any) -> Any:
    """Return costs as pairs, for JSON."""
    if isinstance(thing, Cost):
        return [float(f"{thing.clock:.4g}"), float(f"{thing.cpu:.4g}")]
    if isinstance(thing, dict):
        return {name: plain(value) for name, value in thing.items()}
    return thing
