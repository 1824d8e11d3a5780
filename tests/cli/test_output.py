"""Output is printable and valid for any words, paths and encodings."""

import io
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import polars as pl
import pytest

import opelda
from opelda.cli import main
from opelda.corpus import Vocabulary

ODD = ["\x9b31mred", "\u202eabc", "\u2066x", "a\u200e", "\u061cb", "tea\u200d", "中文", "é"]
ERRORS = ("strict", "backslashreplace")  # of standard output and error, as in Python


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


@pytest.fixture
def encoded(monkeypatch, tmp_path):
    """Run a command in this process, with an encoding of the standard streams."""

    def run(command, encoding):
        files = [io.TextIOWrapper(io.BytesIO(), encoding, errors) for errors in ERRORS]
        with monkeypatch.context() as patch:
            patch.chdir(tmp_path)
            for name, file in zip(("stdout", "stderr"), files, strict=True):
                patch.setattr(sys, name, file)
            code = main(command.split())
            for file in files:
                file.flush()
        return SimpleNamespace(
            returncode=code,
            stdout=files[0].buffer.getvalue(),
            stderr=files[1].buffer.getvalue(),
        )

    return run


def test_json_escapes_control_characters(cli, odd_model):
    shown = cli("topics", odd_model, "--json")
    assert all(character.isprintable() or character == "\n" for character in shown.out)
    assert "中文" in shown.out
    assert "\\u009b31mred" in shown.out
    found = json.loads(shown.out)
    assert {entry["word"] for entry in found["topics"][0]["words"]} == set(ODD)


@pytest.mark.parametrize("option", ["--sparse", "--dense"])
def test_document_names_have_control_characters_escaped(cli, odd_model, encoded, tmp_path, option):
    rows = [json.dumps({"id": name, "text": name}) for name in ODD]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    command = ("transform", "odd.opelda", "t.jsonl", "--name-column", "id", option)
    shown = encoded(" ".join(command), "utf-8").stdout.decode()
    assert cli(*command, "-o", "theta.jsonl").code == 0
    assert (tmp_path / "theta.jsonl").read_text("utf-8") == shown
    assert "中文" in shown
    narrow = encoded(" ".join(command), "ascii").stdout.decode("ascii")
    for text in (shown, narrow):
        assert all(character.isprintable() for line in text.split("\n") for character in line)
        assert [json.loads(line)["document"] for line in text.splitlines()] == ODD


def test_paths_that_are_not_utf8_are_escaped(cli, odd_model, tmp_path, shell):
    """Undecodable bytes are escaped, as in tables and messages."""
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
        # polars rejects lone surrogates
        assert pl.read_ndjson(tmp_path / "out.jsonl")["model"].to_list() == ["caf\\udce9.opelda"]


def check_narrow(run, folder):
    """Run three commands that print characters outside the encoding."""
    done = run("topics odd.opelda --json")
    assert (done.returncode, done.stderr) == (0, b"")
    found = json.loads(done.stdout.decode("ascii"))
    assert {entry["word"] for entry in found["topics"][0]["words"]} == set(ODD)
    done = run("topics odd.opelda -q")
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u4e2d\u6587" in done.stdout
    (folder / "t.txt").write_text("中文 文字 tea\n" * 60, "utf-8")
    done = run("fit t.txt -k 2 --preset fast --min-df 1 --max-df 1.0")
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_letters_beyond_the_encoding_of_the_output_are_escaped(
    encoded, odd_model, tmp_path, encoding
):
    check_narrow(lambda command: encoded(command, encoding), tmp_path)


def test_letters_beyond_the_encoding_of_the_locale_are_escaped(shell, odd_model, tmp_path):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    check_narrow(lambda command: shell(command, **locale), tmp_path)


@pytest.mark.parametrize("command", ["topics odd.opelda", "info --json"])
def test_full_disk_under_stdout_is_one_error(shell, odd_model, command):
    done = shell(f"{command} >/dev/full")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"unexpected" not in done.stderr


def test_full_disk_under_stderr_still_saves_the_model(shell, corpus_file, tmp_path):
    assert shell(f"fit {corpus_file} -k 2 -v --preset fast 2>/dev/full -o a").returncode == 0
    assert opelda.load(tmp_path / "a").n_components == 2


def test_help_in_a_narrow_encoding(shell):
    assert shell("fit --help", PYTHONIOENCODING="ascii").returncode == 0
