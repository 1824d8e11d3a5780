"""Columns other than the text: detected names, and metadata."""

import csv
import io
import json
from dataclasses import replace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from opelda.corpus import read, stream
from opelda.corpus._column_names import usual_column
from opelda.errors import InputError
from tests.cases import cases

ROWS = [
    {"ID": 7, "Headline": "Tea", "body": "cup of tea", "Created_At": "2024-05-01", "section": "a"},
    {"ID": 8, "Headline": None, "body": "pot", "Created_At": None, "section": "ü"},
    {"ID": 9, "Headline": "Pot", "body": "tea pot", "Created_At": "2024-05-03", "section": None},
]
NAMES = ["Tea", "", "Pot"]
TIMES = ["2024-05-01", None, "2024-05-03"]
GROUPS = ["a", "ü", None]
OPTIONS = {"min_df": 1, "max_df": 1.0}


def as_table(rows, delimiter):
    """Return a table written by the csv module; a missing value is an empty field."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def given_as(kind, rows, folder):
    """Return the rows as a source of the given kind."""
    if kind == "jsonl":
        (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return folder / "a.jsonl"
    if kind in ("csv", "tsv"):
        (folder / f"a.{kind}").write_text(as_table(rows, "," if kind == "csv" else "\t"))
        return folder / f"a.{kind}"
    if kind == "parquet":
        pl.DataFrame(rows).write_parquet(folder / "a.parquet")
        return folder / "a.parquet"
    return {
        "pandas": lambda: pd.DataFrame(rows),
        "polars": lambda: pl.DataFrame(rows),
        "lazy": lambda: pl.LazyFrame(rows),
        "arrow": lambda: pa.Table.from_pylist(rows),
        "records": lambda: list(rows),
        "iterator": lambda: iter(rows),
    }[kind]()


KINDS = [
    *("jsonl", "csv", "tsv", "parquet"),
    *("pandas", "polars", "lazy", "arrow", "records", "iterator"),
]


def columns(table):
    return None if table is None else table.to_dict(as_series=False)


@cases("kind", KINDS)
def test_names_and_metadata_are_found_in_every_kind_of_table(kind, tmp_path):
    corpus = read(given_as(kind, ROWS, tmp_path), metadata="auto", **OPTIONS)
    assert corpus.names == NAMES
    assert columns(corpus.metadata) == {"Created_At": TIMES, "section": GROUPS}
    assert set(corpus.metadata.dtypes) == {pl.String}
    plain = read(given_as(kind, ROWS, tmp_path), **OPTIONS)
    assert (plain.names, plain.metadata) == (NAMES, None)
    assert plain.words == corpus.words
    assert (plain.X != corpus.X).nnz == 0


@cases("kind", KINDS)
def test_requested_metadata_columns_keep_their_order(kind, tmp_path):
    def source():
        return given_as(kind, ROWS, tmp_path)

    corpus = read(source(), name_column="ID", metadata=["section", "ID", "body"], **OPTIONS)
    assert corpus.names == ["7", "8", "9"]
    texts = [row["body"] for row in ROWS]
    expected = {"section": GROUPS, "ID": ["7", "8", "9"], "body": texts}
    assert columns(corpus.metadata) == expected
    assert list(corpus.metadata.columns) == list(expected)
    assert columns(read(source(), metadata="section").metadata) == {"section": GROUPS}
    assert read(source(), name_column=False).names is None
    for missing in ({"metadata": ["section", "when"]}, {"name_column": "when"}):
        with pytest.raises(
            InputError, match=r"has no (key|column) 'when'; available: 'ID', 'Headl"
        ):
            list(stream(source(), **missing))


@cases("kind", KINDS)
def test_batches_carry_metadata_and_resume(kind, tmp_path):
    def source():
        return given_as(kind, ROWS, tmp_path)

    batches = list(stream(source(), batch_size=2, metadata="auto"))
    assert [batch.names for batch in batches] == [NAMES[:2], NAMES[2:]]
    assert [columns(batch.metadata)["section"] for batch in batches] == [GROUPS[:2], GROUPS[2:]]
    joined = [f"{row['Headline'] or ''} {row['body']}" for row in ROWS]
    assert [batch.texts.to_list() for batch in batches] == [joined[:2], joined[2:]]
    # positions of streams without metadata are accepted
    for earlier in ({"metadata": "auto"}, {"name_column": False}):
        first = next(iter(stream(source(), batch_size=2, **earlier)))
        again = stream(source(), batch_size=2, metadata="auto")
        again.seek(first.position)
        (rest,) = again
        assert (rest.names, columns(rest.metadata)) == (
            batches[1].names,
            columns(batches[1].metadata),
        )


NAMELESS = {
    "texts": ["tea", "cup"],
    "words": [["tea"], ["cup"]],
    "counts": [{"tea": 2}, {"title": 1}],
    "column": pl.Series(["tea", "cup"]),
    "matrix": pl.DataFrame({"title": [1, 2], "id": [0, 1]}),
    "lines": "tea\ncup\n",
    "folder": None,
}


@cases("kind", NAMELESS)
def test_sources_without_columns_reject_column_options(kind, tmp_path):
    source = NAMELESS[kind]
    if kind in ("lines", "folder"):
        path = tmp_path / "d" / "title.txt"
        path.parent.mkdir()
        path.write_text("tea\ncup\n")
        source = path if kind == "lines" else path.parent
    corpus = read(source, metadata="auto")
    assert corpus.metadata is None
    assert corpus.names == (["title.txt"] if kind == "folder" else None)
    for option in ({"metadata": ["author"]}, {"name_column": "author"}):
        with pytest.raises(InputError, match=r"has no .*\.$|has no effect on .*\.$"):
            read(source, **option)


@cases("bad", [3, ["a", 1], True, {"date"}])
def test_invalid_column_names_are_rejected(bad):
    with pytest.raises(InputError, match=r"^metadata must be the name of a column"):
        read(ROWS, metadata=bad)
    with pytest.raises(InputError, match=r"^name_column must be the name of a column"):
        read(ROWS, name_column=bad)


@cases(
    ("keys", "name"),
    [
        (["text", "name", "id", "title"], "title"),
        (["text", "Name", "ID"], "ID"),
        (["text", "url", "doc-id"], "doc-id"),
        (["TITLE"], "TITLE"),
        (["text", "Title", "title"], "Title"),
        (["text", "identity", "names", "subtitle"], None),
    ],
)
def test_most_likely_name_column_is_chosen(keys, name, tmp_path):
    rows = [{key: f"{key} {n}" for key in keys} for n in range(2)]
    for kind in KINDS:
        names = read(given_as(kind, rows, tmp_path)).names
        assert names == (None if name is None else [f"{name} 0", f"{name} 1"]), kind


def test_text_column_names_documents_only_if_it_is_a_title():
    rows = [{"name": "tea pot", "title": "cup"}]
    assert read(rows, text_column="name").names == ["cup"]
    assert read(rows, text_column=["name", "title"]).names == ["cup"]
    assert read([{"name": "tea pot"}], text_column="name").names is None
    assert read([{"author": "x"}], text_column="author", metadata="auto").metadata is None


def test_limit_applies_to_metadata():
    batches = list(stream(iter(ROWS + ROWS), batch_size=2, limit=3, metadata="auto"))
    assert [batch.names for batch in batches] == [NAMES[:2], NAMES[2:]]
    assert [batch.X.shape[0] for batch in batches] == [2, 1]
    assert columns(batches[1].metadata) == {"Created_At": TIMES[2:], "section": GROUPS[2:]}


def test_files_with_different_columns_are_joined(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"title": "A", "text": "tea", "year": 1}\n')
    (tmp_path / "b.jsonl").write_text('"pot"\n{"text": "cup", "author": "x"}\n')
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for order, names in ((1, ["A", "", ""]), (-1, ["", "", "A"])):
        corpus = read(paths[::order], metadata="auto")
        assert corpus.names == names
        expected = {"year": ["1", None, None][::order], "author": [None, None, "x"]}
        if order == -1:
            expected["author"] = [None, "x", None]
        assert columns(corpus.metadata) == expected


def test_columns_are_those_of_the_first_record(tmp_path):
    rows = [{"text": "tea", "id": 1}, {"text": "cup", "date": "x"}, {"text": "pot", "id": 3}]
    for kind in ("jsonl", "records"):
        corpus = read(given_as(kind, rows, tmp_path), metadata="auto")
        assert (corpus.names, corpus.metadata) == (["1", "", "3"], None)
        first, *rest = stream(given_as(kind, rows, tmp_path), batch_size=1, metadata="auto")
        again = stream(given_as(kind, rows, tmp_path), batch_size=1, metadata="auto")
        again.seek(first.position)
        # the record after the position does not choose the columns
        assert [(batch.names, batch.metadata) for batch in again] == [([""], None), (["3"], None)]
        assert [batch.names for batch in rest] == [[""], ["3"]]


def test_corpus_keeps_its_columns():
    corpus = read(ROWS, metadata="auto", **OPTIONS)
    again = read(corpus, min_df=2)
    assert (again.names, columns(again.metadata)) == (NAMES, columns(corpus.metadata))
    chosen = read(corpus, name_column="section", metadata=["Created_At"])
    assert chosen.names == ["a", "ü", ""]
    assert columns(chosen.metadata) == {"Created_At": TIMES}
    assert read(corpus, name_column=False).names is None
    with pytest.raises(
        InputError, match="The corpus has no column 'ID'; available: 'Created_At', 's"
    ):
        read(corpus, metadata=["ID"])
    assert read(replace(corpus, names=["too", "few"])).names is None
    (batch,) = stream(corpus)
    assert (batch.names, columns(batch.metadata)) == (NAMES, columns(corpus.metadata))
    assert batch.texts is None


def test_columns_without_a_header_are_selected_by_number(tmp_path):
    (tmp_path / "a.tsv").write_text("1\ttea\tx\n2\tcup\t\n")
    corpus = read(tmp_path / "a.tsv", text_column="2", name_column="1", metadata=["3"])
    assert (corpus.names, columns(corpus.metadata)) == (["1", "2"], {"3": ["x", None]})
    assert read(tmp_path / "a.tsv", text_column="2", metadata="auto").names is None
    with pytest.raises(InputError, match="has 3 columns, but '4' is not a column number"):
        read(tmp_path / "a.tsv", text_column="2", metadata=["4"])


def test_invalid_table_position_is_rejected(tmp_path):
    again = stream(given_as("csv", ROWS, tmp_path), batch_size=2)
    position = json.loads(json.dumps(next(iter(again)).position))
    position["at"]["table"]["names"] = ["only one"]
    again.seek(position)
    with pytest.raises(InputError):
        next(iter(again))


def test_time_and_group_columns_are_found_by_common_names():
    assert usual_column("time", ["text", "Publish Date", "year"]) == "Publish Date"
    assert usual_column("time", iter(["updated", "DATE"])) == "DATE"
    assert usual_column("group", ("label", "author", "source")) == "source"
    assert usual_column("time", ["mandate"]) is usual_column("group", ["sectional"]) is None


@cases("kind", KINDS)
def test_requested_columns_come_before_detected_columns(kind, tmp_path):
    rows = [{"text": "a cat", "date": "2020", "odd": "x", "author": "me"}] * 3
    kept = read(given_as(kind, rows, tmp_path), metadata=["odd", "auto"]).metadata
    assert kept.columns == ["odd", "date", "author"]
    again = stream(given_as(kind, rows, tmp_path), batch_size=1, metadata=["odd", "auto"])
    assert [batch.metadata.columns for batch in again] == [["odd", "date", "author"]] * 3


@cases("kind", KINDS)
def test_columns_are_found_in_any_case_unless_two_differ_in_case_alone(kind, tmp_path):
    rows = [{"text": "a cat", "Country": str(n), "odd": "x", "Odd": "y"} for n in range(3)]
    kept = read(given_as(kind, rows, tmp_path), metadata=["country", "odd"]).metadata
    assert kept["country"].to_list() == ["0", "1", "2"]
    assert kept["odd"].to_list() == ["x"] * 3
    with pytest.raises(InputError, match=r"has no .* 'ODD'; available: .*'odd', 'Odd'"):
        read(given_as(kind, rows, tmp_path), metadata=["ODD"])


def test_columns_of_all_files_are_found_in_any_case(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text(f'{{"text": "a cat", "Country": "{name}"}}\n')
    kept = read(tmp_path, metadata=["country"]).metadata
    assert kept["country"].to_list() == ["a", "b"]
