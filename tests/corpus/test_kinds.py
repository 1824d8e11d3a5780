"""Classification of the user's objects: table, column, document or record."""

import warnings
from collections import UserList

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

from opelda.corpus import _kinds as kinds
from tests.cases import cases

NUMBERS = {"a": [1, 2], "b": [0.5, 2.0]}
TEXTS = {"id": [1, 2], "text": ["tea cup", "pot"]}
TABLES = [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table]
COLUMNS = [pd.Series, pl.Series, pa.array, lambda values: pa.chunked_array([values])]


@cases("make", TABLES)
def test_tables_are_classified_by_content(make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for data, numbers in ((NUMBERS, True), (TEXTS, False), ({"a": [True]}, True)):
            table = make(data)
            assert kinds.is_table(table)
            assert not kinds.is_column(table)
            assert not kinds.is_document(table)
            assert kinds.holds_numbers(table) == numbers
            assert kinds.are_documents(table) != numbers


@cases("make", COLUMNS)
def test_columns_are_classified_by_content(make):
    for values, numbers in (([1, 2], True), (["tea", None], False), ([["tea"], []], False)):
        column = make(values)
        assert kinds.is_column(column)
        assert not kinds.is_table(column)
        assert kinds.are_documents(column) != numbers


@cases(
    ("item", "document"),
    [
        ("", True),
        ("tea", True),
        ({}, True),
        ({"tea": 2}, True),
        ([], True),
        (["tea"], True),
        (("tea",), True),
        (UserList(["tea"]), True),
        (np.array(["tea"]), True),
        (np.array(["tea"], object), True),
        ([0, 2], False),
        ([["tea"]], False),
        (b"tea", False),
        ({"tea"}, False),
        (None, False),
        (7, False),
        (np.eye(2), False),
        (np.arange(3), False),
        (np.array([["tea"]]), False),
        (sparse.eye_array(2), False),
        (sparse.dok_array(np.eye(2)), False),
    ],
)
def test_is_document(item, document):
    assert kinds.is_document(item) == document
    # in a list they are documents, or rows of numbers, or invalid
    if not kinds.is_empty(item) and item is not None:
        assert kinds.are_documents([None, [], item]) == document


@cases(
    ("items", "documents"),
    [
        ([], True),
        ([[]], True),
        ([None], True),
        (iter([5]), True),
        (np.array([]), True),
        (np.array(["tea"]), True),
        ([[(0, 2)], [(1, 1)]], True),
        ([{"text": "tea"}], True),
        ([[0, 2], [1, 0]], False),
        ([np.arange(3)], False),
        (np.eye(2), False),
        (np.array([["tea"]]), False),
        (np.arange(3.0), False),
        (sparse.eye_array(2), False),
        (sparse.dok_array(np.eye(2)), False),
        (7, False),
        (None, False),
    ],
)
def test_are_documents(items, documents):
    assert kinds.are_documents(items) == documents


def test_is_record():
    assert kinds.is_record({"text": "tea"})
    assert kinds.is_record({"text": None, "id": 3})
    assert kinds.is_record({"text": float("nan"), "id": 3})
    assert not kinds.is_record({"text": 2, "tea": 0.5})
    assert not kinds.is_record(["text"])
