"""Minimal pages: one topic, no measures, documents without texts, no documents."""

import json

import pytest

from opelda import TopicModel
from opelda.corpus import read
from opelda.report import write_report
from opelda.report.page._write import page as page_of
from tests.page.conftest import show
from tests.page.test_accessibility import violations
from tests.report.page_data import element

TEXTS = ["tea cup tea", "cup of milk", "tea and milk"] * 30
VIEWS = ("#/", "#/topics", "#/topic/0", "#/documents", "#/document/1", "#/paste", "#/compare")
VIEWS += ("#/time", "#/groups", "#/about")


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Minimal facts and arrays of a page."""
    model = TopicModel(1, random_state=0).fit(read(TEXTS, min_df=1, max_df=1.0))
    path = tmp_path_factory.mktemp("bare") / "bare.html"
    text = write_report(model, model._checked(TEXTS), path, title="Tea").read_text()
    nothing = ("score", "coherence", "diversity", "guarantee", "curve", "stability")
    meta = json.loads(element(text, "meta")) | dict.fromkeys(nothing)
    unknown = {"weight": None, "coherence": None, "stability": None}
    meta["topics"] = [topic | unknown for topic in meta["topics"]]
    return meta, {name: element(text, name) for name in ("topics", "documents")}


def write_page(path, meta, arrays=None):
    path.write_text(page_of(meta, **(arrays or {})))


def test_page_of_one_topic_and_counts(open_page, parts, tmp_path):
    write_page(tmp_path / "bare.html", *parts)
    page = open_page((tmp_path / "bare.html").as_uri())
    for address in VIEWS:
        show(page, address)
        assert violations(page) == [], address
        assert "null" not in page.inner_text("main")
        assert "NaN" not in page.inner_text("main")
        assert "undefined" not in page.inner_text("main")
    show(page, "#/document/0")
    assert page.inner_text("h1").lower() == "document 0"
    assert page.inner_text(".text").split() == ["tea\u00d72", "cup"]


def test_page_without_documents_and_words(open_page, parts, tmp_path):
    write_page(tmp_path / "bare.html", parts[0])
    page = open_page((tmp_path / "bare.html").as_uri())
    for address in (*VIEWS, "#/word/tea"):
        show(page, address)
        assert page.locator("h1").count() == 1
    assert page.locator("nav a").all_text_contents() == ["Overview", "Topics", "About"]


def test_texts_that_need_the_python_tokenizer(open_page, parts, tmp_path):
    meta, arrays = parts
    tokenizer = meta["tokenizer"] | {"why_not": "Words are stemmed, which Python alone does."}
    write_page(tmp_path / "bare.html", meta | {"tokenizer": tokenizer}, arrays)
    page = open_page((tmp_path / "bare.html").as_uri() + "#/paste")
    assert page.inner_text(".lede") == "Words are stemmed, which Python alone does."
