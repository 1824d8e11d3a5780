"""Outputs: commands never overwrite their inputs, and save a model elsewhere if needed."""

import json
import os
import re
import shutil

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import opelda
from opelda.corpus import read
from tests.cases import cases

TEXTS = "star galaxy orbit\nbread flour oven\n" * 20


def content(folder):
    """Return the files of a folder, and the targets of links."""
    return {
        str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if not path.is_dir()
    }


@pytest.fixture
def folder(tmp_path, model_file):
    """Files with misleading names."""
    for name in ("t.txt", "vocab.x.txt", "b.npz.vocab", "plain.txt", "d/a.txt", "d/in/b.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(TEXTS)
    (tmp_path / "docword.y.txt").write_text("2\n2\n2\n1 1 4\n2 2 1\n")
    for name in ("vocab.y.txt", "w.mtx.vocab", "mine.mtx.vocab", "stop.txt"):
        (tmp_path / name).write_text("star\nbread\n")
    (tmp_path / "linked.mtx.vocab").symlink_to("t.txt")
    (tmp_path / "d" / "far.txt").symlink_to("../plain.txt")
    (tmp_path / "e").symlink_to("d")
    shutil.copy(model_file, tmp_path / "m.opelda")
    return tmp_path


DESTRUCTIVE = {
    "vocabulary on the source": "convert vocab.x.txt docword.x.txt --format lines",
    "vocabulary of a matrix on the source": "convert b.npz.vocab b.npz --format lines",
    "vocabulary on a link to the source": "convert t.txt linked.mtx",
    "vocabulary of the source": "convert docword.y.txt docword.y.txt.gz",
    "column words": "convert docword.y.txt w.mtx --column-words w.mtx.vocab",
    "stop words": "convert t.txt stop.txt --to mm --stop-words stop.txt",
    "stop words in a table": "convert t.txt stop.csv --to mm --stop-words ./stop.csv",
    "unrelated vocabulary": "convert t.txt mine.mtx",
    "vocabulary of another file": "convert t.txt plain.txt.gz --to mm",
    "document": "convert d d/a.txt --to mm",
    "new document in the folder": "convert d d/new.txt --to mm",
    "linked document": "convert d plain.txt --to mm",
    "document in a linked folder": "transform m.opelda e -o d/b.csv",
    "table in the folder": "transform m.opelda d -o d/b.csv",
    "table in a nested folder": "transform m.opelda d -o d/in/b.csv",
    "table in the current folder": "transform m.opelda . -o b.csv",
    "file that matches the pattern": "transform m.opelda d/in/*.csv -o d/in/b.csv",
    "new file that matches the pattern": "transform m.opelda d/in/*.csv -o d/in/c.csv",
    "new file that matches a recursive pattern": "transform m.opelda d/**/*.csv -o d/c.csv",
    "one of several sources": "transform m.opelda t.txt plain.txt d/in/b.csv -o d/in/b.csv",
    "model": "transform m.opelda t.txt -o m.csv",
    "model in the folder": "fit d -k 2 -o d/m.opelda",
    "checkpoint in the folder": "stream d -k 2 --checkpoint d/state",
}


@cases("name", DESTRUCTIVE)
def test_inputs_are_never_overwritten(cli, folder, name):
    (folder / "stop.csv").write_text("star\n")
    if name == "model":
        (folder / "m.csv").symlink_to("m.opelda")
    before = content(folder)
    done = cli(*DESTRUCTIVE[name].split(), "-q")
    assert content(folder) == before
    assert done.code == 2, done.err
    assert re.fullmatch(r"opelda: .*; .*\.\n", done.err)


HARMLESS = {
    "next to the folder": "transform m.opelda d -o b.csv",
    "hidden file in the folder": "transform m.opelda d -o d/.b.csv",
    "file that does not match the pattern": "transform m.opelda d/*.txt -o d/theta.csv",
    "below the depth of the pattern": "transform m.opelda d/*.txt -o d/in/theta.txt.csv",
    "different name": "convert docword.y.txt docword.z.txt.gz",
    "standard output": "convert t.txt - --to mm",
}


@cases("name", HARMLESS)
def test_other_paths_can_be_written(cli, folder, name):
    before = content(folder)
    done = cli(*HARMLESS[name].split(), "-q")
    assert done.code == 0, done.err
    assert content(folder).items() >= before.items()


def test_target_and_vocabulary_are_replaced(cli, folder):
    for source, words in (("t.txt", 6), ("stop.txt", 2)):
        assert cli("convert", source, "new.mtx", "-q").code == 0
        assert len(read("new.mtx").words) == words
        assert len((folder / "new.mtx.vocab").read_text().split()) == words


def test_leftover_vocabulary_of_a_killed_run_is_replaced(cli, folder):
    for _ in range(2):
        assert cli("convert", "t.txt", "new.mtx", "-q").code == 0
        (folder / "new.mtx").unlink()
    assert cli("convert", "stop.txt", "new.mtx", "-q").code == 2


def test_counts_without_words_keep_no_old_vocabulary(cli, folder):
    assert cli("convert", "docword.y.txt", "y.mtx", "-q").code == 0
    (folder / "none").mkdir()
    (folder / "docword.y.txt").rename(folder / "none" / "docword.y.txt")
    before = content(folder)
    done = cli("convert", "none/docword.y.txt", "y.mtx", "-q")
    assert done.code == 2
    assert "y.mtx.vocab" in done.err
    assert content(folder) == before


LONG = "é" * 100 + "x" * 48  # 248 bytes


@pytest.mark.parametrize("length", [234, 255])
def test_file_names_of_the_maximum_length(cli, folder, length):
    def name(end, room=0):
        return "x" * (length - len(end) - room) + end

    assert cli("fit", "t.txt", "-k", 2, "-o", name(".opelda"), "-q").code == 0
    assert cli("transform", "m.opelda", "t.txt", "-o", name(".csv"), "-q").code == 0
    assert cli("transform", "m.opelda", "t.txt", "-o", name(".parquet"), "-q").code == 0
    assert cli("convert", "t.txt", name(".mtx", len(".vocab")), "-q").code == 0
    opelda.save(opelda.load("m.opelda"), LONG + ".opelda"[:7])
    assert cli("stream", "t.txt", "--checkpoint", name(".state"), "-k", 2, "-q").code == 0


@cases(
    "command",
    [
        "fit t.txt -k 2 -o {}.opelda",
        "stream t.txt -k 2 --checkpoint {}.state.dir",
        "stream t.txt -k 2 --checkpoint c -o {}.opelda",
        "transform m.opelda t.txt -o {}.parquet",
        "convert t.txt {}.mtx",
    ],
)
def test_overlong_file_name_is_rejected_before_reading(cli, folder, command, monkeypatch):
    def read(*args, **options):
        raise AssertionError

    for place in ("opelda.corpus.read", "opelda.corpus.stream", "opelda.load"):
        monkeypatch.setattr(place, read)
    before = sorted(os.listdir(folder))
    done = cli(
        *command.format("y" * 249).split()
    )  # at least 256 bytes with the suffix of the vocabulary
    assert done.code == 2
    assert re.fullmatch(r"opelda: .*File name too long.*\.\n", done.err)
    assert sorted(os.listdir(folder)) == before


def test_overlong_model_name_is_rejected_before_writing(tmp_path, model_file, monkeypatch):
    model = opelda.load(model_file)
    monkeypatch.setattr("os.fsync", lambda _: pytest.fail("it was written first"))
    with pytest.raises(opelda.errors.ModelFileError, match="File name too long"):
        opelda.save(model, tmp_path / ("x" * 256))
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("places", [1, 2])
def test_model_is_saved_elsewhere_when_the_target_fails(
    cli, folder, places, monkeypatch, tmp_path_factory
):
    spare, rename = tmp_path_factory.mktemp("spare"), os.replace
    (folder / "out").mkdir()
    full = [str(folder / "out"), str(folder)][:places]

    def replace(source, target):
        if os.path.dirname(target) in full:
            raise OSError(28, "No space left on device")
        rename(source, target)

    monkeypatch.setattr("os.replace", replace)
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    done = cli("fit", "t.txt", "-k", 2, "-o", "out/new.opelda", "-q")
    monkeypatch.undo()
    assert done.code == 2
    assert "No space left on device" in done.err
    saved = [*(folder if places == 1 else spare).glob("new-*.opelda")]
    assert len(saved) == 1
    assert str(saved[0]) in done.err
    assert opelda.load(saved[0]).n_components == 2
    assert os.listdir(folder / "out") == []


INEFFECTIVE = {
    "dense table with minimum weight": "transform m.opelda t.txt -o o.csv --dense --min-weight 0.1",
    "dense JSON with minimum weight": "transform m.opelda t.txt --dense --min-weight 0.1",
    "names in a matrix": "convert t.jsonl t.npz --name-column id",
}


@cases("name", INEFFECTIVE)
def test_ineffective_options_are_rejected(cli, folder, name):
    (folder / "t.jsonl").write_text('{"id": 1, "text": "star"}\n')
    before = content(folder)
    done = cli(*INEFFECTIVE[name].split(), "-q")
    assert done.code == 2
    option = "--min-weight" if "weight" in INEFFECTIVE[name] else "--name-column"
    assert option in done.err
    assert content(folder) == before


@pytest.mark.parametrize("names", ["", "all", "the last"])
def test_folder_name_with_pattern_characters(cli, folder, names, monkeypatch):
    monkeypatch.setattr("opelda.cli._inputs.BLOCK", 7)
    lines = [{"text": "star galaxy"} for _ in range(20)]
    for i in {"": [], "all": range(20), "the last": [19]}[names]:
        lines[i]["id"] = f"d{i}"
    (folder / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "run[1]*?").mkdir()
    for option in ("--dense", "--sparse"):
        done = cli("transform", "m.opelda", "t.jsonl", option, "-o", "run[1]*?/t.parquet")
        assert done.code == 0, done.err
        found = pl.read_parquet(folder / "run[1]*?" / "t.parquet", glob=False)
        assert found["document"].n_unique() == 20


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_npz_of_few_documents(cli, folder, rows):
    (folder / "few.jsonl").write_text('{"text": "star"}\n' * rows)
    for option in ("--dense", "--sparse"):
        done = cli("transform", "m.opelda", "few.jsonl", "-o", "few.npz", option)
        if done.code:  # no documents
            assert rows == 0
            continue
        with np.load("few.npz") as found:
            assert found["document"].tolist() == [str(row) for row in range(rows)]
        if option == "--sparse":
            assert sparse.load_npz("few.npz").shape == (rows, 3)
