"""In-memory documents: lists, columns, tables, records, bags."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from gensim.corpora import Dictionary
from scipy import sparse

from opelda.corpus import read, stream
from opelda.corpus.sources._in_memory import _distinct
from opelda.errors import InputError
from tests.cases import cases

TEXTS = ["green tea", "", "black tea", "tea pot"]
EXPECTED = read(TEXTS)

TABLE = {"id": [1, 2, 3, 4], "text": TEXTS}


@cases(
    "source",
    [
        tuple(TEXTS),
        iter(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, object),
        pd.Series(TEXTS),
        pl.Series(TEXTS),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        pd.DataFrame(TABLE),
        pl.DataFrame(TABLE),
        pl.LazyFrame(TABLE),
        pa.table(TABLE),
        [{"id": i, "text": text} for i, text in enumerate(TEXTS)],
        ({"id": i, "text": text} for i, text in enumerate(TEXTS)),
        pd.Series(["green tea", None, "black tea", "tea pot"]),
        pl.Series(["green tea", None, "black tea", "tea pot"]),
    ],
    ids=lambda source: type(source).__module__.split(".")[0] + "." + type(source).__name__,
)
def test_every_container_of_texts_gives_the_same_corpus(source):
    corpus = read(source)
    assert corpus.words == EXPECTED.words
    assert (corpus.X != EXPECTED.X).nnz == 0


@cases("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_text_columns_are_joined_and_a_column_names_documents(make):
    table = make({"title": ["green", "black"], "body": ["tea", "tea"], "key": [7, 8]})
    corpus = read(table, text_column=["title", "body"], name_column="key")
    assert corpus.X.toarray().tolist() == read(["green tea", "black tea"]).X.toarray().tolist()
    assert corpus.names == ["7", "8"]
    with pytest.raises(InputError, match="colour"):
        read(table, text_column="colour")


def test_word_lists_and_mappings():
    lists = read([["Tea", "tea", "c++"], [], ["tea"]])
    assert lists.words == ("Tea", "c++", "tea")
    bags = read([{"Tea": 1, "tea": 1, "c++": 1.0}, {}, {"tea": 1}])
    assert (lists.X != bags.X).nnz == 0
    series = read(pl.Series([["Tea", "tea", "c++"], [], ["tea"]]))
    assert (lists.X != series.X).nnz == 0


def test_gensim_corpora():
    words = [text.split() for text in TEXTS]
    dictionary = Dictionary(words)
    bags = [dictionary.doc2bow(document) for document in words]
    corpus = read(bags, column_words=dictionary)
    assert [dictionary[i] for i in range(len(dictionary))] == list(corpus.words)
    order = [corpus.words.index(word) for word in EXPECTED.words]
    assert (corpus.X[:, order] != EXPECTED.X).nnz == 0
    with pytest.raises(InputError, match="word number 9"):
        read([[(0, 1)], [(9, 1)]], column_words=dictionary)


def test_bags_without_a_vocabulary_have_numbered_columns():
    corpus = read([[(0, 2), (3, 1)], [], [(1, 1.5)]])
    assert corpus.vocabulary is None
    assert corpus.X.toarray().tolist() == [[2, 0, 0, 1], [0, 0, 0, 0], [0, 1.5, 0, 0]]


def test_matrices():
    X = sparse.csr_array(np.array([[1, 0, 2], [0, 0, 0]]))
    assert (read(X).X != X).nnz == 0
    assert read(X).vocabulary is None
    assert read(X, column_words=["a", "b", "c"]).words == ("a", "b", "c")
    frame = pd.DataFrame({"tea": [1, 0], "cup": [2, 3]})
    assert read(frame).words == ("tea", "cup")
    assert read(frame, min_df=2).words == ("cup",)


def test_streams_of_in_memory_documents_have_positions():
    for source in (TEXTS, pl.Series(TEXTS), [text.split() for text in TEXTS]):
        batches = list(stream(source, batch_size=3))
        for number, after in zip((3, 4), batches, strict=True):
            assert number in (after.position.get("n"), after.position.get("row"))
        for position in (3, batches[0].position):
            rest = stream(source, batch_size=3)
            rest.seek(position)
            assert [batch.X.sum() for batch in rest] == [2.0]


@cases(
    ("source", "message"),
    [
        ([{"a": "tea", "b": "cup"}], "'a', 'b'"),
        ([{"text": "tea"}, 3], "Item 1"),
        ([{"text": {"deep": 1}}], "text"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "'a', 'b'"),
        ([1, 2], "Item 0"),
        ([b"bytes"], "Item 0"),
    ],
)
def test_invalid_documents_are_rejected(source, message):
    with pytest.raises(InputError, match=message):
        read(source)


def test_words_without_a_utf8_form_are_dropped():
    corpus = read([["tea", "\ud800", "cup"], ["\ud800"], ["cup"]])
    assert corpus.words == ("cup", "tea")
    assert corpus.X.toarray().tolist() == [[1, 1], [0, 0], [1, 0]]


MISSING = ["green tea", None, "black tea", "tea pot"]
ENUM = pl.Enum(sorted({text for text in MISSING if text}))


@cases(
    "column",
    [
        pd.Series(MISSING, dtype="string"),
        pd.Series(MISSING, dtype=pd.ArrowDtype(pa.string())),
        pd.Series(MISSING, dtype="category"),
        pd.Series([text or pd.NA for text in MISSING], dtype=object),
        pl.Series(MISSING, dtype=pl.Categorical),
        pl.Series(MISSING, dtype=ENUM),
        pa.array(MISSING).dictionary_encode(),
        pa.chunked_array([pa.array(MISSING).dictionary_encode()]),
        pa.array(TEXTS).dictionary_encode(),
        pl.Series(TEXTS, dtype=pl.Categorical),
    ],
    ids=lambda column: type(column).__name__ + str(getattr(column, "dtype", "")),
)
def test_text_columns_of_every_type(column):
    table = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(
        type(column).__module__.partition(".")[0], pa.table
    )
    for source in (column, table({"id": [1, 2, 3, 4], "text": column})):
        corpus = read(source)
        assert corpus.words == EXPECTED.words
        assert (corpus.X != EXPECTED.X).nnz == 0


@cases("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_words_are_joined(make):
    corpus = read(make({"id": [1, 2, 3], "words": [["tea", "cup"], None, []]}), text_column="words")
    assert corpus.words == ("cup", "tea")
    assert corpus.X.toarray().tolist() == [[1, 1], [0, 0], [0, 0]]


@cases("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_tables_of_counts(make):
    corpus = read(make({"tea": [1, 0], "cup": [2, 3]}))
    assert corpus.words == ("tea", "cup")
    assert corpus.X.toarray().tolist() == [[1, 2], [0, 3]]


def test_columns_of_mappings_and_of_word_lists():
    mappings = read(pd.Series([{"tea": 1}, {"cup": 2}, None]))
    assert (mappings.words, mappings.X.toarray().tolist()) == (
        ("cup", "tea"),
        [[0, 1], [2, 0], [0, 0]],
    )
    for column in (pl.Series([["tea"], None]), pd.Series([["tea"], None])):
        assert read(column).X.toarray().tolist() == [[1], [0]]


def test_column_of_mixed_types_names_documents():
    table = pd.DataFrame({"text": ["a", "b", "c"], "o": [7, "x", None]})
    assert read(table, name_column="o").names == ["7", "x", ""]
    with pytest.raises(InputError, match="has no column 'nothing'; available: 'text', 'o'"):
        read(table, name_column="nothing")


@cases(
    "source",
    [
        pd.DataFrame([["a", "b"]], columns=["text", "text"]),
        pd.DataFrame([["a", "b"]], columns=[1, "1"]),
        pa.table([["a"], ["b"]], names=["text", "text"]),
    ],
)
def test_duplicate_column_names_are_rejected(source):
    with pytest.raises(
        InputError, match=r"has 2 columns with the duplicate name '(text|1)'; rename"
    ):
        read(source)


TWO = {"body": ["tea cup"] * 3, "notes": ["all kinds of tea", None, "what a cup is"]}


@cases("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_unread_text_column_gives_a_warning(make):
    with pytest.warns(UserWarning, match="read from 'body', not from 'notes'; .* text_column"):
        assert read(make(TWO), min_df=1, max_df=1.0).words == ("cup", "tea")
    for columns in (["body"], ["body", "notes"]):
        read(make(TWO), text_column=columns)
    for usual in ("subject", "author", "Created At", "url"):  # title, group, time and name
        read(make({"body": TWO["body"], usual: TWO["notes"]}))
    records = [{"text": "tea", "abstract": "cup", "n": 1}] * 3
    with pytest.warns(UserWarning, match="read from 'text', not from 'abstract'"):
        read(records)


class Compared(str):
    """A string that counts its comparisons."""

    __slots__ = ()
    n = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Compared.n += 1
        return str.__eq__(self, other)


def test_duplicate_column_check_is_linear():
    names = [Compared(f"c{i}") for i in range(2_000)]
    assert _distinct(names) == names
    Compared.n = 0
    _distinct(names)
    assert Compared.n <= 10 * len(names)


LONE = "tea \ud800 cup"


@cases(
    "source",
    [
        [LONE],
        iter([LONE]),
        [{"text": LONE}],
        pd.Series([LONE], dtype=object),
        pd.DataFrame({"text": pd.Series([LONE], dtype=object)}),
        np.array([LONE]),
    ],
)
def test_lone_surrogates_are_no_words(source):
    assert read(source).words == ("cup", "tea")


def test_mapping_is_rejected_as_a_source():
    with pytest.raises(InputError, match="pass a data frame or a list of dictionaries"):
        read({"text": ["tea", "cup"]})


@cases("make", [list, iter, lambda items: (item for item in items)])
def test_none_is_rejected_as_a_document(make):
    with pytest.raises(InputError, match="Item 0 is not a document"):
        read(make([None, "tea"]))
    with pytest.raises(InputError, match="Item 1 is not a document"):
        read(make(["tea", None]))


def test_too_few_column_words_are_rejected():
    with pytest.raises(InputError, match="has 3 columns, but there are 2 words"):
        read(np.eye(3), column_words=["a", "b"])


@cases("most", [-1, 0, 1.5, True])
def test_invalid_max_features_is_rejected(most):
    for source in (["tea cup"], np.eye(2)):
        with pytest.raises(InputError, match="max_features must be a whole number, at least 1"):
            read(source, max_features=most)
    assert read(["tea tea cup"], max_features=1).words == ("tea",)
