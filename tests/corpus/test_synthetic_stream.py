"""The endless stream: random access, changing words, constant memory."""

import itertools
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import Vocabulary, generate_stream, mini_batches
from opelda.errors import InputError
from tests.cases import cases

SMALL = {"n_words": 60, "n_topics": 3, "n_tokens": 8, "new_words_per_batch": 10}


@given(st.integers(0, 60), st.integers(1, 25), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_first_batch_enters_the_same_stream(n_docs, batch_size, first, seed):
    options = {"batch_size": batch_size, "random_state": seed, **SMALL}
    whole = list(generate_stream(n_docs, **options))
    assert sum(map(len, whole)) == n_docs
    assert all(len(batch) == batch_size for batch in whole[:-1])
    assert list(generate_stream(n_docs, **options, first_batch=first)) == whole[first:]
    endless = generate_stream(None, **options, first_batch=first)
    full = n_docs // batch_size
    assert list(itertools.islice(endless, max(0, full - first))) == whole[first:full]


def test_documents_are_counts_of_words():
    (batch,) = generate_stream(200, batch_size=200, **SMALL)
    for document in batch:
        assert document
        assert all(type(word) is str for word in document)
        assert all(type(n) is float and n >= 1 and n == int(n) for n in document.values())


@given(st.integers(0, 2**32 - 1))
def test_old_words_are_replaced_by_new_words(seed):
    """Each batch replaces 10 of 60 words: after 6 batches all are replaced."""
    batches = list(generate_stream(4000, batch_size=200, random_state=seed, **SMALL))
    words = [set().union(*batch) for batch in batches]
    for t, here in enumerate(words):
        assert here <= {f"w{i}" for i in range(10 * t, 10 * t + 60)}
        assert len(here) > 30
        if t >= 6:
            assert not here & words[t - 6]
        if t >= 1:
            assert here & words[t - 1]
    assert len(set().union(*words)) > 200


@given(st.integers(0, 2**32 - 1))
def test_topics_keep_their_words(seed):
    """Every third word has the same topic, and words of one topic share documents."""
    batches = generate_stream(
        3000, batch_size=1000, random_state=seed, doc_topic_prior=0.01, **SMALL
    )
    for batch in batches:
        shares = []
        for document in batch:
            topics = np.bincount([int(word[1:]) % 3 for word in document], minlength=3)
            shares.append(topics.max() / topics.sum())
        assert np.mean(shares) > 0.8


def test_streams_differ_between_seeds():
    one, two = (next(generate_stream(100, random_state=seed)) for seed in (1, 2))
    assert one != two


def test_growing_vocabulary_uses_bounded_memory():
    vocabulary = Vocabulary(growing=True, max_features=80)
    stream = generate_stream(None, batch_size=100, **SMALL)
    batches = mini_batches(stream, batch_size=100, vocabulary=vocabulary)
    for _ in itertools.islice(batches, 20):
        pass
    tracemalloc.start()
    try:
        for _ in itertools.islice(batches, 5):
            pass
        before = tracemalloc.get_traced_memory()[0]
        for batch in itertools.islice(batches, 60):
            assert batch.X.shape == (100, 80)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 100_000
    assert vocabulary.n_evicted > 0


@cases(
    "arguments",
    [
        {"n_docs": -1},
        {"batch_size": 0},
        {"n_words": 2, "n_topics": 3},
        {"n_topics": 0},
        {"n_tokens": -1},
        {"doc_topic_prior": 0.0},
        {"new_words_per_batch": -1},
        {"random_state": None},
        {"first_batch": -1},
    ],
)
def test_invalid_parameters_are_rejected_at_once(arguments):
    with pytest.raises(InputError):
        generate_stream(**{"n_docs": 10, **arguments})
