"""The site that `make docs` builds: all public names, no external requests."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import opelda
from opelda.cli._app import COMMANDS

ROOT = Path(__file__).parents[2]
SITE = ROOT / "build/site"
PAGES = sorted(SITE.rglob("*.html"))
# opelda.spark's own import pyspark; its names are in its __all__ all the same
PACKAGES = ("corpus", "engines", "errors", "inference", "learning", "metrics", "optimize", "report",
            "selection", "serve", "spark")  # fmt: skip


def test_reference_has_every_public_name():
    texts = "".join(page.read_text(encoding="utf-8") for page in (SITE / "reference").iterdir())
    found = set(re.findall(r'id="opelda\.([\w.]+)"', texts))
    for package in PACKAGES:
        for name in importlib.import_module(f"opelda.{package}").__all__:
            assert f"{package}.{name}" in found
    for name in opelda.report.plots.__all__:
        assert f"report.plots.{name}" in found
    assert "report.rows.Table" in found
    assert {"model_file.save", "model_file.load", "model_file.follow"} <= found
    assert set(PACKAGES) <= set(dir(opelda))


def test_reference_has_every_command():
    text = (SITE / "reference/commands.html").read_text(encoding="utf-8")
    assert COMMANDS
    assert [name for name in COMMANDS if f'<h2 id="{name}">' not in text] == []


CODE = re.compile(r"^(```).*?^\1|^(?: {4}.*\n)+|`[^`\n]+`", re.DOTALL | re.MULTILINE)
SOURCES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.name)
def test_formulas_are_typeset(source):
    prose = CODE.sub("", source.read_text(encoding="utf-8"))
    formulas = ["".join(pair) for pair in re.findall(r"\$\$(.+?)\$\$|\$(.+?)\$", prose)]
    # Markdown has a use for these, and others apply it before they typeset
    assert [formula for formula in formulas if re.search(r"\\[^a-zA-Z]|[|*<>]", formula)] == []
    page = SITE / source.relative_to(ROOT / "docs").with_suffix(".html")
    typeset = re.findall(r"<math .*?</math>", page.read_text(encoding="utf-8"))
    assert len(typeset) == len(formulas)
    assert not any("\\" in formula for formula in typeset)  # an unknown command


def test_formulas_have_a_font():
    assert 'url("math.ttf")' in (SITE / "site.css").read_text(encoding="utf-8")
    assert (SITE / "math.ttf").stat().st_size > 100_000


def test_pages_name_the_repository():
    address = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    text = (SITE / "index.html").read_text(encoding="utf-8")
    names = re.findall(r'class="md-source__repository">\s*(\S+)\s*<', text)
    assert names
    assert all(address.endswith(f"/{name}") and "/" in name for name in names)


def test_long_signatures_are_wrapped():
    """Wrapping needs a formatter, which the build skips silently if it is missing."""
    text = (SITE / "reference/models.html").read_text(encoding="utf-8")
    blocks = re.findall(r'<div class="[^"]*doc-signature highlight">(.*?)</div>', text, re.DOTALL)
    lines = [line for block in blocks for line in re.sub("<.*?>", "", block).splitlines()]
    assert max(map(len, lines)) < 100


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_pages_load_nothing_from_a_network(page):
    text = page.read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
    loaded += re.findall(r'<link [^>]*rel="(?:stylesheet|preload|icon)"[^>]* href="([^"]+)"', text)
    loaded += re.findall(r'<link [^>]*href="([^"]+)"[^>]* rel="(?:stylesheet|preload|icon)"', text)
    assert loaded
    # the theme's script asks api.github.com for the stars of each such link
    assert 'data-md-component="source"' not in text
    assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    if page.name != "404.html":  # shown by a server only
        assert [a for a in loaded if not (page.parent / a.split("?")[0]).exists()] == []
