"""`learn`: topics from Structured Streaming, every micro-batch exactly once."""

import json
import os
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from time import perf_counter
from typing import Any
from zlib import crc32

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, unwrap_udt
from scipy import sparse

from opelda import TopicModel
from opelda._validation import Every
from opelda.corpus import Vocabulary
from opelda.engines.seam import Updated, ranked
from opelda.errors import InputError
from opelda.learning._listeners import Reporter
from opelda.learning.persistence._checkpoint import Checkpoint
from opelda.spark import _sda
from opelda.spark._errors import explained, last_batch
from opelda.spark._params import documents_of
from opelda.spark._worker import Counter


def learn(
    stream: DataFrame,
    path: str | PathLike[str],
    k: int = 10,
    *,
    featuresCol: str = "features",
    textCol: str | None = None,
    vocabulary: Vocabulary | None = None,
    seed: int | None = None,
    spread: bool = False,
    checkpointLocation: str | None = None,
    trigger: dict[str, Any] | None = None,
    queryName: str | None = None,
    **settings: Any,
) -> Any:
    """Learn topics from a stream; a query that ended or was killed resumes.

    The driver learns a micro-batch in mini-batches, in an order set by the documents, and commits
    the model and the number of the micro-batch atomically in one file. A micro-batch that Spark
    repeats is skipped. The topics are bit-identical however often the query is killed, if
    micro-batches are the same.

    Parameters
    ----------
    stream : streaming DataFrame
    path : path
        A folder on the driver's file system, for `opelda.load` and `opelda.follow` at any moment.
    k : int
        The number of topics.
    featuresCol, textCol : str
        The column of vectors, or that of texts.
    vocabulary : Vocabulary, optional
        As for `TopicModel.fit_stream`; the default grows to 100,000 words of texts.
    seed : int, optional
    spread : bool
        Let executors sum statistics, in one update per micro-batch: the paper's streaming rule over
        partitions. It takes vectors, or a vocabulary that does not grow (docs/spark.md).
    checkpointLocation : str, optional
        Spark's checkpoint; by default the folder ``spark`` in `path`.
    trigger : dict, optional
        As of `DataStreamWriter.trigger`: ``{"availableNow": True}``, ``{"processingTime": "10s"}``.
    queryName : str, optional
    **settings
        Parameters of `TopicModel`, such as ``preset="fast"`` or ``callbacks``.

    Returns
    -------
    StreamingQuery
        Running; `awaitTermination` waits for its end and raises its failure.
    """
    if not stream.isStreaming:
        raise InputError("The table is not a stream; fit an LDA to it.")
    if spread:
        settings = {"learning": "streaming", "n_sweeps": 0} | settings
        if textCol is not None and (vocabulary is None or vocabulary.growing):
            raise InputError("needs a fixed vocabulary to count texts.", "spread")
    model = TopicModel(k, random_state=seed, **settings)
    model._plan(listen=False)
    column = documents_of(stream, featuresCol, textCol)
    document = unwrap_udt(column.columns[0]) if textCol is None else col(column.columns[0])
    column = column.select(document.alias("document"))
    folder = Path(os.fsdecode(path)).absolute()
    spark_folder = checkpointLocation or (folder / "spark").as_uri()
    learning = MicroBatchLearner(
        model, folder, spark_folder, vocabulary, textCol is not None, spread
    )
    writer = column.writeStream.foreachBatch(learning)
    if trigger is not None:
        writer = writer.trigger(**trigger)
    return writer.start(checkpointLocation=spark_folder, queryName=queryName)


@dataclass
class MicroBatchLearner:
    """Learns from micro-batches in turn."""

    model: Any
    folder: Path
    spark_folder: str
    vocabulary: Vocabulary | None
    texts: bool
    spread: bool
    _last: int | None = field(default=None, init=False)  # micro-batch, once it is known
    _stamp: tuple[int, ...] | None = field(default=None, init=False)

    def __call__(self, table: DataFrame, number: int) -> None:
        """Learn from a micro-batch unless that was done before, and commit."""
        with Checkpoint(self.folder, (), Every("every", 1)) as saved:
            if self._last is None:
                position = saved.resume(self.model)
                self._check_query(known=position is not None)
                self._last = last_batch(position, self.folder)
            elif self._stamp != _stamp(saved.path):
                raise InputError(
                    f"{saved.path} was changed by another run during learning; stop one of the two "
                    "runs."
                )
            if number > self._last and self._learned(table):
                saved.commit(self.model, {"batch": number})
                self._last = number
            self._stamp = _stamp(saved.path)

    def _learned(self, table: DataFrame) -> bool:
        """Learn; return whether there were documents."""
        if self.spread:
            return self._spread(table)
        with explained():
            column = table.where(col("document").isNotNull()).toArrow().column("document")
        column = column.combine_chunks()
        if not len(column):
            return False
        size = self.model._schedule().batch_size
        if self.texts:
            texts = column.to_pylist()
            texts.sort(key=lambda text: (crc32(text.encode()), text))
            self.model.fit_stream(texts, vocabulary=self.vocabulary)
            return True
        X = Counter(self._n_words())(column).astype(np.float32)
        X = X[ranked(self.model._engine().documents(X).keys)]
        batches = [sparse.csr_array(X[at : at + size]) for at in range(0, X.shape[0], size)]
        self.model.fit_stream(batches, vocabulary=self.vocabulary)
        return True

    def _spread(self, table: DataFrame) -> bool:
        model = self.model
        counter = Counter(self._n_words(), self.vocabulary if self.texts else None)
        plan = model._plan(getattr(model, "_state", None))
        if not hasattr(model, "_state"):
            if counter.n_words is None:
                first = table.where(col("document").isNotNull()).limit(1).toArrow()
                if not first.num_rows:
                    return False
                matrix = counter(first.column(0).combine_chunks())
                counter = Counter(matrix.shape[1])
            state = plan.start(counter.n_words)
            state.vocabulary, model.n_features_in_ = self.vocabulary, counter.n_words
            model._state = state
        started, reporter = perf_counter(), Reporter(model, plan.listeners)
        with plan.listeners(model):
            n_docs = _sda.add(plan, model._state, table, counter)
            if n_docs:
                reporter.tell(Updated(1.0, perf_counter() - started, 0.0, np.nan), 1, n_docs)
        return n_docs > 0

    def _n_words(self) -> int | None:
        """Return the number of words of vectors, if it is known."""
        if hasattr(self.model, "_state"):
            return int(self.model._state.weights.n_words)
        return None if self.vocabulary is None else len(self.vocabulary)

    def _check_query(self, *, known: bool) -> None:
        """Raise for a folder of another query, whose micro-batches are of other documents."""
        query, file = _query_of(self.spark_folder), self.folder / "query"
        if known and query is not None and file.exists() and file.read_text().strip() != query:
            raise InputError(
                f"{self.folder} belongs to another query, whose positions are not in "
                f"{self.spark_folder}; pass the checkpointLocation of that query, or another path."
            )
        if query is not None and not (known and file.exists()):
            file.write_text(query + "\n")


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _query_of(folder: str) -> str | None:
    """Return the name that Spark gave a query; None if its folder is not on this machine."""
    file = Path(folder.removeprefix("file://"), "metadata")
    try:
        return str(json.loads(file.read_text())["id"])
    except (OSError, ValueError, KeyError):
        return None
