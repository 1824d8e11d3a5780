"""Shell completion: its offers, and their agreement with the library."""

import os
import subprocess
import sys

import pytest

from opelda import _names
from opelda.cli import app
from opelda.cli._options import LEARNERS, complete_model
from opelda.engines import get_engine
from opelda.inference import METHODS
from opelda.learning import LEARNERS as CLASSES
from tests.cases import cases


def test_completion_names_match_the_library():
    assert {*_names.LEARNERS, "TopicModel"} == set(CLASSES)
    assert {CLASSES[name].__name__ for name in LEARNERS.values()} == set(_names.LEARNERS)
    assert [cls.name for cls in METHODS.values()] == list(_names.METHODS)
    assert set(_names.ENGINES) == {"cpu", "cuda", "auto", "reference"}
    for name in ("cpu", "reference"):
        assert get_engine(name).name == name
    assert get_engine("auto").name in ("cpu", "cuda")


def test_completion_offers_model_files(tmp_path, monkeypatch):
    for name in ("a.opelda", "b.opelda", "a.txt", ".hidden.opelda"):
        (tmp_path / name).write_text("")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / "old.opelda").write_text("")
    monkeypatch.chdir(tmp_path)
    assert list(complete_model("")) == ["a.opelda", "archive/", "b.opelda"]
    assert list(complete_model("a")) == ["a.opelda", "archive/"]
    assert list(complete_model("archive/")) == ["archive/old.opelda"]
    assert list(complete_model("gone/")) == []


def completion_of(typed):
    """Return the variables by which bash asks for completions."""
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    return {"_OPELDA_COMPLETE": "complete_bash", **words}


@cases(
    ("typed", "offered"),
    [
        ("opelda fit t.txt --learner online-c", {"online-cvb0", "online-cgs"}),
        ("opelda stream t.txt --transform-method c", {"cccp", "cgs", "cvb", "cvb0"}),
        ("opelda fit t.txt --format js", {"jsonl"}),
        ("opelda e", {"edit", "evaluate"}),
        ("opelda topics m --rank f", {"frex"}),
    ],
)
def test_completion(typed, offered, monkeypatch, capsys):
    for name, value in completion_of(typed).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        app(prog_name="opelda")
    assert set(capsys.readouterr().out.split()) == offered


def test_shell_completion():
    env = {**os.environ, **completion_of("opelda fit t.txt --preset b")}
    done = subprocess.run([sys.executable, "-m", "opelda"], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["best"], done.stderr
