"""The session, the table that all systems read, and the measures that all are judged by."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType
from scipy import sparse

from benchmarks.corpora import load_all, load_counts
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability
from opelda.spark import session
from opelda.spark._executor_inference import VECTOR

FILES = 8  # partitions of a table


def start(master: str) -> SparkSession:
    """Return a session that prints only our lines."""
    memory = f"{re.findall(r'[0-9]+', master)[-1]}m" if "cluster" in master else "4g"
    root = str(Path(__file__).parents[2])  # executors import tasks of the benchmarks
    os.environ["PYTHONPATH"] = os.pathsep.join((root, os.environ.get("PYTHONPATH", "")))
    spark = session(
        master,
        spark_executorEnv_PYTHONPATH=os.environ["PYTHONPATH"],
        spark_ui_enabled=False,
        spark_ui_showConsoleProgress=False,
        spark_driver_memory="4g",
        spark_executor_memory=memory,
        spark_sql_shuffle_partitions=FILES,
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def counts(data: Path | None, n_docs: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return training and held-out documents, with the words that the former have."""
    train, held_out, _ = load_counts(data)
    if n_docs > train.shape[0] and data is not None:
        train = load_all(data)
    train = train[:n_docs]
    words = np.flatnonzero(np.bincount(train.indices, minlength=train.shape[1]))
    return tuple(sparse.csr_array(X[:, words], dtype=np.float32) for X in (train, held_out))


def written(X: sparse.csr_array, folder: Path) -> Path:
    """Write documents as Spark writes MLlib's vectors, if they are not there; return where."""
    path = folder / f"vectors-{X.shape[0]}-{X.shape[1]}-{X.nnz}"
    if path.exists():
        return path
    path.mkdir(parents=True)
    for number, some in enumerate(np.array_split(np.arange(X.shape[0]), FILES)):
        part = X[some]
        ends, n_docs = pa.array(part.indptr.astype(np.int32)), part.shape[0]
        columns = [
            pa.array(np.zeros(n_docs, np.int8)),
            pa.array(np.full(n_docs, X.shape[1], np.int32)),
            pa.ListArray.from_arrays(
                ends, pa.array(part.indices.astype(np.int32)), VECTOR.field("indices").type
            ),
            pa.ListArray.from_arrays(
                ends, pa.array(part.data.astype(np.float64)), VECTOR.field("values").type
            ),
        ]
        vectors = pa.StructArray.from_arrays(columns, fields=list(VECTOR))
        pq.write_table(
            pa.table({"id": pa.array(some), "features": vectors}), path / f"{number}.parquet"
        )
    return path


def table(spark: SparkSession, path: Path) -> DataFrame:
    """Return the documents, held by executors."""
    schema = StructType([StructField("id", LongType()), StructField("features", VectorUDT())])
    # a task a file, for any sizes
    spark.conf.set("spark.sql.files.openCostInBytes", str(2**30))
    documents = spark.read.schema(schema).parquet(str(path)).persist()
    documents.count()
    return documents


def quality(topics: np.ndarray, train: sparse.csr_array, held_out: sparse.csr_array) -> dict:
    """Return LPP (VB, alpha = 1/K, five splits) and the mean NPMI of ten words a topic."""
    topics = topics / topics.sum(axis=1, keepdims=True)
    predicted = log_predictive_probability(topics, held_out, random_state=0, n_jobs=-1)
    return {
        "lpp": round(float(predicted), 4),
        "npmi": round(float(npmi(topics, train).mean()), 4),
    }


class Watch:
    """Watches this process and its children: the largest memory by group, in MB, and seconds.

    CPU seconds include all processes, JVMs' compilers and collectors, too: on a machine
    that others use they say more than the clock does.
    """

    GROUPS = "driver python", "driver jvm", "executor jvm", "executor python"

    def __enter__(self) -> Watch:
        self.peak = dict.fromkeys(self.GROUPS, 0.0)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._cpu, self._started = family()[1], perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = perf_counter() - self._started
        self.cpu = family()[1] - self._cpu
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            for group, megabytes in family()[0].items():
                self.peak[group] = max(self.peak[group], megabytes)


def family() -> tuple[dict[str, float], float]:
    """Return memory by group, in MB, and the seconds that processors have worked for all so far.

    Memory is resident: pages that processes share count in each.
    """
    found: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, rest = (folder / "stat").read_text().split("(", 1)[1].rsplit(")", 1)
        except OSError:  # it ended
            continue
        found[int(folder.name)] = [name, *rest.split()]
    me, memory, ticks = os.getpid(), dict.fromkeys(Watch.GROUPS, 0.0), 0
    for pid, (name, *fields) in found.items():
        javas, at = 0, pid
        while at in found and at != me:
            javas += found[at][0] == "java"
            at = int(found[at][2])
        if at != me:
            continue
        ticks += sum(int(field) for field in fields[11:15])  # with children that ended
        where = "driver" if javas == 0 or (javas == 1 and name == "java") else "executor"
        group = f"{where} {'jvm' if name == 'java' else 'python'}"
        memory[group] += int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    return memory, ticks / os.sysconf("SC_CLK_TCK")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return what work returns, and its seconds."""
    started = perf_counter()
    result = work()
    return result, perf_counter() - started
