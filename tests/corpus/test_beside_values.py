"""Metadata values: any type, hostile, missing."""

import datetime
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import read, stream
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._text_columns import cells
from opelda.errors import InputError
from tests.corpus.test_beside import as_table, columns, given_as


def test_metadata_values_are_converted_to_text():
    when = datetime.datetime(2024, 5, 1, 12, 30)
    values = ["a\nb\x00", 7, 2.5, True, None, float("nan"), when, when.date(), ["x", "y"], b"\xff"]
    expected = ["a\nb\x00", "7", "2.5", "true", None, None, str(when), str(when.date()), "x, y"]
    records = [{"text": "tea", "id": value, "date": value} for value in values]
    corpus = read(records, metadata="auto")
    assert corpus.metadata["date"].to_list() == [*expected, "\ufffd"]
    assert corpus.names == [name or "" for name in [*expected, "\ufffd"]]
    frame = pl.DataFrame({"text": ["tea"] * 2, "date": [when, None], "label": [True, None]})
    for table in (frame, frame.to_pandas(), frame.to_arrow()):
        kept = read(table, metadata="auto").metadata
        assert columns(kept) == {"date": [str(when), None], "label": ["true", None]}


def test_hostile_metadata_values_raise_no_error(tmp_path):
    deep = "[" * 50_000 + "]" * 50_000
    values = [
        r'"\ud83d"',
        '"' + "x" * 300_000 + '"',
        r'"\u0000\u001b[2J\n"',
        "{}",
        deep,
        "[[1], 2]",
    ]
    lines = [f'{{"text": "tea {n}", "title": {value}}}\n' for n, value in enumerate(values)]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(lines))
    corpus = read(path, on_error="skip", text_column="text")
    expected = ["\ufffd", "x" * 300_000, "\x00\x1b[2J\n", "{}", "[1], 2"]
    assert corpus.n_skipped == 1  # the nesting is too deep for JSON
    assert corpus.names == expected
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert cells(["a", nested, {"a": nested}, 10**5000]).to_list() == ["a", None, None, None]


def test_undecodable_unrequested_columns_skip_no_row(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"id,text\n0,cup\n\xff\xfe,tea\n,pot\n")
    assert read(tmp_path / "a.csv").names == ["0", "\ufffd\ufffd", ""]
    with pytest.raises(InputError, match=r"line 3 .*encoding"):
        read(tmp_path / "a.csv", name_column="id")
    pl.DataFrame({"id": [b"\xff"], "name": [{"x": 1}], "text": ["tea"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    assert read(tmp_path / "a.parquet").names is None


def test_empty_field_is_missing(tmp_path):
    rows = b'1,tea,""\n2,cup,\n3,pot,x\n'
    for start in (b"", b"0,quotes are matched,y\n", b"\xff,bytes are not,y\n"):
        (tmp_path / "a.csv").write_bytes(b"id,text,date\n" + start + rows)
        kept = read(tmp_path / "a.csv", metadata="auto").metadata["date"].to_list()
        assert kept == [*(["y"] if start else []), None, None, "x"]


def test_nested_values_are_not_names(tmp_path):
    rows = [{"name": {"first": "x"}, "url": "u", "text": "tea", "author": {"x": 1}}]
    for kind in ("jsonl", "records", "polars", "parquet"):
        corpus = read(given_as(kind, rows, tmp_path), metadata="auto")
        assert (corpus.names, corpus.metadata) == (["u"], None)


def test_lines_before_the_first_json_object_have_no_name(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('"tea"\n\n\n{"title": "Pot", "text": "pot"}\n["cup"]\n"tea"\n')
    assert read(path).names == ["", "Pot", "", ""]
    batches = list(stream(path, batch_size=3))
    assert [batch.names for batch in batches] == [["", "Pot", ""], [""]]


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"]), max_size=8)] * 3),
        min_size=1,
        max_size=12,
    ),
    st.integers(1, 5),
)
def test_csv_metadata_round_trip(rows, block_size):
    table = [{"id": a, "text": b, "date": c} for a, b, c in rows]
    data = as_table(table, ",").encode()
    options = Options(metadata=("auto",), block_size=block_size)
    blocks = list(FORMATS["csv"].blocks(Input.of(io.BytesIO(data)), options, None))
    assert [name for block in blocks for name in block.names] == [a for a, _, _ in rows]
    dates = [date for block in blocks for date in block.metadata["date"]]
    assert dates == [c or None for _, _, c in rows]
