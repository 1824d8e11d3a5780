"""Pages whose code runs and prints what its comments say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

import opelda.metrics

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    "learning.md",
    "metrics.md",
    "contributing-a-method.md",
    "gpu.md",
    "how-ope-works.md",
)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_print_says_what_it_prints(page):
    for block in blocks(page):
        assert len(PRINTED.findall(block)) == block.count("print(") > 0, block


@pytest.mark.parametrize("page", PAGES)
def test_blocks_run_in_order_and_print_what_their_comments_say(page, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = {"__name__": "page"}
    for block in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block, page, "exec"), names)
        assert printed.getvalue().splitlines() == PRINTED.findall(block), block


def test_the_page_on_measures_names_them_all():
    page = (DOCS / "metrics.md").read_text(encoding="utf-8")
    functions = [name for name in opelda.metrics.__all__ if name[0].islower()]
    missing = [name for name in functions if not re.search(rf"`{name}[`(]", page)]
    assert missing == []
