"""The parts of learning that run on executors, each a function from batches of rows to batches.

No result depends on the partitions, the order of rows or repeated tasks: a document is identified
by its content and the number of the copy.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus import Vocabulary
from opelda.engines import CPUEngine
from opelda.engines.seam import (
    HostWeights,
    Prior,
    SizeHistogram,
    TokenCounts,
    copy_numbers,
    looked_at,
    numbered,
)
from opelda.errors import InputError
from opelda.spark._blocks import (
    ARROW,
    KEY_RANGES,
    MOST_DOCS,
    MOST_ENTRIES,
    PackedDocuments,
    Row,
    Summary,
    added_counts,
    count_records,
    counts_of_vectors,
    divided,
    record,
    rows_of,
    size_record,
    sizes_differ,
)

Batches = Iterable[pa.RecordBatch]
# For each part: keys that other parts also have, ascending, and the number of the first copy.
Copies = dict[int, tuple[NDArray[np.uint64], NDArray[np.int64]]]


@cache
def settle() -> None:
    """Exempt a worker's modules from pyspark's garbage collection after each task: 80 ms."""
    from pyspark import TaskContext

    if TaskContext.get() is not None:
        gc.freeze()


@dataclass(frozen=True)
class Counter:
    """Counts a column of vectors, or of texts if it has a vocabulary."""

    n_words: int | None = None
    vocabulary: Vocabulary | None = None

    def __call__(self, column: pa.Array) -> sparse.csr_array:
        column = column.drop_null()
        if self.vocabulary is None:
            return counts_of_vectors(column, self.n_words)
        return self.vocabulary.count(column.to_pylist())


@dataclass(frozen=True)
class Pack:
    """Packs documents into blocks; then yields their keys and their summary."""

    counter: Counter

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        settle()
        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        summary, keys, times = Summary(), np.zeros(0, np.uint64), np.zeros(0, np.int64)
        number = 0
        for matrix, prior_rows in self._gathered(batches):
            summary += Summary.of(matrix)
            for some in divided(matrix):
                rows = CPUEngine(1).documents(some).part()
                own, prior_rows = np.split(prior_rows, [rows.n_docs])
                block = PackedDocuments(part, rows, own << 32, number=number)
                found = numbered(block.content_keys, own)
                copies = block.copies + copy_numbers(found) + _looked_up(found, keys, times)
                yield replace(block, copies=copies).record()
                number += 1
                every, which = np.unique(np.concatenate((keys, found)), return_inverse=True)
                each = np.concatenate((times, np.ones(len(found), np.int64)))
                keys, times = every, np.bincount(which, each, len(every)).astype(np.int64)
        ranges = (keys >> np.uint64(60)).astype(np.int64)
        for first_bits in range(KEY_RANGES):
            here = ranges == first_bits
            if here.any():
                yield record(-1 - first_bits, part, keys[here], times[here])
        yield summary.record(part)

    def _gathered(self, batches: Batches) -> Iterator[tuple[sparse.csr_array, NDArray[np.int64]]]:
        """Yield counts, and rows of priors, of batches that together fill a block."""
        pending: list[sparse.csr_array] = []
        prior_rows = np.zeros(0, np.int64)
        for batch in batches:
            matrix = self.counter(batch.column(0))
            if not matrix.shape[0]:
                continue
            if pending and matrix.shape[1] != pending[0].shape[1]:
                raise sizes_differ(matrix.shape[1], pending[0].shape[1])
            pending.append(matrix)
            own = batch.column(1).filter(batch.column(0).is_valid())
            if own.null_count:
                raise InputError("The table changed while it was read; cache the table.")
            prior_rows = np.concatenate((prior_rows, own.to_numpy()))
            n_docs = sum(some.shape[0] for some in pending)
            if n_docs >= MOST_DOCS or sum(some.nnz for some in pending) >= MOST_ENTRIES:
                yield stacked(pending), prior_rows
                pending, prior_rows = [], prior_rows[:0]
        if pending:
            yield stacked(pending), prior_rows


def stacked(parts: list[sparse.csr_array]) -> sparse.csr_array:
    return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, "csr"))


def _looked_up(
    wanted: NDArray[np.uint64], keys: NDArray[np.uint64], numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the numbers of wanted keys among ascending ones; 0 for missing ones."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, numbers[at], 0)


def find_copies(table: pa.Table) -> pa.Table:
    """Return the keys of several parts, and the number of each part's first copy."""
    import polars as pl  # other tasks do without

    rows = list(rows_of(table.to_batches()))
    keys = np.concatenate([row.array("lengths", np.uint64) for row in rows])
    times = np.concatenate([row.array("words", np.int64) for row in rows])
    parts = np.repeat(
        [row.part for row in rows], [len(row.array("words", np.int64)) for row in rows]
    )
    held = pl.DataFrame({"key": keys, "part": parts, "times": times}).sort("key", "part")
    before = pl.col("times").cum_sum().over("key") - pl.col("times")
    later = held.with_columns(before=before).filter(pl.col("before") > 0)
    found = [
        record(rows[0].kind, int(part), own["key"].to_numpy(), own["before"].to_numpy())
        for (part,), own in later.group_by("part", maintain_order=True)
    ]
    return pa.Table.from_batches(found, schema=ARROW)


@dataclass(frozen=True)
class Numbering:
    """Numbers the documents of equal content over all parts."""

    copies: Copies

    def __call__(self, block: PackedDocuments) -> tuple[PackedDocuments, NDArray[np.uint64]]:
        """Return the block with these numbers, and its documents' keys."""
        content, numbers = block.content_keys, block.copies
        if block.part in self.copies:
            found = numbered(content, block.prior_rows)
            numbers = numbers + _looked_up(found, *self.copies[block.part])
        return replace(block, copies=numbers), numbered(content, numbers)


@dataclass(frozen=True)
class KeySample:
    """Yields about a share of the documents, chosen by key."""

    numbering: Numbering
    share: float

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        for row in rows_of(batches):
            block, keys = self.numbering(PackedDocuments.of(row))
            chosen = looked_at(keys, self.share)
            if len(chosen):
                rows = block.rows.take(chosen)
                yield PackedDocuments(block.part, rows, np.zeros(rows.n_docs, np.int64)).record()


# Tokens last drawn by this process, by run and block: a layout takes the time of a draw.
_drawn: dict[tuple[str, int, int], Any] = {}
MOST_DRAWN = 16_000_000  # tokens, of some 11 bytes


@dataclass(frozen=True)
class Sweep:
    """Draws the topics of a partition's tokens and counts them."""

    run: str
    n_topics: int
    n_words: int
    shift: int
    share: float  # of the documents, for the histogram
    n_ranges: int  # of words
    alpha: NDArray[np.float64]
    seed: int
    weights: HostWeights | None = None
    counts: TokenCounts | None = None
    prior: Prior | None = None
    numbering: Numbering | None = None  # in the first sweep

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield the documents, then the counts by ranges of words, and the sizes."""
        settle()
        engine = CPUEngine(1)
        weights = None if self.weights is None else engine.weights(self.weights)
        counts: TokenCounts | None = None
        sizes: list[SizeHistogram] = []  # by row of the prior
        for row in rows_of(batches):
            block = PackedDocuments.of(row)
            if self.numbering is not None:
                block, _ = self.numbering(block)
            tokens = self._tokens(engine, block)
            drawn = engine.sweep(
                weights, tokens, self.alpha, counts=self.counts, prior=self.prior, seed=self.seed
            )
            every = range(len(np.atleast_2d(self.alpha)))
            found = [engine.histogram(tokens, self.share, row) for row in every]
            yield replace(block, topics=tokens.z).record()
            counts = drawn if counts is None else counts + drawn
            sizes = [a + b for a, b in zip(sizes, found, strict=True)] if sizes else found
        if counts is not None:
            yield from count_records(counts, self.n_ranges)
            records = [size_record(row, each) for row, each in enumerate(sizes)]
            yield from pa.Table.from_batches(records).combine_chunks().to_batches()

    def _tokens(self, engine: CPUEngine, block: PackedDocuments) -> Any:
        """Return a block's tokens: those last drawn here, if they have the block's topics."""
        name = self.run, block.part, block.number
        kept = _drawn.pop(name, None)
        drawn = self.counts is not None
        if kept is None or not drawn or not np.array_equal(kept.z, block.topics):
            documents = engine.documents(block.matrix(self.n_words))
            known = {"copies": block.copies, "prior_rows": block.prior_rows}
            kept = engine.tokens(documents, self.n_topics, shift=self.shift, **known)
            if drawn:
                kept = replace(kept, z=block.topics.copy(), given=True)
        elif kept.given:
            kept = replace(kept, given=False)
        for other in [other for other in _drawn if other[0] != self.run]:
            del _drawn[other]
        # blocks come in a cycle: if the last one replaced the first, each would be missing
        if sum(len(tokens.z) for tokens in (kept, *_drawn.values())) <= MOST_DRAWN:
            _drawn[name] = kept
        return kept


def adding_counts(n_topics: int) -> Callable[[pa.Table], pa.Table]:
    """Return a plain function that adds a range's counts; Spark gives methods a key first."""

    def add_range(table: pa.Table) -> pa.Table:
        rows: list[Row] = list(rows_of(table.to_batches()))
        counts = TokenCounts(added_counts(rows, n_topics), 0)
        made = next(iter(count_records(counts, 1)))
        part = pa.array([rows[0].part], pa.int64())
        return pa.Table.from_batches([made]).set_column(1, "part", part)

    return add_range
