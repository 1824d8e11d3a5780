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
from opelda.spark._worker import Counter, Numbering, Sweep, _drawn, settle

REPEATED = 5  # documents are packed that often
SENT, MOVED = 6_000_000, 30_000_000  # bytes a partition


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
        """Return the difference of two costs, at least 0."""
        return Cost(max(self.clock - other.clock, 0.0), max(self.cpu - other.cpu, 0.0))


def in_turns(works: dict[str, Callable[[], Any]], times: int = 5) -> dict[str, Cost]:
    """Return median costs; works take turns, so that other load affects all alike."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for turn in range(times + 1):
        for name, work in works.items():
            with Watch() as watch:
                work()
            if turn:  # the first is for getting warm
                found[name].append((watch.seconds, watch.cpu))
    return {
        name: Cost(*(statistics.median(each) for each in zip(*pairs, strict=True)))
        for name, pairs in found.items()
    }


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
    """Sends an object to executors without using it."""

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
    """Makes a row of that number of bytes in each partition."""

    kind: int
    n_bytes: int

    def __call__(self, batches: Any) -> Iterator[pa.RecordBatch]:
        yield from passed(batches)
        yield record(self.kind, 0, np.zeros(self.n_bytes, np.uint8))


def packed(documents: DataFrame) -> Cluster:
    return Cluster(documents.select(unwrap_udt("features")), Counter(), 10)


def in_task(X: sparse.csr_array, model: TopicModel, rows: list) -> tuple[Cost, Cost, list, Any]:
    """Return the cost of a sweep inside tasks, and what laying tokens out again would add to it.

    Then the counts of each block, and the sweep's task.
    """
    blocks = [row.batch.slice(row.at, 1) for row in rows]
    host, shape = model._state.weights.host(), (X.shape[1], len(model.components_))
    how = {
        "run": "",
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
    costs = []
    for turn in range(12):
        if turn >= 9:
            _drawn.clear()
        started = perf_counter(), process_time()
        made = [list(task([block])) for block in blocks]
        costs.append(Cost(perf_counter() - started[0], process_time() - started[1]))
        found = [row for rows in made for row in rows_of(rows)]
        blocks = [row.batch for row in found if row.kind == DOCUMENTS]
        cells = [row for row in found if row.kind == COUNTS]
        task = Sweep(**how, counts=joined_counts(cells, 1, shape, 0))
    kept, fresh = (min(some, key=lambda cost: cost.cpu) for some in (costs[6:9], costs[9:]))
    return kept, fresh.less(kept), cells, task


def size(rows: list) -> float:
    return sum(row.batch.slice(row.at, 1).nbytes for row in rows) / 1e6


def constants(spark: SparkSession, X: sparse.csr_array, folder: Path, topics: list[int]) -> dict:
    """Measure everything alone."""
    n_docs, n_cores, n_tokens = X.shape[0], spark.sparkContext.defaultParallelism, float(X.sum())
    few = table(spark, written(X[: 8 * FILES], folder))
    few_packed = packed(few).documents
    documents = table(spark, written(X, folder))
    many = reduce(DataFrame.unionAll, [documents] * REPEATED).coalesce(FILES)
    held, merged = (
        collected(packed(some).documents) for some in (documents, documents.coalesce(1))
    )
    bulk = few_packed.mapInArrow(Sent(DOCUMENTS, MOVED), SCHEMA).persist()
    in_turns({"": job(few_packed, echo)}, 30)  # JVMs compile
    jobs = {
        "J": job(few_packed, echo),
        "move": job(bulk, echo),
        "up": job(few_packed, Sent(COUNTS, SENT)),
        "down": job(few_packed, Discard(np.random.default_rng(0).bytes(SENT))),
        "start": lambda: packed(few).close(),
        "pack": lambda: packed(many).close(),
    }
    cost = in_turns(jobs)
    bulk.unpersist()

    def spread(name: str, base: str, share: float) -> Cost:
        """Return the cost of a unit of work that all cores share."""
        beyond = cost[name].less(cost[base])
        return Cost(beyond.clock * n_cores, beyond.cpu) * share

    found: dict[str, Any] = {
        "cores": n_cores,
        "tokens": n_tokens,
        "words": X.shape[1],
        "MB of blocks": size(held) + 2 * n_tokens / 1e6,  # tokens have topics by then
        "J": cost["J"],
        "pack, a document": spread("pack", "start", 1 / n_docs / REPEATED),
        "move, a MB": spread("move", "J", 1e6 / FILES / MOVED),
        "up, a MB": cost["up"].less(cost["J"]) * (1e6 / FILES / SENT),
        "down, a MB": cost["down"].less(cost["J"]) * (1e6 / SENT),
    }
    for k in topics:
        model = TopicModel(k, random_state=0, n_sweeps=0)
        online = alone(lambda m=model: m.fit(X), 2)
        each, _, parts, task = in_task(X, model, held)
        once, again, _, _ = in_task(X, model, merged)
        block = each.less(once) * (1 / max(len(held) - len(merged), 1))
        add = alone(lambda c=parts, k=k: joined_counts(c, 1, (X.shape[1], k), 0))
        fit, sweep = fixed(few, k)
        found[f"K={k}"] = {
            "fit": fit,
            "sweep": sweep,
            "online, a visit": online * (1 / model.n_docs_seen_),
            "draw, a token": once.less(block * len(merged)) * (1 / n_tokens),
            "draw, a block": block,
            "lay out again, a token": again * (1 / n_tokens),
            "MB of counts": task.counts.cells.nnz * 12 / 1e6,
            "MB of counts, a part": size(parts) / len(parts),
            "add, a MB": add * (1 / size(parts)),
        }
    return found


def fixed(few: DataFrame, k: int) -> tuple[Cost, Cost]:
    """Return the costs of a fit and of a sweep of hardly any documents."""
    fits = {str(n): lambda n=n: LDA(k=k, seed=0, localDocs=0, maxIter=n).fit(few) for n in (2, 12)}
    cost = in_turns(fits, 3)
    sweep = cost["12"].less(cost["2"]) * 0.1
    return cost["2"].less(sweep * 2), sweep


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
