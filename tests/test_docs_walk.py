"""The picture of OPE's walk, and its numbers, are what the script makes."""

import contextlib
import importlib.util
import io
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def test_picture_and_numbers(tmp_path, check_picture, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(DOCS)  # for figure_style.py beside it
    spec = importlib.util.spec_from_file_location("walk_figure", DOCS / "walk_figure.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr("sys.argv", ["walk_figure.py", "--out", str(tmp_path)])
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        module.main()
    assert printed.getvalue() in (DOCS / "how-ope-works.md").read_text(encoding="utf-8")
    check_picture(DOCS / "figures/ope-walk.svg", tmp_path / "ope-walk.svg")
