"""A collection in the partitions of a Spark table, swept by executors."""

import pickle
from collections import defaultdict
from functools import reduce
from operator import add
from pathlib import Path
from tempfile import TemporaryDirectory
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

# The driver adds at most these bytes of counts from all partitions. Executors add more, a range of
# words each, in a second stage, which takes longer.
MOST_ADDED = 256 * 2**20
RANGE_BYTES = 16 * 2**20  # that an executor adds
MOST_RANGES = 128  # a row each from every partition
CELL_BYTES = 10  # a topic and a count


class Cluster:
    """Documents in blocks, kept by executors; swept as a `HeldCollection` is."""

    def __init__(self, table: DataFrame, counter: Counter, checkpoint_interval: int) -> None:
        """Pack and count the documents of the first column; the second has rows of priors."""
        self._run = uuid4().hex
        self._interval = checkpoint_interval
        self._packed = table.mapInArrow(Pack(counter), SCHEMA).persist()
        self._base = self._swept = self._packed
        self._tasks = TemporaryDirectory(prefix="opelda-")  # a file per sweep since the base
        self._n_sweeps = 0
        try:
            summaries = collected(self._packed.where(col("kind") == SUMMARY))
            summary = sum((Summary.of_row(row) for row in summaries), Summary())
        except BaseException:
            self.close()
            raise
        self.n_docs, self.n_tokens, self.n_words = summary.n_docs, summary.n_tokens, summary.n_words
        self.total, self._shift = summary.total, summary.shift
        self._n_parts = len(summaries)
        self.numbering = Numbering({})

    @property
    def documents(self) -> DataFrame:
        """The blocks, before they were drawn."""
        return self._packed.where(col("kind") == DOCUMENTS)

    def matrix(self) -> tuple[sparse.csr_array, NDArray[np.uint16]]:
        """Return all documents, in any order, and their rows of priors."""
        return self._matrix(self.documents)

    def number_copies(self) -> None:
        """Number documents of equal content over all partitions."""
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

    def sample(self, n_docs: int) -> tuple[sparse.csr_array, NDArray[np.uint16]]:
        """Return about n_docs documents, chosen by content, in any order."""
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
            shift=self._shift,
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
        self._sizes = defaultdict[int, list[Row]](list)  # by row of the prior
        for row in rows:
            if row.kind == SIZES:
                self._sizes[row.part].append(row)
        cells = (row for row in rows if row.kind == COUNTS)
        return joined_counts(cells, n_ranges, shape, self._shift)

    def histogram(self, share: float, row: int | None = None) -> SizeHistogram:
        """Return the histogram of the last sweep; the share is always the same."""
        return reduce(add, map(sizes_of, self._sizes[row or 0]))

    def close(self) -> None:
        """Let executors forget the documents."""
        self._packed.unpersist()
        self._base = self._swept = self._packed
        self._tasks.cleanup()

    def _n_ranges(self, most_cells: int) -> int:
        """Return the number of executors that add counts; 1: the driver adds them."""
        # a partition has at most as many cells as tokens
        n_bytes = CELL_BYTES * min(self._n_parts * most_cells, self.n_tokens)
        if n_bytes <= MOST_ADDED:
            return 1
        return min(-(-n_bytes // RANGE_BYTES), MOST_RANGES, self.n_words)

    def _drawn(self, task: Sweep) -> list[Row]:
        """Draw; return the rows other than documents, which the next draw takes."""
        attempts = 4
        for _ in range(attempts):
            try:
                swept = self._made(self._swept, task)
                rows = collected(self._found(swept, task))
                break
            except LostError:
                self._redraw()
        else:
            raise EngineError(
                f"Executors that held documents were lost {attempts} times in one sweep; increase "
                "the memory of executors, or set a checkpoint folder for the session."
            )
        Path(self._tasks.name, f"{self._n_sweeps:09}").write_bytes(pickle.dumps(task))
        self._swept = swept
        self._n_sweeps += 1
        if self._interval > 0 and self._n_sweeps % self._interval == 0 and not is_remote():
            context = swept.sparkSession.sparkContext
            if context.getCheckpointDir():
                self._base = self._swept = swept.checkpoint()
                for file in Path(self._tasks.name).iterdir():
                    file.unlink()
            # executors drop former tables when the driver collects its garbage
            context._jvm.System.gc()
        return rows

    def _made(self, table: DataFrame, task: Sweep) -> DataFrame:
        """Return a table of drawn documents and their counts, held by executors.

        A local checkpoint keeps Spark from planning all earlier sweeps again.
        """
        with explained():
            documents = table.where(col("kind") == DOCUMENTS)
            return documents.mapInArrow(task, SCHEMA).localCheckpoint()

    def _redraw(self) -> None:
        """Repeat the draws since the last checkpoint, after the loss of an executor."""
        self._swept = self._base
        for file in sorted(Path(self._tasks.name).iterdir()):
            self._swept = self._made(self._swept, pickle.loads(file.read_bytes()))

    def _found(self, swept: DataFrame, task: Sweep) -> DataFrame:
        """Return the counts and sizes of a table."""
        if task.n_ranges == 1:
            return swept.where(col("kind") != DOCUMENTS)
        parts = swept.where(col("kind") == COUNTS).groupBy("part")
        added = parts.applyInArrow(adding_counts(task.n_topics), SCHEMA)
        return added.unionAll(swept.where(col("kind") == SIZES))

    def _matrix(self, table: DataFrame) -> tuple[sparse.csr_array, NDArray[np.uint16]]:
        blocks = [PackedDocuments.of(row) for row in collected(table)]
        if not blocks:
            return sparse.csr_array(np.zeros((0, self.n_words), np.float32)), np.zeros(0, np.uint16)
        parts = [block.matrix(self.n_words) for block in blocks]
        prior_rows = np.concatenate([block.prior_rows for block in blocks])
        return sparse.csr_array(sparse.vstack(parts, "csr")), prior_rows


def collected(table: DataFrame) -> list[Row]:
    with explained():
        return list(rows_of(table.toArrow().to_batches()))
