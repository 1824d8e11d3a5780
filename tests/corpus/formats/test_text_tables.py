"""Tables in text form: quotes, widths, headers, against Python's csv module."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda.corpus
from opelda.corpus._block import Problems
from opelda.corpus.formats import FORMATS, Options
from opelda.corpus.formats import csv as tables
from opelda.corpus.formats._input import Input
from opelda.errors import InputError
from tests.cases import cases

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


def read(format, data, skip=False, **options):
    """Read bytes: texts, and with `skip` also names and problems."""
    problems = Problems("skip" if skip else "stop")
    found, names = [], []
    options = Options(problems=problems, **options)
    for block in FORMATS[format].blocks(Input.of(io.BytesIO(data)), options, None):
        found += block.documents.to_list()
        names += block.names or []
    return (found, names or None, problems) if skip else found


rows = st.lists(st.tuples(texts, texts), max_size=6)


@given(rows=rows, delimiter=st.sampled_from(",;\t"), quoting=st.sampled_from([0, 1]))
def test_tables_written_by_python_are_read(rows, delimiter, quoting):
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=delimiter, quoting=quoting)
    writer.writerow(["id", "text"])
    writer.writerows(rows)
    found, names, problems = read(
        "csv", file.getvalue().encode(), True, name_column="id", block_size=2
    )
    assert list(zip(names or [], found, strict=True)) == rows
    assert not problems.n_skipped


@given(rows=st.lists(st.lists(st.text('a",\n\r', max_size=5), min_size=2, max_size=2), max_size=5))
def test_quotes_are_read_as_by_the_csv_module(rows):
    """The reference is Python's strict reader, if it raises no error."""
    data = "".join(f"{a},{b}\n" for a, b in rows)
    try:
        expected = [row for row in csv.reader(io.StringIO(data, newline=""), strict=True) if row]
    except csv.Error:
        expected = None
    found, _, problems = read("csv", b"a,text\n" + data.encode(), True, block_size=2)
    lone = "\r" in data.replace("\r\n", "\n")  # a line end for the csv module only
    if expected is not None and not lone and all(len(row) == 2 for row in expected):
        assert found == [row[1] for row in expected]
        assert problems.n_skipped == 0
    elif expected is None and not lone:
        assert problems.n_skipped > 0


pieces = st.sampled_from(
    ["a", "é", " ", ",", '"', '""', ',"', '",', "\n", "\r\n", "\r", "\ufeff", "\0"]
)


@given(
    data=st.lists(pieces, max_size=30).map("".join),
    width=st.integers(1, 3),
    block_size=st.integers(1, 9),
    format=st.sampled_from(["csv", "tsv"]),
)
def test_block_size_does_not_change_rows(data, width, block_size, format):
    """For any number of rows per block."""
    delimiter = {"csv": ",", "tsv": "\t"}[format]
    table = "\n".join([delimiter.join("abc"[:width]), data.replace(",", delimiter)]).encode()
    options = {"text_columns": ("a", "abc"[width - 1]), "name_column": "a"}
    found = read(format, table, skip=True, block_size=block_size, **options)
    expected = read(format, table, skip=True, block_size=1, **options)
    assert found[:2] == expected[:2]
    assert found[2].first == expected[2].first


def test_quote_within_an_unquoted_field_is_literal():
    data = b'id,text\n1,5" disk\n2,"tea"\n3,a "b" c\n4,"cup"\n5,""\n6,pot\n'
    for block_size in (1, 2, 9):
        found = read("csv", data, block_size=block_size)
        assert found == ['5" disk', "tea", 'a "b" c', "cup", "", "pot"]
    mixed = b'id,text\n"1",5" disk\n"2"tea,cup\n"3",pot\n'
    with pytest.raises(
        InputError, match=r"line 3 is malformed \(a quote is inside an unquoted field\)"
    ):
        read("csv", mixed)
    found, _, problems = read("csv", mixed, skip=True)
    assert (found, problems.n_skipped) == (['5" disk', "pot"], 1)


@cases("start", [b"x\x01", b"x\x9c", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"])
def test_rows_that_start_with_magic_numbers_are_text(start):
    row = start + b"a,tea\n"
    found, _, problems = read("csv", b"id,text\n0,cup\n" + row, skip=True, block_size=1)
    assert (found, problems.n_skipped) == (["cup", "tea"], 0)


def test_rows_of_the_wrong_width_are_named_or_skipped():
    data = b'id,text\n1,"two\nlines"\n2,a,b\n\n3\n4,tea\n'
    with pytest.raises(InputError, match="line 4 has 3 fields instead of 2 as in line 1; correct"):
        read("csv", data)
    found, _, problems = read("csv", data, skip=True)
    assert found == ["two\nlines", "tea"]
    assert problems.first == [
        "the file, line 4 has 3 fields instead of 2 as in line 1.",
        "the file, line 6 has 1 fields instead of 2 as in line 1.",
    ]


@cases("block_size", [1, 3, 50])
def test_unclosed_quote_costs_one_line(block_size):
    data = b'id,text\n1,tea\n2,"never closed\n' + b"3,cup\n" * 40
    with pytest.raises(InputError, match=r"line 3 is malformed \(.*\); correct the line"):
        read("csv", data, block_size=block_size)
    found, _, problems = read("csv", data, skip=True, block_size=block_size)
    assert (found, problems.n_skipped) == (["tea"] + ["cup"] * 40, 1)


def test_unclosed_quote_in_the_header_stops_reading_early(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "LONGEST_LINE", 1000)
    path = tmp_path / "t.csv"
    path.write_bytes(b'id,"text\n' + b"1,tea\n" * 2**19)
    source = Input.of(path)
    with pytest.raises(InputError, match="line 1 has unmatched quotes"):
        next(FORMATS["csv"].blocks(source, Options(), None))
    assert source.n_read < source.size


def test_long_fields_and_zero_bytes_are_read():
    long = b"x" * 300_000
    limit = 1 << 17
    csv.field_size_limit(limit)
    assert read("csv", b'id,text\n1,"a"" b\0c"\n2,5" disk\n3,%s\n' % long) == [
        'a" b\0c',
        '5" disk',
        long.decode(),
    ]
    assert csv.field_size_limit() == limit


def test_numbered_columns_mean_no_header():
    data = b"a\ttea\nb\tcup\n"
    assert read("tsv", data, text_columns=("2",)) == ["tea", "cup"]
    assert read("tsv", data, text_columns=("2", "1")) == ["tea a", "cup b"]
    assert read("tsv", data, True, text_columns=("2",), name_column="1")[1] == ["a", "b"]
    for columns, name in ((("3",), None), (("0",), None), (("1",), "id")):
        with pytest.raises(
            InputError, match=r"line 1 has 2 columns, but '.*' is not a column number"
        ):
            read("tsv", data, text_columns=columns, name_column=name)
    with pytest.raises(InputError, match="or pass column numbers such as '2'"):
        read("tsv", data)


@cases("text", [2, [1, 2], {"a": 1}, b"a"])
def test_invalid_column_names_are_rejected(tmp_path, text):
    (tmp_path / "t.csv").write_text("a,b\nx y,z\n")
    with pytest.raises(InputError, match="text_column must be the name of a column"):
        opelda.corpus.read(tmp_path / "t.csv", text_column=text)


def test_quotes_in_tsv_are_literal():
    data = b'id\ttext\n1\t"tea"\n2\t"open\n3\t""\n'
    assert read("tsv", data, block_size=2) == ['"tea"', '"open', '""']


def test_blank_lines_in_tables():
    assert read("csv", b"text\ntea\n\ncup\n") == ["tea", "", "cup"]
    assert read("csv", b'text\n5" disk\n\ncup\n') == ['5" disk', "", "cup"]
    assert read("csv", b"text,id\ntea,1\n\ncup,2\n\n") == ["tea", "cup"]
    found, _, problems = read("csv", b'text,id\n""\ntea,1\n', skip=True)  # a field, not a blank
    assert (found, problems.n_skipped) == (["tea"], 1)
    assert read("csv", b"") == read("csv", b"id,text\n") == []
