"""The page's code and every public example print their stated output."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
from pathlib import Path

import pytest

import opelda.optimize
from tests.cases import cases

PAGE = Path(__file__).parents[2] / "docs" / "optimize.md"
SECTIONS = [
    section
    for section in re.split(r"^(?=## )", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if "```python" in section
]
PAIR = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def heading(section):
    return section.splitlines()[0].lstrip("# ")


def test_every_code_block_of_the_page_states_its_output():
    assert [len(PAIR.findall(s)) for s in SECTIONS] == [s.count("```python") for s in SECTIONS]
    assert len(SECTIONS) == 3


@pytest.mark.parametrize("section", SECTIONS, ids=heading)
def test_page_prints_its_stated_output(section):
    names = {"__name__": "page"}
    for code, output in PAIR.findall(section):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == output


def modules():
    package = opelda.optimize
    return [f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__)]


@cases("name", modules())
def test_docstring_examples_run(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0
