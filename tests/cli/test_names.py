"""Document names on the command line: detected, and escaped on display."""

import json

import numpy as np
import polars as pl
import pytest

from opelda.cli._inputs import read_corpus
from opelda.cli._options import NamelessReading, Reading, Text

HOSTILE = ["=1+1\n\x1b[2J\u202e", "x" * 5_000, "<script>", "plain"]


def write_records(path, names, key="title"):
    rows = [{"id": 90 + n, key: name, "text": "star galaxy"} for n, name in enumerate(names)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def documents(done):
    assert done.code == 0, done.err
    return [json.loads(line)["document"] for line in done.out.splitlines()]


def test_transform_detects_the_name_column(cli, model_file, tmp_path):
    write_records(tmp_path / "a.jsonl", ["Stars", "Of galaxies", None, ""])
    found = documents(cli("transform", model_file, "a.jsonl"))
    assert found == ["Stars", "Of galaxies", "2", "3"]  # a name, or a number if it is missing
    ids = documents(cli("transform", model_file, "a.jsonl", "--name-column", "id"))
    assert ids == ["90", "91", "92", "93"]
    (tmp_path / "a.txt").write_text("star\ngalaxy\n")
    assert documents(cli("transform", model_file, "a.txt")) == [0, 1]


@pytest.mark.parametrize("end", ["parquet", "csv", "jsonl", "npz"])
def test_files_with_and_without_names_join_in_one_table(
    cli, model_file, tmp_path, monkeypatch, end
):
    monkeypatch.setattr("opelda.cli._inputs.BLOCK", 1)
    write_records(tmp_path / "a.jsonl", ["Stars"])
    (tmp_path / "b.jsonl").write_text('"galaxy"\n"star"\n')
    for files in (["a.jsonl", "b.jsonl"], ["b.jsonl", "a.jsonl"]):
        expected = ["Stars", "1", "2"] if files[0] == "a.jsonl" else ["0", "1", "Stars"]
        done = cli("transform", model_file, *files, "-o", f"t.{end}")
        assert done.code == 0, done.err
        if end == "parquet":
            found = pl.read_parquet(f"t.{end}")["document"].to_list()
        elif end == "csv":
            found = pl.read_csv(f"t.{end}", infer_schema=False)["document"].to_list()
        elif end == "npz":
            found = np.load(f"t.{end}")["document"].tolist()
        else:
            lines = (tmp_path / f"t.{end}").read_text().splitlines()
            found = [str(json.loads(line)["document"]) for line in lines]
        assert found == expected


def test_hostile_names_are_escaped_on_screen_and_kept_in_files(cli, model_file, tmp_path):
    write_records(tmp_path / "a.jsonl", HOSTILE)
    done = cli("info", "a.jsonl")
    (line,) = [line for line in done.out.splitlines() if line.startswith("first names")]
    assert line.split(None, 2)[2].startswith(r"=1+1\n\x1b[2J\u202e, xxx")
    assert line.endswith("..., <script>")
    assert len(line) < 200
    assert json.loads(cli("info", "a.jsonl", "--json").out)["first_names"] == HOSTILE[:3]
    shown = cli("transform", model_file, "a.jsonl")
    assert not any(c < " " or "\x7f" <= c < "\xa0" for c in shown.out.replace("\n", ""))
    assert documents(shown) == HOSTILE
    cli("transform", model_file, "a.jsonl", "-o", "t.parquet")
    assert pl.read_parquet("t.parquet")["document"].to_list() == HOSTILE
    cli("transform", model_file, "a.jsonl", "-o", "t.npz")
    # an array stores every name at the length of the longest
    assert np.load("t.npz")["document"].tolist() == [name[:1000] for name in HOSTILE]


def test_unused_names_are_not_read(tmp_path):
    write_records(tmp_path / "a.jsonl", HOSTILE)
    source = [str(tmp_path / "a.jsonl")]
    assert read_corpus(source, Reading(), Text()).names == HOSTILE
    assert read_corpus(source, NamelessReading(), Text()).names is None
