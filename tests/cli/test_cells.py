"""Cells of tables: never a formula, and reversible."""

import csv
import io
import json
import re
import shutil

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opelda.cli._terminal import safe_json
from opelda.corpus.formats._writing import safe_cell

FORMULAS = ["=cmd|' /C calc'!A0", "+1", "-1.5", "@a", "\tx", "\rx", "'a", "a\x1b[31m\x9b"]
PLAIN = [
    "a",
    "a\\b",
    "a=b",
    "C:\\docs\\a.txt",
    "100%",
    "naïve",
    '"q", r',
    "a-b",
    "x'y",
    "\u00a0a",
]


def read_cell(cell):
    """Invert `safe_cell`."""
    if not cell.startswith("'"):
        return cell
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), cell[1:])


@pytest.fixture
def folder(tmp_path, model_file):
    """Return a folder with a model in it."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    return tmp_path


@pytest.mark.parametrize("end", ["csv", "tsv"])
def test_document_names_are_never_formulas(cli, folder, end):
    names = FORMULAS + PLAIN
    pl.DataFrame({"id": names, "text": ["star"] * len(names)}).write_parquet(folder / "t.parquet")
    options = ("--name-column", "id", "-o", f"t.{end}", "--certificate")
    done = cli("transform", "m.opelda", "t.parquet", *options)
    assert done.code == 0, done.err
    written = (folder / f"t.{end}").read_bytes().decode("utf-8-sig")
    cells = [
        row["document"]
        for row in csv.DictReader(io.StringIO(written), delimiter="," if end == "csv" else "\t")
    ]
    assert cells[len(FORMULAS) :] == PLAIN
    assert all(cell.startswith("'") for cell in cells[: len(FORMULAS)])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", written.replace("\r\n", "\n"))
    assert [read_cell(cell) for cell in cells] == names
    losses = pl.read_csv(folder / f"t.{end}", separator="," if end == "csv" else "\t")["loss"]
    assert losses.dtype == pl.Float64


def test_parquet_json_and_npz_keep_names_unchanged(cli, folder):
    pl.DataFrame({"id": FORMULAS, "text": ["star"] * len(FORMULAS)}).write_parquet("t.parquet")
    for name, reader in (("o.parquet", pl.read_parquet), ("o.jsonl", pl.read_ndjson)):
        cli("transform", "m.opelda", "t.parquet", "--name-column", "id", "-o", name)
        assert reader(name)["document"].unique(maintain_order=True).to_list() == FORMULAS
    cli("transform", "m.opelda", "t.parquet", "--name-column", "id", "-o", "o.npz")
    assert np.load("o.npz")["document"].tolist() == FORMULAS


@given(st.text())
def test_every_cell_is_safe_and_reversible(text):
    cell = safe_cell(text)
    assert read_cell(cell) == text
    assert not re.match(r"[=+\-@\t\r]", cell)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", cell)


@given(st.text(st.characters(), max_size=5), st.sampled_from(["utf-8", "ascii", None]))
@example("\ud800\udfff\x9b", "utf-8")
def test_json_on_a_terminal_is_printable_and_means_the_same(text, encoding):
    shown = safe_json(json.dumps(text, ensure_ascii=False), encoding)
    assert shown.isprintable()
    assert shown.isascii() or encoding != "ascii"
    spelled = re.sub("[\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)
    assert json.loads(shown) == spelled
