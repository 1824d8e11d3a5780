"""`opelda plot`: figures as files."""

import datetime as dt
import json
import re
import shutil
import subprocess
import sys

import pytest

import opelda
from tests.cases import cases

HEADS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture
def folder(tmp_path, model_file, texts):
    """Return a folder with a model and documents with dates and sections."""
    shutil.copy(model_file, tmp_path / "m.opelda")
    records = [
        {
            "text": text,
            "date": str(dt.date(2000 + i // 60, 1, 1)),
            "section": ("sky", "food", "law")[i % 3],
            "party": "ab"[i % 2],
        }
        for i, text in enumerate(texts)
    ]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return tmp_path


@pytest.mark.parametrize("kind", ["words", "map", "learning"])
@pytest.mark.parametrize("end", HEADS)
def test_model_figures_are_written_and_reproducible(cli, folder, kind, end):
    done = cli("plot", "m.opelda", "-o", f"f.{end}", "--kind", kind)
    assert (done.code, done.out) == (0, ""), done.err
    written = (folder / f"f.{end}").read_bytes()
    assert written.startswith(HEADS[end])
    if kind == "words" or end == "svg":  # the same from run to run
        cli("plot", "m.opelda", "-o", f"g.{end}", "--kind", kind)
        assert (folder / f"g.{end}").read_bytes() == written


def test_words_are_the_default_figure(cli, folder):
    assert cli("plot", "m.opelda", "-o", "f.svg").code == 0
    drawn = (folder / "f.svg").read_text()
    for words in opelda.load("m.opelda").top_words(7):
        assert all(f">{word}<" in drawn for word in words)
    assert cli("plot", "m.opelda", "-o", "f.svg", "--only", 1, "-n", 2).code == 0
    drawn = (folder / "f.svg").read_text()
    mine, *others = (opelda.load("m.opelda").top_words(7)[k] for k in (1, 0, 2))
    assert all(f">{word}<" in drawn for word in mine[:2])
    assert not any(f">{word}<" in drawn for words in others for word in words)
    assert len(re.findall(r">\d+\.\d%<", drawn)) == 2  # bars


def test_figures_over_time_and_by_group(cli, folder):
    for args, part in (
        ((), "by year"),
        (("--kind", "time"), "by year"),
        (("--kind", "groups"), "sky (80)"),
        (("--by", "party"), "a (120)"),
        (("--time", "date", "--unit", "quarter"), "by quarter"),
        (("--time", "date", "--only", 1), "by year"),
    ):
        done = cli("plot", "m.opelda", "t.jsonl", "-t", "text", "-o", "f.svg", *args)
        assert done.code == 0, done.err
        assert part in (folder / "f.svg").read_text()
    text = (folder / "t.jsonl").read_text().replace("date", "other")
    (folder / "t.jsonl").write_text(text)
    assert cli("plot", "m.opelda", "t.jsonl", "-t", "text", "-o", "f.svg").code == 0
    assert "sky (80)" in (folder / "f.svg").read_text()


@cases(
    ("kind", "usual", "options"),
    [
        (("--kind", "time"), "date", "--time"),
        (("--unit", "day"), "date", "--time"),
        (("--kind", "groups"), "section", "--by"),
        ((), "date or section", "--time or --by"),
    ],
)
@cases("corpus", ["t.jsonl", "texts"])
def test_missing_columns_suggest_shell_options(cli, folder, corpus, kind, usual, options):
    (folder / "t.jsonl").write_text('{"text": "star orbit", "other": "1"}\n' * 30)
    (folder / "texts").mkdir(exist_ok=True)
    for i in range(30):
        (folder / "texts" / f"{i}.txt").write_text("star orbit")
    done = cli("plot", "m.opelda", corpus, "-o", "f.svg", *kind)
    output = done.err.splitlines()[-1]
    assert done.code == 2
    assert f"such as {usual}; select a column with {options}." in output
    assert "metadata" not in output


@pytest.mark.parametrize("kind", ["words", "map", "time"])
def test_title_is_above_the_figure(cli, folder, kind):
    given = ["m.opelda", *(["t.jsonl", "-t", "text"] if kind == "time" else []), "--kind", kind]
    assert cli("plot", *given, "-o", "f.svg", "--title", "All of $it$").code == 0
    drawn = (folder / "f.svg").read_text()
    places = re.findall(r"(?:translate\(\S+ | y=.)([-\d.]+)[^>]*>([^<]+)</text>", drawn)
    heights = {text: float(y) for y, text in places}
    assert len(heights) > 3
    assert heights.pop("All of $it$") < min(heights.values())
    assert cli("plot", *given, "-o", "g.svg").code == 0
    assert "All of" not in (folder / "g.svg").read_text()


@cases(
    ("args", "message"),
    [
        (["-o", "f.gif"], "must end in .png, .svg or .pdf"),
        (["-o", "gone/f.png"], "does not exist"),
        (["-o", "m.opelda.png", "--kind", "cake"], "--kind must be 'words'"),
        (["--kind", "time"], "add a CORPUS"),
        (["--unit", "week"], "add a CORPUS"),
        (["--by", "party"], "add a CORPUS"),
        (["t.jsonl", "--kind", "map"], "remove the CORPUS"),
        (["--kind", "map", "--words", "3"], "--words has no effect"),
        (["--kind", "learning", "--only", "1"], "--only has no effect"),
        (["t.jsonl", "--kind", "groups", "--unit", "day"], "--unit has no effect"),
        (["--time", "date", "--kind", "map", "t.jsonl"], "remove the CORPUS"),
        (["--time", "date", "--kind", "groups", "t.jsonl"], "--time has no effect"),
        (["--only", "1", "--topics", "2"], "remove --topics"),
        (["--only", "9"], "--only must be"),
        (["--text-column", "a"], "no documents are read"),
        (["t.jsonl", "-o", "t.png", "--unit", "eon"], "--unit must be 'minute'"),
    ],
)
def test_errors_are_one_sentence(cli, folder, args, message):
    before = sorted(folder.iterdir())
    done = cli("plot", "m.opelda", *args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) == 1
    assert sorted(folder.iterdir()) == before


def test_failed_write_keeps_the_old_figure(cli, folder, monkeypatch):
    (folder / "f.png").write_bytes(b"as it was")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    done = cli("plot", "m.opelda", "-o", "f.png")
    monkeypatch.undo()
    assert done.code == 2
    assert "No space left on device" in done.err
    assert (folder / "f.png").read_bytes() == b"as it was"
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_missing_glyphs_are_reported(cli, folder):
    cli("topics", "m.opelda", "--label", "0=\u0b95\u0bb2\u0bc8")
    done = cli("plot", "m.opelda", "-o", "f.png")
    assert done.code == 0
    assert "font lacks some characters" in done.err
    assert len(done.err.splitlines()) == 2


def test_missing_matplotlib_is_one_error(folder):
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from opelda.cli import main; sys.exit(main(['plot', 'm.opelda', '-o', 'f.png']))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "opelda: Figures need matplotlib, which is not installed; run: pip install 'opelda[plot]'."
    ]
