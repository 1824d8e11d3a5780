"""Mini-batches: any source resumes from any position."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Vocabulary, mini_batches, read, stream
from opelda.errors import InputError
from tests.cases import cases

words = st.sampled_from([f"w{i}" for i in range(9)])
mappings = st.dictionaries(words, st.sampled_from([0, 1, 2.5]), max_size=4)
tokens = st.lists(words, max_size=5)
texts = tokens.map(" ".join)
documents = st.one_of(texts, tokens, mappings)
lists = st.lists(st.one_of(tokens, mappings), min_size=1, max_size=4)
matrices = st.builds(
    lambda shape, seed: np.random.default_rng(seed).integers(0, 3, shape),
    st.tuples(st.integers(0, 3), st.integers(1, 6)),
    st.integers(0, 99),
)
sources = st.lists(st.one_of(documents, documents, lists, matrices), max_size=14)


class Seekable:
    """A source with its own positions: letters."""

    def __init__(self, items):
        self.items = items
        self.position = {"at": "a"}

    def seek(self, position):
        self.position = dict(position)

    def __iter__(self):
        while (at := ord(self.position["at"]) - ord("a")) < len(self.items):
            self.position["at"] = chr(
                ord("a") + at + 1
            )  # in place: earlier positions must not change
            yield self.items[at]


def same(left, right):
    assert left.X.shape == right.X.shape
    assert np.array_equal(left.X.toarray(), right.X.toarray())
    assert left.position == right.position
    assert left.n_unknown_tokens == right.n_unknown_tokens
    assert (left.change is None) == (right.change is None)
    if left.change is not None:
        for name, value in vars(left.change).items():
            assert np.array_equal(value, getattr(right.change, name))


@given(sources, st.integers(1, 4), st.sampled_from([None, 3, 5]), st.booleans(), st.booleans())
def test_batches_resume_from_every_position(items, batch_size, max_features, growing, seekable):
    vocabulary = Vocabulary(["w0"], growing=growing, max_features=max_features)
    kind = Seekable if seekable else iter
    whole, copies = [], [vocabulary.copy()]
    for batch in mini_batches(kind(items), batch_size=batch_size, vocabulary=vocabulary):
        whole.append(batch)
        copies.append(vocabulary.copy())
    positions = [None, *(json.loads(json.dumps(batch.position)) for batch in whole)]
    for i, (position, copy) in enumerate(zip(positions, copies, strict=True)):
        rest = mini_batches(kind(items), batch_size=batch_size, vocabulary=copy, position=position)
        for left, right in zip(whole[i:], rest, strict=True):
            same(left, right)
        assert copy == vocabulary


@given(sources, st.integers(1, 4))
def test_every_token_is_counted_once(items, batch_size):
    """Against counting all items at once with the final vocabulary."""
    vocabulary = Vocabulary(growing=True)
    batches = list(mini_batches(items, batch_size=batch_size, vocabulary=vocabulary))
    total = sum(batch.X.sum(dtype=np.float64) + batch.n_unknown_tokens for batch in batches)
    expected = 0.0
    rows = 0
    for item in items:
        if isinstance(item, np.ndarray):
            expected += item.sum()
            rows += len(item)
            continue
        single = isinstance(item, str | dict) or not item or isinstance(item[0], str)
        X = vocabulary.count([item] if single else item)
        expected += X.sum(dtype=np.float64)
        rows += X.shape[0]
    assert total == pytest.approx(expected)
    assert sum(batch.X.shape[0] for batch in batches) == rows
    for batch in batches:
        assert batch.X.shape[0]
        assert batch.X.dtype == np.float32
        assert batch.X.indices.dtype == np.int32
        assert batch.X.has_canonical_format
        assert (batch.X.data > 0).all()


def test_batches_end_at_matrices_and_lists():
    items = ["aa", "bb", "cc", np.ones((2, 1)), [["dd"], {"ee": 1}], ("ff", "gg"), {"hh": 2}, []]
    batches = list(mini_batches(items, batch_size=2, vocabulary=Vocabulary(growing=True)))
    assert [batch.X.shape[0] for batch in batches] == [2, 1, 2, 2, 2, 1]
    assert [batch.position["n"] for batch in batches] == [2, 3, 4, 5, 7, 8]
    assert [batch.change is None for batch in batches] == [False, False, True, False, False, False]


def test_source_is_read_no_further_than_the_current_batch():
    taken = []

    def source():
        for number in range(100):
            taken.append(number)
            yield f"word{number}"

    batches = mini_batches(source(), batch_size=7, vocabulary=Vocabulary(growing=True))
    assert not taken
    for n in (7, 14, 21):
        next(batches)
        assert len(taken) == n


def test_vocabulary_grows_with_each_batch():
    vocabulary = Vocabulary(growing=True)
    batches = mini_batches(["aa", np.ones((1, 1)), "bb"], batch_size=5, vocabulary=vocabulary)
    for words_then in [("aa",), ("aa",), ("aa", "bb")]:
        next(batches)
        assert vocabulary.words == words_then


def test_endless_source():
    def source():
        while True:
            yield {"tick": 1}

    batches = mini_batches(source(), batch_size=3, vocabulary=Vocabulary(["tick"]), position=10)
    assert [next(batches).position["n"] for _ in range(3)] == [13, 16, 19]


def test_position_beyond_the_end_is_rejected():
    items = ["aa", "bb"]
    vocabulary = Vocabulary(["aa"])
    assert not list(mini_batches(items, batch_size=2, vocabulary=vocabulary, position=2))
    with pytest.raises(InputError, match="ends after 2 items, before position 3"):
        list(mini_batches(items, batch_size=2, vocabulary=vocabulary, position=3))
    for position in (-1, "2", 1.0, True):
        with pytest.raises(InputError, match="position must be a whole number"):
            list(mini_batches(items, batch_size=2, vocabulary=vocabulary, position=position))


@cases(
    ("item", "message"),
    [
        ({"aa": -1}, r"^Item 2 counts the word 'aa' as -1"),
        ([{"aa": 1}, {"aa": np.nan}], r"^Document 1 of item 2 counts the word 'aa' as nan"),
        ([["aa"], 5], r"^Document 1 of item 2 is not a document"),
        ([1, 2, 3], r"^Document 0 of item 2 is not a document"),
        ([["aa"], "bb"], r"^Item 2 mixes words and documents"),
        (["aa", ["bb"]], r"^Item 2 is not a document"),
        (b"aa", r"^Item 2 is not a document .*decode"),
        (7, r"^Item 2 is neither a document nor a matrix but int"),
        (None, r"^Item 2 is neither a document nor a matrix but NoneType"),
        (np.array([[1, -1]]), r"Item 2\[0, 1\] is -1"),
    ],
)
def test_invalid_items_are_named(item, message):
    items = ["aa", "bb", item]
    with pytest.raises(InputError, match=message):
        list(mini_batches(items, batch_size=10, vocabulary=Vocabulary(growing=True)))
    position = mini_batches(items, batch_size=2, vocabulary=Vocabulary(growing=True), position=1)
    with pytest.raises(InputError, match=message):
        list(position)


def test_default_vocabulary_grows():
    items = [["tea", "cup"], {"pot": 2}, [["tea"], {"jug": 1}], np.ones((1, 9))]
    vocabulary = Vocabulary(growing=True, max_features=100_000)
    expected = list(mini_batches(items, batch_size=1, vocabulary=vocabulary))
    found = list(mini_batches(items, batch_size=1))
    assert [batch.X.toarray().tolist() for batch in found] == [
        batch.X.toarray().tolist() for batch in expected
    ]
    assert found[0].vocabulary == vocabulary
    assert all(batch.vocabulary is found[0].vocabulary for batch in found)


def test_numbered_columns_and_words_do_not_mix():
    batches = mini_batches([np.eye(2), ["tea"]], batch_size=1)
    assert next(batches).vocabulary is None
    with pytest.raises(InputError, match="documents with words, but earlier documents were counts"):
        next(batches)


TEXTS = ["tea cup", "pot", "", "cup cup jug"]


@cases(
    "make",
    [
        pl.Series,
        pd.Series,
        pa.array,
        np.array,
        lambda texts: pl.DataFrame({"id": [1, 2, 3, 4], "text": texts}),
        lambda texts: pd.DataFrame({"id": [1, 2, 3, 4], "text": texts}),
        lambda texts: pa.table({"text": texts}),
        lambda texts: [{"id": i, "text": text} for i, text in enumerate(texts)],
        lambda texts: iter([{"id": i, "text": text} for i, text in enumerate(texts)]),
    ],
)
def test_columns_tables_and_records_give_their_texts(make):
    expected = list(mini_batches(TEXTS, batch_size=3))
    for vocabulary in (None, Vocabulary(growing=True, max_features=100_000, min_df=None)):
        found = list(mini_batches(make(TEXTS), batch_size=3, vocabulary=vocabulary))
        for batch, same in zip(found, expected, strict=True):
            assert batch.X.toarray().tolist() == same.X.toarray().tolist()
        assert found[-1].vocabulary == expected[-1].vocabulary
    (rest,) = mini_batches(
        make(TEXTS), batch_size=3, vocabulary=found[-1].vocabulary, position=found[0].position
    )
    assert rest.X.toarray().tolist() == found[1].X.toarray().tolist()


def test_stream_brings_its_vocabulary():
    source = stream(["the tea and the cup", "a cup"], batch_size=1)
    first, second = mini_batches(source, batch_size=9)
    assert first.vocabulary is second.vocabulary is source.vocabulary
    assert source.vocabulary.tokenizer.stop_words == "en"
    assert list(source.vocabulary) == ["tea", "cup"]


def test_corpus_brings_its_vocabulary():
    corpus = read(TEXTS)
    batches = list(mini_batches(corpus, batch_size=3))
    assert [batch.X.shape for batch in batches] == [(3, 4), (1, 4)]
    assert np.array_equal(np.vstack([batch.X.toarray() for batch in batches]), corpus.X.toarray())
    assert batches[0].vocabulary is corpus.vocabulary
    (other,) = mini_batches(corpus, batch_size=9, vocabulary=Vocabulary(["jug", "cup"]))
    assert other.X.toarray().tolist() == [[0, 1], [0, 0], [0, 0], [1, 2]]
    assert other.n_unknown_tokens == 2


@cases("source", ["a text", b"bytes", {"aa": 1}, np.ones((2, 2)), sparse.eye_array(3)])
def test_single_item_is_rejected_as_a_source(source):
    with pytest.raises(InputError, match=r"give \[it\]"):
        mini_batches(source, batch_size=1, vocabulary=Vocabulary(["aa"]))


@cases(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "batch_size must be a whole number, at least 1"),
        ({"batch_size": 2.5}, "batch_size must be"),
        ({"batch_size": 1, "n_words": 0}, "n_words must be"),
        ({"batch_size": 1, "source": 5}, "source must be an iterable"),
    ],
)
def test_invalid_parameters_are_rejected_at_once(arguments, message):
    arguments = {"source": [], **arguments}
    with pytest.raises(InputError, match=message):
        mini_batches(**arguments)
