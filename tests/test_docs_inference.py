"""The page on inference runs, prints what it says, and quotes what its figures' script prints."""

import contextlib
import importlib.util
import io
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "inference.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
PICTURES = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGE)


@pytest.fixture(scope="module")
def figures():
    pytest.importorskip("matplotlib")
    sys.path.insert(0, str(DOCS))  # the script imports its neighbour
    spec = importlib.util.spec_from_file_location("docs_figures", DOCS / "figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(DOCS))


def test_every_block_states_its_output():
    assert len(BLOCK.findall(PAGE)) == PAGE.count("```python") > 0


def test_blocks_run_in_order_and_print_what_the_page_says():
    names = {"__name__": "page"}
    for code, output in BLOCK.findall(PAGE):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "docs/inference.md", "exec"), names)
        assert printed.getvalue() == output, code


def test_links_within_the_page_lead_somewhere():
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", h).lower().replace(" ", "-") for h in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", PAGE)) <= anchors


@pytest.mark.parametrize("picture", PICTURES)
def test_pictures_are_small_and_carry_no_date(picture):
    text = (DOCS / picture).read_text(encoding="utf-8")
    ET.fromstring(text)
    assert len(text) < 100_000
    assert "dc:date" not in text


def test_every_figure_is_shown_on_the_page(figures):
    timed = {"guarantee"}  # by benchmarks/guarantee.py
    assert {Path(p).stem for p in PICTURES} == set(figures.FIGURES) | timed


def test_collapse_in_small(figures):
    errors = {name: runs.mean() for name, runs in figures.measure_collapse(40, 1).items()}
    assert list(errors.values()) == sorted(errors.values())


def test_artefact_in_small(figures):
    run = figures.measure_artefact(n_docs=40, longest=500)
    assert run.slope("g2") == pytest.approx(run.predicted(), rel=0.01)
    assert abs(run.slope("g1")) < 0.02 * run.slope("f")


def test_gaps_in_small(figures):
    gaps = figures.measure_gaps(n_docs=4, longest=100)
    for lost, gap in gaps.concave.values():
        n = gaps.n_tokens
        assert (lost <= n * np.log1p(gap / n) + gaps.doubt).all()
        assert (n * np.log1p(gap / n) <= gap).all()
    assert (gaps.lost <= gaps.sharper).all()
    assert abs(gaps.gap[-1] - gaps.floor[-1]) < 5


def test_rate_in_small(figures):
    found = figures.measure_rate((100, 10_000), n_seeds=20)
    falls = {picks: rows[0, 1:] / rows[1, 1:] for picks, rows in found.items()}
    assert 5 < falls["shared"][0] < 20  # the distance: T^(-1/2) makes 10
    assert 30 < falls["shared"][1] < 300  # f* - f: 1/T makes 100
    assert falls["balanced"][0] > 50


@pytest.mark.heavy
def test_page_quotes_the_figures_script(figures, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["figures.py", "--out", str(tmp_path)])
    figures.main()
    printed = capsys.readouterr().out
    [row] = re.findall(r"^\| 65 \|(.*)\|$", printed, re.MULTILINE)
    practical, _, literal, _ = re.findall(r"([\d.]+) ±", row)
    assert f"{literal} (ε = 1e-10), against {practical} with the default" in PAGE
    [slope] = re.findall(r"^g1 .* f ([\d.]+)$", printed, re.MULTILINE)
    [predicted] = re.findall(r"^predicted .*: ([\d.]+)$", printed, re.MULTILINE)
    assert f"f grows by {slope} per unit of ln T; the formula predicts {predicted}" in PAGE
