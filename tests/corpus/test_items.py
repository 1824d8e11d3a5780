"""Documents from iterables: the first non-empty one decides their kind."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from opelda import StreamingOPE
from opelda.corpus import Vocabulary, mini_batches, read, stream
from opelda.errors import InputError
from tests.cases import cases


class Unhashed(dict):
    """A document that must not be hashed: hashing calls repr."""

    def __repr__(self):
        raise AssertionError("it was hashed")


def test_items_are_hashed_only_for_a_checkpoint(tmp_path):
    items = [Unhashed(tea=1), Unhashed(cup=2), Unhashed(tea=1, pot=3)] * 4
    assert len(read(items)) == len(read(iter(items))) == 12
    assert len(read(items, limit=7)) == 7
    for source in (items, iter(items)):
        learner = StreamingOPE(2, random_state=0, batch_size=5).fit_stream(source)
        assert learner.n_docs_seen_ == 12
    with pytest.raises(AssertionError, match="it was hashed"):
        StreamingOPE(2).fit_stream(items, checkpoint=tmp_path)


def test_item_numbers_are_positions():
    texts = [f"tea w{i}" for i in range(10)]
    words = Vocabulary([f"w{i}" for i in range(10)])
    made = partial(mini_batches, texts, batch_size=3, vocabulary=words)
    first, second, *_ = made(by_content=False)
    assert (first.position, second.position) == (3, 6)
    for by_content in (False, True):
        rest = made(position=first.position, by_content=by_content)
        assert [batch.X.indices.tolist() for batch in rest] == [[3, 4, 5], [6, 7, 8], [9]]


@cases("make", [list, iter])
def test_empty_documents_take_the_kind_of_the_others(make):
    bag = [(0, 2), (1, 1)]
    for documents in ([bag] * 2500 + [[]] * 5000, [[]] * 5500 + [bag], [[], (), bag, {}]):
        corpus = read(make(documents))
        assert corpus.X.shape == (len(documents), 2)
        full = [bool(document) for document in documents]
        assert (corpus.X.toarray() == np.outer(full, [2, 1])).all()
    words = read(make([[], {}, ["tea"], {}, np.array([]), {"tea": 2}]))
    assert words.X.toarray().ravel().tolist() == [0, 0, 1, 0, 0, 2]
    texts = read(make([[], "tea", [], ""]))
    assert texts.X.toarray().ravel().tolist() == [0, 1, 0, 0]
    records = read(make([{}, {"text": "tea"}, []][1:]))
    assert records.X.toarray().ravel().tolist() == [1, 0]


def test_streams_of_bags_may_start_empty():
    for make in (list, iter):
        batches = stream(make([[], [(1, 3)], [(0, 1)]]), batch_size=2)
        assert batches.vocabulary is None
        assert [batch.X.sum() for batch in batches] == [3, 1]
    batches = stream([[], [(1, 3)], [], [(0, 1)]], batch_size=2)
    batches.seek(2)
    assert [batch.X.sum() for batch in batches] == [1]


@cases(
    "items",
    [
        [["tea"], [(0, 1)]],
        [[(0, 1)], ["tea"]],
        [[(0, 1)], {"tea": 1}],
        [{"tea": 1}, {"text": "cup"}],
    ],
)
def test_bags_and_other_documents_cannot_mix(items):
    for n_before in (1, 5001):  # in the same block, and in another
        documents = items[:1] * n_before + items[1:]
        with pytest.raises(InputError, match=rf"^Item {n_before} [^\n]*\.$"):
            read(documents)


@cases(
    "items",
    [
        ["tea", ["cup"]],
        ["tea", {"text": "cup"}],
        [["tea"], "cup"],
        [{"tea": 1}, "cup"],
        [{"text": "tea"}, ["cup"]],
    ],
)
def test_texts_words_and_records_may_mix(items):
    for n_before in (1, 5001):  # in the same block, and in another
        corpus = read(items[:1] * n_before + items[1:], min_df=1, max_df=1.0)
        assert corpus.words == ("cup", "tea")
        assert corpus.X.sum(axis=0).tolist() == [1, n_before]


@cases("value", [None, float("nan"), pd.NA, 5, ["tea"]])
def test_record_keys_are_selected_by_name(value):
    records = [
        {"id": "no1", "text": value},
        {"id": "no2", "text": "cup"},
        {"text": "pot", "a": "z"},
    ]
    corpus = read(records, name_column="id")
    assert corpus.words == (("cup", "pot", "tea") if value == ["tea"] else ("cup", "pot"))
    assert corpus.names == ["no1", "no2", ""]
    assert read([{"id": 1, "text": None}, {"id": 2, "text": "cup"}]).words == ("cup",)


def test_missing_record_keys_are_named():
    with pytest.raises(InputError, match="Item 0 has no key 'id'; available: 'text'"):
        read([{"text": "tea"}], name_column="id")
    with pytest.raises(InputError, match="Item 1 has no key 'text'; available: 'body'"):
        read([{"text": "tea"}, {"body": "cup"}])
    with pytest.raises(InputError, match="Item 0 has no key with a usual name"):
        read([{1: "tea"}])
    partly = read(
        [{"title": "green", "text": "tea"}, {"title": "cup"}], text_column=["title", "text"]
    )
    assert partly.X.sum(axis=1).tolist() == [2, 1]
    with pytest.raises(InputError, match="Item 0 is not a dictionary but list"):
        read([["tea"]], text_column="text")


def test_error_messages_number_the_items():
    for make in (list, iter):
        with pytest.raises(InputError, match="Item 2 is not a document"):
            read(make([[], {}, None]))
        with pytest.raises(InputError, match="Item 1 is of type list, but the documents before"):
            read(make([[(0, 1)], ["tea"]]))


def test_numeric_records_are_counts_unless_a_text_is_missing():
    assert read([{"text": 2, "tea": 1}]).words == ("tea", "text")
    assert read([{"id": 1, "text": float("nan")}, {"id": 2, "text": "cup"}]).words == ("cup",)
    with pytest.raises(InputError, match="Item 0 counts the word 'cup' as nan"):
        read([{"tea": 1, "cup": float("nan")}])
