"""Documents and counts as rows of a table: blocks of bytes that Spark moves and keeps."""

from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts as checked
from opelda.engines import CPUEngine
from opelda.engines.seam import (
    FRACTION_SHIFT,
    Documents,
    Rows,
    SizeHistogram,
    TokenCounts,
    tokens_of,
    unit_of,
)
from opelda.errors import InputError

# Kinds of rows; below 0 are keys, by their first bits.
DOCUMENTS, COUNTS, SIZES, SUMMARY = range(4)
KEY_RANGES = 16
BYTES = "lengths", "words", "counts", "copies", "topics"
SCHEMA = "kind byte, part long, " + ", ".join(f"{name} binary" for name in BYTES)
ARROW = pa.schema(
    [("kind", pa.int8()), ("part", pa.int64()), *((name, pa.binary()) for name in BYTES)]
)
MOST_DOCS, MOST_ENTRIES = 32_768, 2**21  # of a block: a row of a few megabytes
MOST_BLOCKS = 2**24  # of a part
SPARSE_VECTOR, DENSE_VECTOR = 0, 1  # the types that MLlib stores in vectors


@dataclass(frozen=True)
class PackedDocuments:
    """Some documents of a part of a collection, and the topics of their tokens once drawn."""

    part: int
    rows: Rows
    copies: NDArray[np.int64]  # each document's number in its row, as of `copies_by_row`
    # of tokens, in the engine's order
    topics: NDArray[np.uint16] = field(default_factory=lambda: np.zeros(0, np.uint16))
    number: int = 0  # in its part

    def record(self) -> pa.RecordBatch:
        rows, few = self.rows, self.rows.counts.astype(np.uint8)
        return record(
            DOCUMENTS,
            self.part * MOST_BLOCKS + self.number,
            np.diff(rows.indptr).astype(np.int32),
            rows.words,
            few if np.array_equal(few, rows.counts) else rows.counts,
            self.copies if self.copies.any() else self.copies[:0],
            self.topics,
        )

    @classmethod
    def of(cls, row: "Row") -> "PackedDocuments":
        words, lengths = row.array("words", np.int32), row.array("lengths", np.int32)
        counts = row.array("counts", np.uint8)
        if len(counts) != len(words):
            counts = row.array("counts", np.float32)
        copies, topics = row.array("copies", np.int64), row.array("topics", np.uint16)
        if not len(copies):
            copies = np.zeros(len(lengths), np.int64)
        rows = Rows(offsets(lengths), words, counts.astype(np.float32, copy=False))
        part, number = divmod(row.part, MOST_BLOCKS)
        return cls(part, rows, copies, topics, number)

    @property
    def prior_rows(self) -> NDArray[np.uint16]:
        return (self.copies >> 32).astype(np.uint16)

    @property
    def content_keys(self) -> NDArray[np.uint64]:
        return CPUEngine(1).content_keys(self.rows)

    def matrix(self, n_words: int) -> sparse.csr_array:
        rows = self.rows
        shape = rows.n_docs, n_words
        return sparse.csr_array((rows.counts, rows.words, rows.indptr), shape=shape)


@dataclass(frozen=True)
class Row:
    """A row of a batch of the table."""

    batch: pa.RecordBatch
    at: int

    @property
    def kind(self) -> int:
        return int(self.batch.column("kind")[self.at].as_py())

    @property
    def part(self) -> int:
        """The part of the collection, with a block's number, or the range of words."""
        return int(self.batch.column("part")[self.at].as_py())

    def array(self, name: str, dtype: type) -> NDArray[Any]:
        """Return a column's bytes as numbers, without a copy."""
        return np.frombuffer(self.batch.column(name)[self.at].as_buffer(), dtype)


def rows_of(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        for at in range(batch.num_rows):
            yield Row(batch, at)


def record(kind: int, part: int, *arrays: NDArray[Any]) -> pa.RecordBatch:
    """Return one row of that kind, with arrays as bytes."""
    columns = (np.ascontiguousarray(array).tobytes() for array in arrays)
    row = dict.fromkeys(BYTES, b"") | dict(zip(BYTES, columns, strict=False))
    return pa.RecordBatch.from_pylist([{"kind": kind, "part": part, **row}], schema=ARROW)


def offsets(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the begin of each of some consecutive pieces, and the end of the last."""
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def divided(matrix: sparse.csr_array) -> Iterator[sparse.csr_array]:
    """Yield consecutive documents by blocks, a very long document alone."""
    ends, first, n_docs = matrix.indptr, 0, matrix.shape[0]
    while first < n_docs:
        fitting = int(np.searchsorted(ends, ends[first] + MOST_ENTRIES, side="right")) - 1
        last = min(max(fitting, first + 1), first + MOST_DOCS, n_docs)
        yield matrix[first:last]
        first = last


def counts_of_vectors(vectors: pa.Array, n_words: int | None) -> sparse.csr_array:
    """Return the counts of unwrapped vectors of MLlib, all of the same size."""
    kinds = vectors.field("type").to_numpy(zero_copy_only=False)
    lists, numbers = vectors.field("values"), vectors.field("indices")
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    sizes = pc.coalesce(vectors.field("size"), pc.list_value_length(lists))
    sizes = np.unique(sizes.to_numpy(zero_copy_only=False))
    expected = int(sizes[0]) if n_words is None and len(sizes) else n_words or 0
    if len(sizes) > 1 or (len(sizes) and sizes[0] != expected):
        other = next(int(size) for size in sizes if size != expected)
        raise sizes_differ(other, expected)
    values = lists.flatten().to_numpy(zero_copy_only=False)
    indices = numbers.flatten().to_numpy(zero_copy_only=False)
    indptr = offsets(lengths)
    if (kinds != SPARSE_VECTOR).any():
        is_dense = np.repeat(kinds != SPARSE_VECTOR, lengths)
        words = np.arange(len(values), dtype=np.int64) - np.repeat(indptr[:-1], lengths)
        words[~is_dense] = indices
        indices, values = words, values.copy()  # Arrow's numbers cannot be changed
    matrix = sparse.csr_array((values, indices, indptr), shape=(len(lengths), expected))
    if (kinds != SPARSE_VECTOR).any():
        matrix.eliminate_zeros()
    return checked(matrix)


def count_records(counts: TokenCounts, n_ranges: int) -> Iterator[pa.RecordBatch]:
    """Yield counts as rows, one for each range of words with any."""
    starts, topics, values = counts.arrays
    ends = bounds(counts.n_words, n_ranges)
    for part in range(n_ranges):
        here = starts[ends[part] : ends[part + 1] + 1]
        some = slice(int(here[0]), int(here[-1]))
        if some.start < some.stop:
            lengths = np.diff(here).astype(np.int32)
            yield record(COUNTS, part, lengths, topics[some].astype(np.uint16), values[some])


def added_counts(rows: Iterable[Row], n_topics: int) -> sparse.csr_array:
    """Return the sum of a range's counts."""

    def cells(row: Row) -> sparse.csr_array:
        starts = offsets(row.array("lengths", np.int32))
        topics = row.array("words", np.uint16).astype(np.int32)
        parts = row.array("counts", np.int64), topics, starts
        return sparse.csr_array(parts, shape=(len(starts) - 1, n_topics))

    return reduce(lambda total, part: sparse.csr_array(total + part), map(cells, rows))


def joined_counts(
    rows: Iterable[Row], n_ranges: int, shape: tuple[int, int], shift: int
) -> TokenCounts:
    """Return the counts of all words, from rows of all parts and ranges of words."""
    ends, by_range = bounds(shape[0], n_ranges), dict[int, list[Row]]()
    for row in rows:
        by_range.setdefault(row.part, []).append(row)
    cells = [
        added_counts(by_range[part], shape[1])
        if part in by_range
        else sparse.csr_array((ends[part + 1] - ends[part], shape[1]), dtype=np.int64)
        for part in range(n_ranges)
    ]
    return TokenCounts(sparse.csr_array(sparse.vstack(cells, "csr")), shift)


def bounds(n_words: int, n_ranges: int) -> NDArray[np.int64]:
    """Return the first word of each range, and the end of the last."""
    return np.arange(n_ranges + 1, dtype=np.int64) * n_words // n_ranges


def size_record(part: int, sizes: SizeHistogram) -> pa.RecordBatch:
    return record(SIZES, part, sizes.topics, sizes.sizes, sizes.times, sizes.lengths, sizes.n_alike)


def sizes_of(row: Row) -> SizeHistogram:
    types = np.int64, np.float64, np.int64, np.float64, np.int64
    return SizeHistogram(*(row.array(*named) for named in zip(BYTES, types, strict=True)))


@dataclass(frozen=True)
class Summary:
    """The numbers of a part's documents, or of all."""

    n_docs: int = 0
    n_tokens: int = 0
    units: int = 0  # their weight, in multiples of 2**-FRACTION_SHIFT
    fractions: int = 0  # counts that are not whole
    n_words: int = 0

    @classmethod
    def of(cls, matrix: sparse.csr_array) -> "Summary":
        counts = Documents(matrix).part().counts
        units = np.rint(np.ldexp(counts.astype(np.float64), FRACTION_SHIFT))
        return cls(
            matrix.shape[0],
            int(tokens_of(counts).sum()),
            int(units.astype(np.int64).sum()),
            int((counts != np.rint(counts)).sum()),
            matrix.shape[1],
        )

    def __add__(self, other: "Summary") -> "Summary":
        if self.n_docs and other.n_docs and self.n_words != other.n_words:
            raise sizes_differ(other.n_words, self.n_words)
        both = zip(astuple(self), astuple(other), strict=True)
        total = Summary(*(own + more for own, more in both))
        return replace(total, n_words=max(self.n_words, other.n_words))

    @property
    def total(self) -> float:
        """Their weight."""
        return float(np.ldexp(float(self.units), -FRACTION_SHIFT))

    @property
    def shift(self) -> int:
        """The shift of their tokens; see `Tokens`."""
        return unit_of(not self.fractions, self.total)

    def record(self, part: int) -> pa.RecordBatch:
        return record(SUMMARY, part, np.array(astuple(self), np.int64))

    @classmethod
    def of_row(cls, row: Row) -> "Summary":
        return cls(*row.array("lengths", np.int64).tolist())


def sizes_differ(size: int, expected: int) -> InputError:
    """Return the error for a vector of another size."""
    return InputError(
        f"A document's vector has {size} entries, but the model has {expected} words; count all "
        "documents with the CountVectorizer that the model was fitted with."
    )
