"""Whatever words and paths hold, and whatever takes the output: clean, valid, or a sentence."""

import json
import os
import subprocess
import sys

import polars as pl
import pytest

import opelda
from opelda.corpus import Vocabulary

ODD = ["\x9b31mred", "\u202eabc", "\u2066x", "a\u200e", "\u061cb", "tea\u200d", "中文", "é"]


@pytest.fixture
def odd_model(tmp_path):
    model = opelda.OnlineOPE(2, random_state=0)
    model.fit_stream([ODD] * 9, vocabulary=Vocabulary(growing=True))
    opelda.save(model, tmp_path / "odd.opelda")
    return tmp_path / "odd.opelda"


@pytest.fixture
def shell(tmp_path):
    def run(command, **env):
        return subprocess.run(
            ["bash", "-c", f"{sys.executable} -m opelda {command}"],
            cwd=tmp_path,
            capture_output=True,
            env={**os.environ, **env},
        )

    return run


def test_json_cannot_write_on_the_terminal(cli, odd_model):
    shown = cli("topics", odd_model, "--json")
    assert all(character.isprintable() or character == "\n" for character in shown.out)
    assert "中文" in shown.out
    assert "\\u009b31mred" in shown.out
    found = json.loads(shown.out)
    assert {entry["word"] for entry in found["topics"][0]["words"]} == set(ODD)


@pytest.mark.parametrize("option", ["--sparse", "--dense"])
def test_names_of_documents_cannot_write_on_the_terminal(cli, odd_model, shell, tmp_path, option):
    rows = [json.dumps({"id": name, "text": name}) for name in ODD]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    command = ("transform", "odd.opelda", "t.jsonl", "--name-column", "id", option)
    shown = shell(" ".join(command)).stdout.decode()
    assert cli(*command, "-o", "theta.jsonl").code == 0
    assert (tmp_path / "theta.jsonl").read_text("utf-8") == shown
    assert "中文" in shown
    narrow = shell(" ".join(command), PYTHONIOENCODING="ascii").stdout.decode("ascii")
    for text in (shown, narrow):
        assert all(character.isprintable() for line in text.split("\n") for character in line)
        assert [json.loads(line)["document"] for line in text.splitlines()] == ODD


def test_paths_that_are_not_utf_8(cli, odd_model, tmp_path, shell):
    """They are shown as in tables and messages, with what is not text escaped."""
    name = b"caf\xe9.opelda"
    try:
        os.rename(odd_model, os.path.join(os.fsencode(tmp_path), name))
    except OSError:
        pytest.skip("file names are UTF-8 here")
    for command in ("topics", "info"):
        done = shell(rf"{command} $'caf\xe9.opelda' --json")
        assert done.returncode == 0, done.stderr
        (tmp_path / "out.jsonl").write_bytes(done.stdout)
        assert json.loads(done.stdout.decode())["model"] == "caf\\udce9.opelda"
        # a reader that refuses half surrogates
        assert pl.read_ndjson(tmp_path / "out.jsonl")["model"].to_list() == ["caf\\udce9.opelda"]


NARROW = [
    {"PYTHONIOENCODING": "latin-1"},
    {"PYTHONIOENCODING": "ascii"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("env", NARROW, ids=lambda env: next(iter(env.values())))
def test_narrow_encodings(shell, odd_model, tmp_path, env):
    done = shell("topics odd.opelda --json", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout.decode("ascii"))
    assert {entry["word"] for entry in found["topics"][0]["words"]} == set(ODD)
    done = shell("topics odd.opelda -q", **env)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u4e2d\u6587" in done.stdout
    (tmp_path / "t.txt").write_text("中文 文字 tea\n" * 60, "utf-8")
    done = shell("fit t.txt -k 2 --preset fast --min-df 1 --max-df 1.0", **env)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["topics odd.opelda", "info --json"])
def test_a_full_disk_under_standard_output_is_one_sentence(shell, odd_model, command):
    done = shell(f"{command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"unexpected" not in done.stderr


def test_standard_error_that_takes_nothing_loses_no_work(shell, corpus_file, tmp_path):
    assert shell(f"fit {corpus_file} -k 2 -v --preset fast 2>/dev/full -o a").returncode == 0
    assert opelda.load(tmp_path / "a").n_components == 2


def test_help_in_a_narrow_encoding(shell):
    assert shell("fit --help", PYTHONIOENCODING="ascii").returncode == 0
