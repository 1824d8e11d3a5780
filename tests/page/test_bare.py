"""A page about little: one topic, nothing measured, documents that are counts or none at all."""

import numpy as np
import pytest

from opelda import TopicModel
from opelda.corpus import read
from tests.page.conftest import show
from tests.page.sample_report import container, payload, write_page
from tests.page.test_accessibility import violations

TEXTS = ["tea cup tea", "cup of milk", "tea and milk"] * 30
VIEWS = ("#/", "#/topics", "#/topic/0", "#/documents", "#/document/0", "#/paste", "#/compare")


@pytest.fixture(scope="module")
def parts():
    model = TopicModel(1, random_state=0).fit(read(TEXTS, min_df=1, max_df=1.0))
    meta, topics, documents = payload(model, TEXTS, [""] * len(TEXTS), title="Tea")
    nothing = ("score", "coherence", "diversity", "guarantee", "curve", "stability")
    meta |= dict.fromkeys(nothing) | {"sampled": []}
    meta["topics"] = [
        topic | {"weight": None, "coherence": None, "stability": None, "related": []}
        for topic in meta["topics"]
    ]
    counts = model._checked(TEXTS)
    arrays = documents["arrays"]
    del arrays["texts"]
    arrays["loss"] = np.full(len(TEXTS), np.nan, "<f4")
    arrays["text_of"] = np.arange(len(TEXTS), dtype="<u4")
    arrays["count_offsets"] = counts.indptr.astype("<u4")
    arrays["count_words"] = counts.indices.astype("<u4")
    arrays["counts"] = counts.data.astype("<f4")
    return meta, container(**topics), container(**documents)


def test_one_topic_and_counts(open_page, parts, tmp_path):
    write_page(tmp_path / "bare.html", *parts)
    page = open_page((tmp_path / "bare.html").as_uri())
    for address in VIEWS:
        show(page, address)
        assert violations(page) == [], address
        assert "null" not in page.inner_text("main")
        assert "NaN" not in page.inner_text("main")
        assert "undefined" not in page.inner_text("main")
    show(page, "#/document/0")
    assert page.inner_text("h1") == "Document 0"
    assert page.inner_text(".text").split() == ["tea\u00d72", "cup"]


def test_without_documents_and_words(open_page, parts, tmp_path):
    write_page(tmp_path / "bare.html", parts[0])
    page = open_page((tmp_path / "bare.html").as_uri())
    for address in (*VIEWS, "#/word/tea"):
        show(page, address)
        assert page.locator("h1").count() == 1
    assert page.locator("nav a").all_text_contents() == ["Overview", "Topics"]


def test_words_that_only_python_can_cut(open_page, parts, tmp_path):
    meta, *rest = parts
    tokenizer = meta["tokenizer"] | {"why_not": "Words are stemmed, which Python alone does."}
    write_page(tmp_path / "bare.html", meta | {"tokenizer": tokenizer}, *rest)
    page = open_page((tmp_path / "bare.html").as_uri() + "#/paste")
    assert page.inner_text(".lede") == "Words are stemmed, which Python alone does."
