"""The site that `make docs` builds: all public names, nothing from a network."""

import importlib
import re
from pathlib import Path

import pytest

import opelda

SITE = Path(__file__).parents[2] / "build/site"
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
    assert {"model_file.save", "model_file.load", "model_file.follow"} <= found
    assert set(PACKAGES) <= set(dir(opelda))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(SITE)))
def test_pages_load_nothing_from_a_network(page):
    text = page.read_text(encoding="utf-8")
    loaded = re.findall(r'<(?:script|img|iframe|source)[^>]* src="([^"]+)"', text)
    loaded += re.findall(r'<link [^>]*rel="(?:stylesheet|preload|icon)"[^>]* href="([^"]+)"', text)
    loaded += re.findall(r'<link [^>]*href="([^"]+)"[^>]* rel="(?:stylesheet|preload|icon)"', text)
    assert loaded
    assert [address for address in loaded if re.match(r"(https?:)?//", address)] == []
    if page.name != "404.html":  # which only a server shows
        assert [a for a in loaded if not (page.parent / a.split("?")[0]).exists()] == []
