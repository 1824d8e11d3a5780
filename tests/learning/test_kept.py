"""Documents with token topics: joined, split, and without evicted words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.engines.seam import FRACTION_SHIFT, Rows, TokenCounts, tokens_of
from opelda.learning.streaming._window import Assignments, Window


def kept(rng, n_docs, n_words=6, n_topics=4):
    """Some documents with topics."""
    counts = rng.choice(np.float32([0, 0, 1, 2, 17, 0.5]), (n_docs, n_words))
    rows = sparse.csr_array(counts)
    rows = Rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)
    n_tokens = int(tokens_of(rows.counts).sum())
    return Assignments(rows, rng.integers(0, n_topics, n_tokens).astype(np.uint16))


def listed(documents):
    """Return each document's words, counts and token topics."""
    found = []
    for d in range(documents.rows.n_docs):
        here = slice(*documents.rows.indptr[d : d + 2])
        topics = documents.topics[slice(*documents.ends[d : d + 2])]
        counts = documents.rows.counts[here].tolist()
        found.append((documents.rows.words[here].tolist(), counts, topics.tolist()))
    return found


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_window_documents_survive_joining_and_splitting(seed, sizes):
    rng = np.random.default_rng(seed)
    parts = [kept(rng, size) for size in sizes]
    whole = Assignments.joined(parts)
    assert listed(whole) == [document for part in parts for document in listed(part)]
    first = int(rng.integers(0, sum(sizes) + 1))
    before, after = whole.divided(first)
    assert listed(before) + listed(after) == listed(whole)
    assert before.rows.n_docs == first


def less(documents, gone):
    """Return listed documents without some words."""
    for had, counts, topics in documents:
        stays = np.array([word not in gone for word in had], bool)
        each = np.repeat(stays, tokens_of(np.float32(counts)))
        yield tuple(
            np.array(all_of)[stay].tolist()
            for all_of, stay in ((had, stays), (counts, stays), (topics, each))
        )


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), max_size=6))
def test_forgetting_of_words_uses_earlier_documents(seed, asked):
    rng = np.random.default_rng(seed)
    outside = rng.integers(0, 3, (5, 4))  # which a new word is not in yet
    window = Window(np.ones(4), TokenCounts(sparse.csr_array(outside), FRACTION_SHIFT))
    expected = []
    for look in asked:
        more, gone = kept(rng, 3), rng.choice(6, 2, replace=False)
        window.take(more)
        window.forget(gone)
        expected = [*less([*expected, *listed(more)], gone)]
        outside[gone[gone < 5]] = 0
        assert np.array_equal(window.outside.cells.toarray(), outside)
        assert window.n_tokens == sum(len(topics) for *_, topics in expected)
        if look:  # which a checkpoint does: it must make no difference
            assert listed(window.kept) == expected
    assert listed(window.kept) == expected
    assert window.n_tokens == len(window.kept.topics)
