"""`opelda search`: documents by words, topic and similar texts."""

import json
import shutil
from datetime import datetime

import openpyxl
import polars as pl
import pytest

import opelda
from opelda.report import nearest, search
from tests.cases import cases


@pytest.fixture
def folder(tmp_path, model_file, texts):
    shutil.copy(model_file, tmp_path / "m.opelda")
    rows = [{"text": text, "title": f"On {i}"} for i, text in enumerate(texts)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "like.txt").write_text("a comet and a planet")
    return tmp_path


def test_results_match_python(cli, folder, texts, monkeypatch):
    monkeypatch.setattr("opelda.cli._inputs.BLOCK", 100)  # several blocks
    model = opelda.load("m.opelda")
    for args, wanted in (
        (("oven", "jury"), search(model, texts, "oven jury", n=3)),
        (("--topic", 1), search(model, texts, topic=1, n=3)),
        (("--topic", 0), search(model, texts, topic=0, n=3)),
        (("oven", "--topic", 1), search(model, texts, "oven", topic=1, n=3)),
        (("--like", "like.txt"), nearest(model, texts, "a comet and a planet", n=3)),
        (("--like", "comet planet"), nearest(model, texts, "comet planet", n=3)),
    ):
        done = cli("search", "m.opelda", "t.jsonl", *args, "-n", 3, "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)["documents"]
        assert [row["document"] for row in found] == [row.document for row in wanted]
        assert [row["name"] for row in found] == [f"On {row.document}" for row in wanted]
        shown = cli("search", "m.opelda", "t.jsonl", *args, "-n", 3).out.splitlines()
        assert [line.split("  ")[1] for line in shown[::2]] == [row["name"] for row in found]
        for row, line in zip(found, shown[1::2], strict=True):
            assert texts[row["document"]].startswith(line.strip(" …"))
        done = cli("search", "m.opelda", "t.jsonl", *args, "-n", 3, "-o", "found.csv")
        assert (done.code, done.out, done.err) == (0, "", "opelda: 3 rows: found.csv\n")
        rows = pl.read_csv("found.csv")
        assert "query" not in rows.columns
        assert rows["document"].to_list() == [row["document"] for row in found]


def test_words_unknown_to_the_model_are_found_in_texts(cli, folder):
    with open("t.jsonl", "a") as file:
        file.write('{"text": "a fire in the mill", "title": "Fire"}\n')
    found = cli("search", "m.opelda", "t.jsonl", "fire").out
    assert found.split()[1:] == ["Fire", "a", "fire", "in", "the", "mill"]
    done = cli("search", "m.opelda", "t.jsonl", "xyzzy")
    assert (done.code, done.out) == (0, "")
    assert done.err == "opelda: no matching documents.\n"


@cases(
    ("args", "message"),
    [
        ([], "pass words, --topic or --like"),
        (["oven", "--like", "tea"], "remove the words and --topic"),
        (["!"], "No word of the query is in the model's vocabulary"),
        (["--topic", "9"], "--topic must be"),
        (["oven", "--limit", "0"], "--limit"),
    ],
)
def test_errors_are_one_sentence(cli, folder, args, message):
    done = cli("search", "m.opelda", "t.jsonl", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1


def test_results_are_a_sheet_with_dates(cli, folder):
    (folder / "d.csv").write_text("title,text,date\nA,star galaxy,1987-02-26\nB,star,1987-03-01\n")
    done = cli("search", "m.opelda", "d.csv", "galaxy", "-o", "found.xlsx")
    assert done.code == 0, done.err
    header, *rows = openpyxl.load_workbook("found.xlsx").active.iter_rows(values_only=True)
    assert [dict(zip(header, row, strict=True))["date"] for row in rows] == [datetime(1987, 2, 26)]
