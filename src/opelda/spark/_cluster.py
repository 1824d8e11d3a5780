"""A collection in the partitions of a Spark table, swept where it lies."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql.functions import col
from pyspark.sql.utils import is_remote
from scipy import sparse

from opelda.engines.seam import Prior, SizeHistogram, TokenCounts, Weights
from opelda.errors import EngineError
from opelda.learning._closing_sweeps import MOST_DOCUMENTS
from opelda.spark._blocks import (
    COUNTS,
    DOCUMENTS,
    SCHEMA,
    SIZES,
    SUMMARY,
    PackedDocuments,
    Row,
    Summary,
    joined_counts,
    rows_of,
    sizes_of,
)
from opelda.spark._errors import LostError, explained
from opelda.spark._worker import (
    Copies,
    Counter,
    KeySample,
    Numbering,
    Pack,
    Sweep,
    adding_counts,
    find_copies,
)

# Counts that come back from all partitions together are added by the driver up to so many bytes,
# beyond that by executors, a range of words each: a second stage takes longer than adding them.
MOST_ADDED = 256 * 2**20
RANGE_BYTES = 16 * 2**20  # that an executor adds
MOST_RANGES = 128  # a row each from every partition
CELL_BYTES = 10  # a topic and a count
ATTEMPTS = 4


class Cluster:
    """Documents in blocks, kept by executors, and the topics of their tokens.

    Closing sweeps ask of it what they ask of a `HeldCollection`.
    """

    def __init__(self, column: DataFrame, counter: Counter, checkpoint_interval: int) -> None:
        """Pack the documents of a table of one column; they are counted by then."""
        self._run = uuid4().hex
        self._interval = checkpoint_interval
        self._packed = column.mapInArrow(Pack(counter), SCHEMA).persist()
        self._base = self._swept = self._packed
        self._tasks = Spilled()  # since the base
        self._sizes: SizeHistogram | None = None
        self._n_sweeps = 0
        try:
            summaries = collected(self._packed.where(col("kind") == SUMMARY))
            self._summary = sum((Summary.of_row(row) for row in summaries), Summary())
        except BaseException:
            self.close()
            raise
        self._n_parts = len(summaries)
        self.numbering = Numbering({})

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self._summary.n_docs

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return self._summary.n_tokens

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self._summary.n_words

    @property
    def total(self) -> float:
        """Their weight."""
        return self._summary.total

    @property
    def documents(self) -> DataFrame:
        """The blocks, before they were drawn."""
        return self._documents(self._packed)

    def matrix(self) -> sparse.csr_array:
        """Return all documents, in any order."""
        return self._matrix(self.documents)

    def number_copies(self) -> None:
        """Tell the documents of equal content in different partitions apart."""
        keys = self._packed.where(col("kind") < 0).groupBy("kind")
        found: dict[int, list[Row]] = {}
        for row in collected(keys.applyInArrow(find_copies, SCHEMA)):
            found.setdefault(row.part, []).append(row)
        copies: Copies = {}
        for part, rows in found.items():
            each = np.concatenate([row.array("lengths", np.uint64) for row in rows])
            first = np.concatenate([row.array("words", np.int64) for row in rows])
            order = np.argsort(each)
            copies[part] = each[order], first[order]
        self.numbering = Numbering(copies)

    def sample(self, n_docs: int) -> sparse.csr_array:
        """Return about so many documents, chosen by their content, in any order."""
        share = n_docs / max(self.n_docs, 1)
        chosen = KeySample(self.numbering, share)
        return self._matrix(self.documents.mapInArrow(chosen, SCHEMA))

    def sweep(
        self,
        weights: Weights,
        alpha: NDArray[np.float64],
        *,
        counts: TokenCounts | None,
        prior: Prior | None,
        seed: int,
    ) -> TokenCounts:
        """Draw every token's topic and count them, in one job."""
        host, shape = weights.host(), (self.n_words, weights.n_topics)
        most_cells = shape[0] * shape[1] if counts is None else counts.cells.nnz
        n_ranges = self._n_ranges(most_cells)
        task = Sweep(
            run=self._run,
            n_topics=shape[1],
            n_words=shape[0],
            shift=self._summary.shift,
            share=MOST_DOCUMENTS / max(self.n_docs, 1),
            n_ranges=n_ranges,
            alpha=alpha,
            seed=seed,
            weights=host if counts is None else None,
            counts=counts,
            prior=host.prior if prior is None else prior,
            numbering=self.numbering if counts is None else None,
        )
        rows = self._drawn(task)
        sizes = [sizes_of(row) for row in rows if row.kind == SIZES]
        self._sizes = sizes[0]
        for more in sizes[1:]:
            self._sizes += more
        cells = (row for row in rows if row.kind == COUNTS)
        return joined_counts(cells, n_ranges, shape, self._summary.shift)

    def histogram(self, share: float) -> SizeHistogram:
        """Return what the last sweep saw; the share is always the same."""
        assert self._sizes is not None
        return self._sizes

    def close(self) -> None:
        """Let executors forget the documents."""
        self._packed.unpersist()
        self._base = self._swept = self._packed
        self._tasks.close()

    def _n_ranges(self, most_cells: int) -> int:
        """Return how many executors add counts, of partitions with about so many; 1: the driver."""
        # no partition has more of them than tokens
        n_bytes = CELL_BYTES * min(self._n_parts * most_cells, self.n_tokens)
        if n_bytes <= MOST_ADDED:
            return 1
        return min(-(-n_bytes // RANGE_BYTES), MOST_RANGES, self.n_words)

    def _drawn(self, task: Sweep) -> list[Row]:
        """Draw; return the rows that are no documents, which are the next draw's."""
        for _ in range(ATTEMPTS):
            try:
                swept = self._made(self._swept, task)
                rows = collected(self._found(swept, task))
                break
            except LostError:
                self._redraw()
        else:
            raise EngineError(
                f"Executors that held documents were lost {ATTEMPTS} times in one sweep: give them "
                "more memory, or the session a checkpoint folder."
            )
        self._tasks.add(task)
        self._swept = swept
        self._n_sweeps += 1
        if self._interval > 0 and self._n_sweeps % self._interval == 0:
            if has_checkpoints(swept):
                self._base = self._swept = swept.checkpoint()
                self._tasks.clear()
            forget(swept)
        return rows

    def _made(self, table: DataFrame, task: Sweep) -> DataFrame:
        """Return a table of drawn documents and their counts, in executors' keeping.

        Spark plans anew what led to a table, sweep by sweep: this one has no past.
        """
        with explained():
            return self._documents(table).mapInArrow(task, SCHEMA).localCheckpoint()

    def _redraw(self) -> None:
        """Make again what a lost executor held: all draws since the documents were safe."""
        self._swept = self._base
        for task in self._tasks:
            self._swept = self._made(self._swept, task)

    def _found(self, swept: DataFrame, task: Sweep) -> DataFrame:
        """Return the counts and sizes of a table."""
        if task.n_ranges == 1:
            return swept.where(col("kind") != DOCUMENTS)
        parts = swept.where(col("kind") == COUNTS).groupBy("part")
        added = parts.applyInArrow(adding_counts(task.n_topics), SCHEMA)
        return added.unionAll(swept.where(col("kind") == SIZES))

    def _documents(self, table: DataFrame) -> DataFrame:
        return table.where(col("kind") == DOCUMENTS)

    def _matrix(self, table: DataFrame) -> sparse.csr_array:
        blocks = [PackedDocuments.of(row).matrix(self.n_words) for row in collected(table)]
        if not blocks:
            return sparse.csr_array(np.zeros((0, self.n_words), np.float32))
        return sparse.csr_array(sparse.vstack(blocks, "csr"))


def collected(table: DataFrame) -> list[Row]:
    """Return the rows of a table."""
    with explained():
        return list(rows_of(table.toArrow().to_batches()))


def has_checkpoints(table: DataFrame) -> bool:
    """Whether the session has a folder for checkpoints, as far as is known."""
    return not is_remote() and bool(table.sparkSession.sparkContext.getCheckpointDir())


def forget(table: DataFrame) -> None:
    """Let the driver notice that former tables are not used: executors drop them only then."""
    if not is_remote():
        table.sparkSession.sparkContext._jvm.System.gc()


class Spilled:
    """Things in a file each, in the order they came."""

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="opelda-")
        self._n = 0

    def add(self, thing: Any) -> None:
        """Write one more."""
        with open(Path(self._folder.name, str(self._n)), "wb") as file:
            pickle.dump(thing, file)
        self._n += 1

    def __iter__(self) -> Iterator[Any]:
        for number in range(self._n):
            with open(Path(self._folder.name, str(number)), "rb") as file:
                yield pickle.load(file)

    def clear(self) -> None:
        """Forget all."""
        for number in range(self._n):
            Path(self._folder.name, str(number)).unlink()
        self._n = 0

    def close(self) -> None:
        """Remove the folder."""
        self._folder.cleanup()
