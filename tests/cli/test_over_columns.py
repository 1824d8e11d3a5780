"""`opelda topics --time`, `--by` and `--effect`."""

import csv
import json
import re
import shutil

import pytest

import opelda
from opelda.corpus import read
from opelda.report import estimate_effect, topics_by, topics_over_time
from tests.cases import cases
from tests.cli.test_spreadsheets import rows_of


@pytest.fixture
def folder(tmp_path, model_file, texts):
    """Return a folder with a model and documents with dates and groups."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    records = [
        {"text": text, "date": f"{2000 + i // 60}-05-01", "party": ("=left", "right")[i % 5 == 0]}
        for i, text in enumerate(texts)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


def test_shares_and_effects_match_python(cli, folder):
    model = opelda.load("m.opelda")
    corpus = read(
        "t.jsonl", text_column="text", vocabulary=model.vocabulary_, metadata=["date", "party"]
    )
    for args, name, wanted in (
        (("--time", "date"), "shares", topics_over_time(model, corpus, "date", n_words=10)),
        (("--unit", "year"), "shares", topics_over_time(model, corpus, n_words=10)),
        (("--by", "party"), "shares", topics_by(model, corpus, "party", n_words=10)),
        (("--effect", "party"), "effects", estimate_effect(model, corpus, "party")),
    ):
        done = cli("topics", "m.opelda", "t.jsonl", "-t", "text", *args, "--json")
        assert done.code == 0, done.err
        found = json.loads(done.out)[name]
        plain = wanted.to_polars().to_dicts()
        assert sorted(found, key=str) == sorted(plain, key=str)
        shown = cli("topics", "m.opelda", "t.jsonl", "-t", "text", *args, "--only", 1, "-n", 2)
        assert shown.code == 0, shown.err
        lines = shown.out.splitlines()
        begin = "1  " if name == "shares" else "topic"
        assert any(line.startswith(begin) for line in lines)
        assert "Intervals treat topics as known" in shown.err
        assert name == "effects" or re.search("corrected share.* mean ", lines[0])
        for row in plain:
            label = row["bin"] if name == "shares" else row["term"]
            assert (label in shown.out) or row["topic"] != 1


def test_cross_fitted_effects_match_python(cli, folder):
    model = opelda.load("m.opelda")
    corpus = read("t.jsonl", text_column="text", vocabulary=model.vocabulary_, metadata=["party"])
    wanted = estimate_effect(model, corpus, "party", n_splits=2)
    asked = ("m.opelda", "t.jsonl", "-t", "text", "--effect", "party", "--splits", 2)
    done = cli("topics", *asked, "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)["effects"]
    assert sorted(found, key=str) == sorted(wanted.to_polars().to_dicts(), key=str)
    assert wanted.note in " ".join(done.err.split())
    treated_as_known = estimate_effect(model, corpus, "party")
    assert all(a.se != b.se for a, b in zip(wanted, treated_as_known, strict=True))


def test_tables_are_safe_for_spreadsheets(cli, folder):
    asked = ("topics", "m.opelda", "t.jsonl", "-t", "text", "--by", "party")
    for name in ("f.csv", "f.tsv", "f.xlsx"):
        done = cli(*asked, "-o", name)
        assert (done.code, done.out) == (0, ""), done.err
    rows = list(csv.DictReader((folder / "f.csv").read_text("utf-8-sig").splitlines()))
    assert {row["bin"] for row in rows} == {"'=left", "right"}  # no formula
    ends = [[float(row[key]) for key in ("low", "corrected_share", "high")] for row in rows]
    assert all(0 <= low <= share <= high for low, share, high in ends)
    assert all(0 <= float(row["mean_share"]) <= 1 for row in rows)
    assert len(rows) == 6
    sheet = rows_of("f.xlsx")
    assert sheet[0] == list(rows[0])
    assert {row[0] for row in sheet[1:]} == {"=left", "right"}


@cases(
    ("args", "message"),
    [
        (["--by", "party"], "add a CORPUS after the model"),
        (["t.jsonl"], "needs --docs 3, --time date"),
        (["t.jsonl", "--by", "party", "--time", "date"], "mutually exclusive"),
        (["t.jsonl", "--by", "party", "--splits", "2"], "--splits requires --effect"),
        (["t.jsonl", "--by", "what"], "no key 'what'"),
        (["t.jsonl", "--time", "date", "--unit", "eon"], "--unit must be 'minute'"),
        (["t.jsonl", "--by", "party", "--docs", "2"], "exclude --docs, --rank and --label-with"),
        (["t.jsonl", "--by", "party", "--rank", "frex"], "exclude --docs, --rank and"),
        (["t.jsonl", "--by", "party", "-o", "f.pdf"], "must end in .csv, .tsv or .xlsx"),
        (["t.jsonl", "--by", "party", "-o", "t.jsonl"], "must end in"),
        (["t.jsonl", "--by", "party", "--only", "9"], "--only must be"),
    ],
)
def test_errors_are_one_sentence(cli, folder, args, message):
    before = sorted(folder.iterdir())
    done = cli("topics", "m.opelda", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before
