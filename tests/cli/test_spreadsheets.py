"""`opelda transform -o theta.xlsx`: the cells of the spreadsheet."""

import csv
import io
import json
import re
import shutil
import zipfile
from datetime import datetime
from pathlib import Path

import numpy as np
import openpyxl
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

import opelda
from opelda.cli import _tables
from opelda.cli._tables import MOST_LETTERS, Sheets, best_topics
from opelda.report import topic_table

COLUMNS = [
    "document", "topic 1", "label 1", "weight 1", "topic 2", "label 2", "weight 2", "topic 3",
    "label 3", "weight 3", "tokens", "unknown_tokens",
]  # fmt: skip
HOSTILE = [
    "=cmd|' /C calc'!A0", "+1", "-1.5", "@a", "\tx", "\rx", "'a", "a\x1b[31m\x9b", "_x000D_b",
    " a ", "<script>&amp;", "\u202eabc", "😀\u0000", "a\nb", "100%", "12",
    "x" * 40_000, "é" * 33_000, "😀" * 20_000, "<r><t>bold</t></r>", "<r></r>", "<r>",
    "https://example.org", "{=1}",
]  # fmt: skip

# control characters, bidirectional controls, and characters that XML forbids
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


@pytest.fixture
def folder(tmp_path, model_file):
    """Return a folder with a model in it."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    return tmp_path


def rows_of(name):
    """Return the rows of a table, as another program reads them."""
    if str(name).endswith(".xlsx"):
        book = openpyxl.load_workbook(name)
        sheet = book.active
        if sheet.title == "documents":  # of transform
            assert [cell.value for cell in book["topics"][1]][:3] == ["topic", "weight", "label"]
            assert sheet.auto_filter.ref == sheet.dimensions
        return [[value_of(cell) for cell in row] for row in sheet.iter_rows()]
    separator = "\t" if ".tsv" in str(name) else ","
    with open(name, newline="", encoding="utf-8-sig") as file:
        return list(csv.reader(file, delimiter=separator))


def value_of(cell):
    """Return the value of a cell; openpyxl does not unescape _x000D_ in texts."""
    return unescape(cell.value) if isinstance(cell.value, str) else cell.value


def as_text(rows):
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx"])
def test_best_topics_come_first_with_their_labels(cli, folder, corpus_file, texts, end):
    done = cli("transform", "m.opelda", corpus_file, "-o", f"t.{end}", "--min-weight", 0)
    assert done.code == 0, done.err
    header, *rows = rows_of(f"t.{end}")
    assert header == COLUMNS
    model = opelda.load("m.opelda")
    labels = [row.label for row in topic_table(model)]
    theta = model.transform(texts)
    assert len(rows) == len(texts)
    for number, (row, mixture) in enumerate(zip(rows, theta, strict=True)):
        best = np.argsort(-mixture, kind="stable")
        assert int(row[0]) == number
        assert [int(cell) for cell in row[1:10:3]] == best.tolist()
        assert row[2:10:3] == [labels[k] for k in best]
        assert np.allclose([float(cell) for cell in row[3:10:3]], mixture[best], atol=1e-4)
        assert [str(cell) for cell in row[10:]] == ["12", "0"]  # whole numbers


def test_light_topics_and_empty_documents_have_empty_cells(cli, folder):
    (folder / "t.txt").write_text("star galaxy " * 20 + "\nunheard of\n")
    for end in ("csv", "xlsx"):
        assert cli("transform", "m.opelda", "t.txt", "-o", f"t.{end}").code == 0
        _, first, second = as_text(rows_of(f"t.{end}"))
        assert first[1] != ""
        assert first[4:10] == [""] * 6
        assert second[1:10] == [""] * 9
        assert second[10] == "0"


def test_top_and_certificate_choose_columns(cli, folder, corpus_file):
    options = ("--top", 1, "--certificate")
    assert cli("transform", "m.opelda", corpus_file, "-o", "t.xlsx", *options).code == 0
    header, *rows = rows_of("t.xlsx")
    assert header == [*COLUMNS[:4], "tokens", "unknown_tokens", "loss"]
    assert all(row[-1] >= 0 for row in rows)
    assert cli("transform", "m.opelda", corpus_file, "-o", "t.xlsx", "--top", 99).code == 0
    assert rows_of("t.xlsx")[0] == COLUMNS  # all three topics
    assert cli("transform", "m.opelda", corpus_file, "--no-certificate").out.count("loss") == 0
    for option in ("--dense", "--sparse"):
        done = cli("transform", "m.opelda", corpus_file, "-o", "t.csv", option, "--top", 2)
        assert (done.code, "--top" in done.err) == (2, True)


def test_dense_tables_have_one_column_per_topic(cli, folder, corpus_file):
    for end in ("csv", "xlsx"):
        assert cli("transform", "m.opelda", corpus_file, "-o", f"t.{end}", "--dense").code == 0
        assert rows_of(f"t.{end}")[0] == [
            "document", "tokens", "unknown_tokens", "loss", "topic_0", "topic_1", "topic_2",
        ]  # fmt: skip
    assert "loss" in json.loads(cli("transform", "m.opelda", corpus_file).out.splitlines()[0])


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx"])
def test_hostile_names_are_plain_text(cli, folder, end):
    table = pl.DataFrame({"id": HOSTILE, "text": ["star"] * len(HOSTILE)})
    table.write_parquet(folder / "t.parquet")
    done = cli("transform", "m.opelda", "t.parquet", "--name-column", "id", "-o", f"t.{end}")
    assert done.code == 0, done.err
    _, *rows = rows_of(f"t.{end}")
    names = ["" if row[0] is None else row[0] for row in rows]
    assert len(names) == len(HOSTILE)
    for name, original in zip(names, HOSTILE, strict=True):
        assert not CONTROL.search(name)
        if end != "xlsx":
            assert not re.match(r"[=+\-@]", name)
        elif not CONTROL.search(original) and len(original) < 10_000:
            assert name in (original, f"{original} ")  # a string cell
    if end == "xlsx":
        assert "3 cells exceeded 32,767 characters" in done.err
        sheet = openpyxl.load_workbook("t.xlsx").active
        assert {cell.data_type for (cell,) in sheet.iter_rows(max_col=1)} <= {"s", "inlineStr", "n"}
        assert "<f>" not in zipfile.ZipFile("t.xlsx").read("xl/worksheets/sheet1.xml").decode()
        assert max(len(name.encode("utf-16-le")) // 2 for name in names) <= MOST_LETTERS


@example("_x005F_x000D_")
@example("]]>")
@example("<r>")
@example("<r></r>")
@example("<r><t>a</t></r>")
@example(" <r> </r>")
@example("<r> _x005F_x000D_ & </r>")
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=50))
def test_every_text_is_a_string_cell(text):
    file = io.BytesIO()
    with Sheets(file, "documents") as sheet:
        sheet.add(pl.DataFrame({"document": [text], "weight 1": [0.25], "tokens": [3]}))
    cell, weight, tokens = openpyxl.load_workbook(file).active[2]
    found = value_of(cell) or ""
    assert not CONTROL.search(found)
    if re.search("_x[0-9A-Fa-f]{4}_", text):  # XlsxWriter escapes only some
        assert found.replace(r"\u005f", "_") in (text, f"{text} ")
    elif not CONTROL.search(text):
        assert found in (text, f"{text} ")
    assert (weight.value, weight.number_format, tokens.value) == (0.25, "0.0%", 3)


def test_missing_and_infinite_numbers_are_empty_cells():
    file = io.BytesIO()
    values = [None, float("nan"), float("inf"), -0.5, 1e-30]
    with Sheets(file, "documents") as sheet:
        sheet.add(pl.DataFrame({"loss": values, "n": [1, None, 3, 4, 5]}))
        sheet.add(pl.DataFrame({"loss": [2.0], "n": [6]}))
    rows = [[cell.value for cell in row] for row in openpyxl.load_workbook(file).active.iter_rows()]
    assert rows[0] == ["loss", "n"]
    assert [row[0] for row in rows[1:]] == [None, None, None, -0.5, 1e-30, 2]
    assert [row[1] for row in rows[1:]] == [1, None, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("limit", "value", "options", "message"),
    [
        ("MOST_ROWS", 100, (), "at most 100 rows"),
        ("MOST_COLUMNS", 6, ("--dense",), "at most 6 columns"),
    ],
)
def test_oversized_sheet_is_one_error(
    cli, folder, corpus_file, monkeypatch, limit, value, options, message
):
    monkeypatch.setattr(_tables, limit, value)
    (folder / "t.xlsx").write_bytes(b"as it was")
    done = cli("transform", "m.opelda", corpus_file, "-o", "t.xlsx", *options)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert (folder / "t.xlsx").read_bytes() == b"as it was"
    assert {path.name for path in folder.iterdir()} == {"m.opelda", "t.xlsx"}


def test_sheet_may_have_the_maximum_number_of_rows(cli, folder, corpus_file, monkeypatch):
    monkeypatch.setattr(_tables, "MOST_ROWS", 241)
    assert cli("transform", "m.opelda", corpus_file, "-o", "t.xlsx").code == 0


INPUT = {
    "Published": ["2/26/1987", None, "2/27/1987"],
    "Country": ["DE", "=1+1", None],
    "Views": ["-5", "1.5", None],
    "Tweet": ["12345678901234567890", "1", "2"],
    "Year": ["1987", "1988", "1989"],
    "Label 1": ["x", "007", "y"],
    "=cmd": ["1", "2", "3"],
}


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx", "dense.xlsx", "sparse.csv"])
def test_columns_of_the_source_stay_beside_the_weights(cli, folder, end):
    texts = {"Title": ["ä", "b", "c"], "Body": ["star", "bread", "court"]}
    pl.DataFrame(texts | INPUT).write_csv(folder / "t.csv")
    options = [f"--{end.partition('.')[0]}"] if end.count(".") else []
    done = cli("transform", "m.opelda", "t.csv", "-o", f"o.{end}", *options)
    assert done.code == 0, done.err
    header, *rows = rows_of(f"o.{end}")
    is_sheet = end.endswith("xlsx")
    shown = ["Label 1 (input)" if name == "Label 1" else name for name in INPUT]
    if not is_sheet:
        shown[-1] = "'=cmd"
    assert [name for name in header if name in shown] == shown
    assert not {"Title", "Body"} & {*header}
    first = {row[0]: dict(zip(header, row, strict=True)) for row in reversed(rows)}
    assert [*first] == ["c", "b", "ä"]
    found = {name: [first[n][name] for n in ("ä", "b", "c")] for name in shown}
    if is_sheet:
        expected = INPUT | {
            "Published": [datetime(1987, 2, 26), None, datetime(1987, 2, 27)],
            "Views": [-5, 1.5, None],
            "Year": [1987, 1988, 1989],
            "=cmd": [1, 2, 3],
        }
    else:
        expected = {name: [value or "" for value in values] for name, values in INPUT.items()}
        expected["Country"][1] = "'=1+1"
        expected["Views"][0] = "-5.0"
    assert [*found.values()] == [*expected.values()]


def test_columns_of_all_sources_are_kept(cli, folder):
    (folder / "t.jsonl").write_text('{"text": "star", "mood": "up", "x": {"y": 1}, "date": 1987}\n')
    (folder / "in").mkdir()
    (folder / "in/a.html").write_text("<title>Star</title>galaxy")
    (folder / "in/b.txt").write_text("bread")
    pl.DataFrame({"text": ["star"], "mood": ["up"]}).write_parquet(folder / "t.parquet")
    for source, columns in {
        "t.jsonl": ["mood", "date"], "t.parquet": ["mood"], "in": ["date", "path"],
    }.items():  # fmt: skip
        assert cli("transform", "m.opelda", source, "-o", "t.xlsx").code == 0
        assert rows_of("t.xlsx")[0] == [COLUMNS[0], *columns, *COLUMNS[1:]]


def test_csv_opens_in_excel(cli, folder, corpus_file):
    """Excel takes UTF-8 by a byte order mark, and splits at the separator of its language."""
    for options, separator, point in (((), ",", "."), (("--semicolons",), ";", ",")):
        for command in (
            ("transform", "m.opelda", corpus_file),
            ("topics", "m.opelda"),
            ("topics", "m.opelda", corpus_file, "--docs", 2),
        ):
            done = cli(*command, "-o", "t.csv", *options)
            assert done.code == 0, done.err
            assert (folder / "t.csv").read_bytes().startswith("\ufeff".encode())
            with open("t.csv", newline="", encoding="utf-8-sig") as file:
                header, *rows = csv.reader(file, delimiter=separator)
            column = next(i for i, name in enumerate(header) if name.startswith("weight"))
            weights = [row[column] for row in rows]
            assert all(0 <= float(weight.replace(point, ".")) <= 1 for weight in weights)
            assert any(point in weight for weight in weights)
            assert {len(row) for row in rows} == {len(header)}
    for output in ((), ("-o", "t.xlsx")):
        done = cli("transform", "m.opelda", corpus_file, "--semicolons", *output)
        assert (done.code, "--semicolons requires" in done.err) == (2, True)


@pytest.mark.parametrize("end", ["csv", "tsv", "xlsx"])
def test_topics_are_written_as_a_table(cli, folder, corpus_file, end):
    assert cli("topics", "m.opelda", "--label", "1==cmd").code == 0
    done = cli("topics", "m.opelda", "-o", f"t.{end}", "--words", 4)
    assert (done.code, done.out) == (0, ""), done.err
    header, *rows = rows_of(f"t.{end}")
    assert header == ["topic", "weight", "label", "words"]
    expected = json.loads(cli("topics", "m.opelda", "--json", "--words", 4).out)["topics"]
    assert [int(row[0]) for row in rows] == [topic["topic"] for topic in expected]
    assert [row[3].split() for row in rows] == [
        [word["word"] for word in topic["words"]] for topic in expected
    ]
    assert [row[2].lstrip("'") for row in rows] == [topic["label"] for topic in expected]
    assert np.allclose([float(row[1]) for row in rows], [t["weight"] for t in expected])
    assert cli("topics", "m.opelda", corpus_file, "--docs", 2, "-o", f"d.{end}").code == 0
    assert len(rows_of(f"d.{end}")) == 1 + 2 * len(rows)
    done = cli("topics", "m.opelda", "-o", "m.opelda")
    assert (done.code, "must end in" in done.err) == (2, True)


def test_compressed_xlsx_is_rejected(cli, folder, corpus_file):
    done = cli("transform", "m.opelda", corpus_file, "-o", "t.xlsx.gz")
    assert done.code == 2
    assert ".xlsx" in done.err


@given(
    st.integers(1, 6), st.integers(1, 9), st.integers(1, 20), st.floats(0, 1), st.integers(0, 99)
)
def test_best_topics_match_a_sort(n_topics, n, n_docs, least, seed):
    theta = np.random.default_rng(seed).dirichlet(np.ones(n_topics), n_docs).astype(np.float32)
    facts = pl.DataFrame({"document": range(n_docs), "tokens": [1.0] * n_docs})
    labels = [f"={k}" for k in range(n_topics)]
    found = best_topics(facts, theta, None, labels, n, least)
    assert found.width == 2 + 3 * min(n, n_topics)
    for row, mixture in zip(found.rows(), theta.astype(float), strict=True):
        best = sorted(range(n_topics), key=lambda k: -mixture[k])[:n]
        for rank, k in enumerate(best):
            cells = row[1 + 3 * rank : 4 + 3 * rank]
            if rank and round(mixture[k], 4) < least:
                assert cells == (None, None, None)
            else:
                assert cells == (k, f"={k}", pytest.approx(mixture[k], abs=6e-5))


def test_intervals_in_every_format(cli, corpus_file, model_file):
    model, corpus = opelda.load(model_file), corpus_file.read_text().splitlines()
    found = model.infer(corpus, interval=0.9)
    command = ("transform", model_file, corpus_file, "--interval", 0.9)
    best = found.theta.argmax(axis=1)
    rows = np.arange(len(best))
    expected = {"low": found.lower, "high": found.upper}
    for end in ("csv", "parquet", "npz", "jsonl"):
        assert cli(*command, "-o", f"t.{end}").code == 0
    table = pl.read_csv("t.csv")
    lines = [json.loads(line) for line in Path("t.jsonl").read_text().splitlines()]
    with np.load("t.npz") as arrays:
        assert np.array_equal(arrays["lower"], found.lower)
        assert np.array_equal(arrays["upper"], found.upper)
    for name, bounds in expected.items():
        of_best = bounds[rows, best]
        assert np.allclose(table[f"{name} 1"], of_best, atol=1e-4)
        assert np.allclose([line["topics"][0][name] for line in lines], of_best)
        dense = pl.read_parquet("t.parquet").select(f"topic_{name}_{k}" for k in range(3))
        assert np.array_equal(dense.to_numpy(), bounds)
    assert np.allclose(table["main_topic_probability"], found.main_topic_probability)
    failed = cli(*command[:-1], 95)
    assert failed.code == 2
    assert "--interval must be a number above 0" in failed.err
