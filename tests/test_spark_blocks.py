"""Functions of executors, without Spark: blocks, copies, sweeps of parts, sums by ranges."""

import sys
from functools import reduce
from itertools import pairwise
from operator import add
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines import CPUEngine
from opelda.engines.seam import HostWeights, TokenCounts, copies_by_row, looked_at
from opelda.errors import InputError
from opelda.spark import _blocks, _worker
from opelda.spark._blocks import (
    COUNTS,
    DOCUMENTS,
    SIZES,
    SUMMARY,
    PackedDocuments,
    Summary,
    rows_of,
)

SEEDS = st.integers(0, 2**32 - 1)
N_WORDS, N_TOPICS = 12, 5
VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)


def collection(seed, n_docs=30, *, fractions=False):
    """Return documents with many duplicates and some empty documents."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, (n_docs, N_WORDS)).astype(np.float32)
    X[rng.integers(0, n_docs, 2)] = 0
    X[rng.integers(0, n_docs)] *= 20  # more than 16 tokens each
    X[rng.integers(0, n_docs)] *= 50  # more than a byte
    if fractions:
        X[rng.integers(0, n_docs, 3)] *= 0.3
    return sparse.csr_array(X[rng.integers(0, n_docs, n_docs)])


def vector(row, dense):
    """Return a document as MLlib stores it; sparse ones may hold zeros."""
    if dense:
        return {"type": 1, "size": None, "indices": None, "values": row.tolist()}
    at = np.flatnonzero((row > 0) | (np.arange(len(row)) % 5 == 0))
    return {"type": 0, "size": len(row), "indices": at.tolist(), "values": row[at].tolist()}


def vectors(X, rng):
    rows = [vector(row.astype(float), rng.random() < 0.4) for row in X.toarray()]
    return pa.array(rows, VECTOR)


def unwrapped(vectors):
    """Return counts of vectors, one by one."""
    found = np.zeros((len(vectors), N_WORDS))
    for number, one in enumerate(vectors.to_pylist()):
        at = range(N_WORDS) if one["type"] == 1 else one["indices"]
        found[number, list(at)] = one["values"]
    return found


@given(SEEDS, st.booleans())
def test_vectors_are_unwrapped(seed, fractions):
    rng = np.random.default_rng(seed)
    made = vectors(collection(seed, fractions=fractions), rng)
    for some in (made, made[7:], made[3:3]):
        n_words = N_WORDS if len(some) == 0 else rng.choice([None, N_WORDS])
        found = _blocks.counts_of_vectors(some, n_words)
        assert found.shape == (len(some), N_WORDS)
        assert np.array_equal(found.toarray(), unwrapped(some))


def test_vectors_with_bad_counts_are_rejected():
    sizes = pa.array([vector(np.ones(3), True), vector(np.ones(4), False)], VECTOR)
    with pytest.raises(InputError, match="has 4 entries, but the model has 3 words"):
        _blocks.counts_of_vectors(sizes, 3)
    with pytest.raises(InputError, match="entries, but the model has 5 words"):
        _blocks.counts_of_vectors(sizes[:1], 5)
    for wrong in (-1.0, np.nan, np.inf):
        with pytest.raises(InputError):
            _blocks.counts_of_vectors(pa.array([vector(np.full(3, wrong), True)], VECTOR), 3)


@given(SEEDS, st.booleans(), st.booleans())
def test_blocks_come_back_from_rows(seed, fractions, drawn):
    rng = np.random.default_rng(seed)
    rows = CPUEngine(1).documents(collection(seed, fractions=fractions)).part()
    copies = rng.integers(0, 2**40, rows.n_docs) * rng.integers(0, 2)
    topics = rng.integers(0, 60_000, 77 * drawn).astype(np.uint16)
    (row,) = rows_of([PackedDocuments(3, rows, copies, topics, 5).record()])
    found = PackedDocuments.of(row)
    assert (row.kind, found.part, found.number) == (DOCUMENTS, 3, 5)
    for name in ("indptr", "words", "counts"):
        ours, theirs = getattr(found.rows, name), getattr(rows, name)
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)
    assert np.array_equal(found.copies, copies)
    assert np.array_equal(found.topics, topics)


@given(SEEDS, st.integers(1, 9), st.integers(1, 40))
def test_documents_are_divided_into_blocks(seed, most_docs, most_entries):
    X = collection(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "MOST_DOCS", most_docs)
        patch.setattr(_blocks, "MOST_ENTRIES", most_entries)
        parts = list(_blocks.divided(X))
    assert np.array_equal(sparse.vstack(parts).toarray(), X.toarray())
    assert all(part.shape[0] <= most_docs for part in parts)
    assert all(part.nnz <= most_entries or part.shape[0] == 1 for part in parts)


@given(SEEDS, st.integers(1, N_WORDS), st.integers(1, 4))
def test_counts_by_ranges_add_up(seed, n_ranges, n_parts):
    rng = np.random.default_rng(seed)
    cells = rng.poisson(0.3, (n_parts, N_WORDS, N_TOPICS)).astype(np.int64) << 40
    rows = [
        row
        for part in cells
        for row in rows_of(_blocks.count_records(TokenCounts(sparse.csr_array(part), 4), n_ranges))
    ]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    shape = N_WORDS, N_TOPICS
    whole = _blocks.joined_counts(rows, n_ranges, shape, 4)
    assert np.array_equal(whole.cells.toarray(), cells.sum(axis=0))
    # also if executors first add the counts of a range
    ranges = {row.part for row in rows}
    add = _worker.adding_counts(N_TOPICS)
    added = [
        add(pa.Table.from_batches([row.batch for row in rows if row.part == part]))
        for part in ranges
    ]
    rows = [row for one in added for row in rows_of(one.to_batches())]
    assert len(rows) == len(ranges)
    again = _blocks.joined_counts(rows, n_ranges, shape, 4)
    assert np.array_equal(again.cells.toarray(), cells.sum(axis=0))


def test_summaries():
    X = collection(1, fractions=True)
    total = Summary.of(X)
    assert (total.n_docs, total.n_words) == (30, N_WORDS)
    assert total.total == pytest.approx(X.sum(), rel=1e-4)
    assert total.shift == 16
    assert Summary.of(collection(1)).shift == 4
    parts = [Summary.of(X[:9]), Summary(), Summary.of(X[9:])]
    assert sum(parts, Summary()) == total
    (row,) = rows_of([total.record(3)])
    assert Summary.of_row(row) == total
    with pytest.raises(InputError, match="has 4 entries, but the model has 12 words"):
        total + Summary.of(sparse.csr_array(np.ones((1, 4), np.float32)))


def packed(parts, prior_rows, rng):
    """Return the rows of parts of a collection, as tasks make them of batches of any sizes."""
    number = SimpleNamespace(partitionId=lambda: 0)
    made = SimpleNamespace(TaskContext=SimpleNamespace(get=lambda: number))
    rows = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pyspark", made)
        patch.setattr(_blocks, "MOST_DOCS", 5)
        patch.setattr(_worker, "MOST_DOCS", 7)
        for part, (X, of_docs) in enumerate(zip(parts, prior_rows, strict=True)):
            number.partitionId = lambda part=part: part
            column = vectors(X, rng) if X.shape[0] else pa.array([], VECTOR)
            missing = int(rng.integers(0, len(column) + 1))
            null = pa.array([None], VECTOR)
            column = pa.concat_arrays([column[:missing], null, column[missing:]])
            of_docs = pa.array(np.insert(of_docs, missing, 9).astype(np.int64))
            table = pa.RecordBatch.from_arrays([column, of_docs], ["features", "row"])
            cut = int(rng.integers(0, len(column) + 1))
            batches = [table[:cut], table[cut:]]
            rows.append(list(rows_of(_worker.Pack(_worker.Counter())(batches))))
    return rows


def copies_of(rows):
    """Return the driver's duplicates among documents of several parts."""
    found = {}
    keys = [row for part in rows for row in part if row.kind < 0]
    for kind in {row.kind for row in keys}:
        table = pa.Table.from_batches([record_of(row) for row in keys if row.kind == kind])
        for row in rows_of(_worker.find_copies(table).to_batches()):
            found.setdefault(row.part, []).append(row)
    copies = {}
    for part, some in found.items():
        each = np.concatenate([row.array("lengths", np.uint64) for row in some])
        first = np.concatenate([row.array("words", np.int64) for row in some])
        order = np.argsort(each)
        copies[part] = each[order], first[order]
    return _worker.Numbering(copies)


def record_of(row):
    return row.batch.slice(row.at, 1)


@given(
    SEEDS,
    st.lists(st.integers(0, 30), max_size=4),
    st.booleans(),
    st.booleans(),
    st.integers(0, 3),
)
def test_swept_parts_equal_the_whole(seed, cuts, fractions, remembers, n_rows):
    """Documents in any order and any parts, through the rows of tables, sweep after sweep.

    Whether or not the worker that sweeps a part has swept it before, and whether or not priors of
    documents differ by rows.
    """
    _worker._drawn.clear()
    rng = np.random.default_rng(seed)
    X = collection(seed, fractions=fractions)
    engine, alpha = CPUEngine(1), rng.uniform(0.1, 0.6, (n_rows, N_TOPICS) if n_rows else N_TOPICS)
    host = HostWeights(rng.random((N_WORDS, N_TOPICS)).astype(np.float32), 0.1, 1.0, 1.0)
    weights, documents = engine.weights(host), engine.documents(X)
    of_docs, known = rng.integers(0, n_rows or 1, X.shape[0]).astype(np.uint16), {}
    if n_rows:
        copies = copies_by_row(documents.content_keys(), of_docs)
        known = {"copies": copies, "prior_rows": of_docs}
    tokens = engine.tokens(documents, N_TOPICS, **known)

    order = rng.permutation(X.shape[0])
    ends = [0, *sorted(cuts), X.shape[0]]
    parts = [X[order[a:b]] for a, b in pairwise(ends)]
    of_parts = [of_docs[order[a:b]] for a, b in pairwise(ends)]
    rows = packed(parts, of_parts, rng)
    summary = sum(
        (Summary.of_row(row) for part in rows for row in part if row.kind == SUMMARY), Summary()
    )
    assert summary == Summary.of(X)
    assert summary.total == tokens.total
    assert summary.shift == tokens.shift
    numbering = copies_of(rows)
    rows = [[record_of(row) for row in part if row.kind == DOCUMENTS] for part in rows]

    sample = [row for part in rows for row in rows_of(_worker.KeySample(numbering, 0.4)(part))]
    sample = [
        tuple(doc) for row in sample for doc in PackedDocuments.of(row).matrix(N_WORDS).toarray()
    ]
    chosen = X.toarray()[looked_at(tokens.keys, 0.4)]
    assert sorted(sample) == sorted(map(tuple, chosen))

    counts = None
    for number in range(3):
        task = _worker.Sweep(
            run="",
            n_topics=N_TOPICS,
            n_words=N_WORDS,
            shift=summary.shift,
            share=0.7,
            n_ranges=3,
            alpha=alpha,
            seed=number,
            weights=host if counts is None else None,
            counts=counts,
            prior=0.1,
            numbering=numbering if counts is None else None,
        )
        if not remembers:
            _worker._drawn.clear()
        made = [list(rows_of(task(part))) for part in rows]
        rows = [[record_of(row) for row in part if row.kind == DOCUMENTS] for part in made]
        other = [row for part in made for row in part if row.kind != DOCUMENTS]
        alone = engine.sweep(weights, tokens, alpha, counts=counts, prior=0.1, seed=number)
        cells = [row for row in other if row.kind == COUNTS]
        counts = _blocks.joined_counts(cells, 3, (N_WORDS, N_TOPICS), summary.shift)
        assert np.array_equal(counts.cells.toarray(), alone.cells.toarray())
        for row in range(n_rows or 1):
            records = [one for one in other if one.kind == SIZES and one.part == row]
            total = reduce(add, map(_blocks.sizes_of, records))
            whole = engine.histogram(tokens, 0.7, row if n_rows else None)
            for name in ("topics", "sizes", "times", "lengths", "n_alike"):
                assert np.array_equal(getattr(total, name), getattr(whole, name)), name
