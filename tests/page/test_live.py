"""A live page polls and shows changes.

Server fixtures come before browser fixtures, so that they are closed later.
"""

import json

import pytest

from opelda import TopicModel
from opelda.report.page._live_page import LivePage
from opelda.report.page._write import as_json
from opelda.report.page._write import page as page_of
from opelda.serve._server import PageServer
from tests.page.conftest import show
from tests.page.test_accessibility import violations
from tests.report.page_data import element


@pytest.fixture
def stream(report):
    meta = json.loads(element(report.path.read_text(), "meta"))
    shares = [topic["weight"] for topic in meta["topics"]]
    event = {"kind": "topic rising", "after": 900, "topic": 3, "text": "<b>3</b>", "words": ["x"]}
    meta["live"] = {"every": 0.1}
    meta["stream"] = {
        "n_docs": 1000,
        "docs_per_second": 512.5,
        "score": -3.2,
        "gap": 0.2,
        "memory": 3.1e8,
        "started": "2026-11-16T22:00:00Z",
        "events": [event],
        "shares": shares[::-1],
        "before": shares,
        "scores": [[100, -4], [1000, -3.2]],
    }
    server = PageServer(
        "127.0.0.1",
        0,
        {
            "/": ("text/html", lambda: page_of(meta)),
            "/meta.json": ("application/json", lambda: as_json(meta)),
        },
    )
    server.start()
    yield meta, server.site.url
    server.close()


def test_live_view_follows_the_stream(stream, open_page):
    meta, url = stream
    page = open_page(url, offline=False)
    assert "#/live" in page.url
    assert "1,000" in page.inner_text(".tiles")
    assert page.inner_text(".events p") == "<b>3</b> Topic 3"
    assert page.locator("svg.moves g.move").count() == len(meta["topics"])
    assert violations(page) == []
    meta["stream"]["n_docs"] = 12345
    page.wait_for_function("() => document.querySelector('.tiles').textContent.includes('12,345')")
    page.click("text=Pause")
    meta["stream"]["n_docs"] = 99999
    page.wait_for_timeout(400)
    assert "12,345" in page.inner_text(".tiles")


@pytest.fixture
def learner(report):
    """The served page of a stream, and a function that lets it learn n more documents."""
    shown = LivePage("feed.jsonl", "state")
    model = TopicModel(4, random_state=0, callbacks=[shown])
    pages = {
        "/": ("text/html", shown.html),
        "/meta.json": ("application/json", shown.json),
    }
    server = PageServer("127.0.0.1", 0, pages)
    server.start()
    yield server.site.url, lambda start, stop: model.partial_fit(report.texts[start:stop])
    server.close()


VIEWS = ("#/", "#/topics", "#/topic/1", "#/word/court", "#/documents", "#/document/1", "#/paste")


def test_stream_views_have_no_violations(learner, open_page):
    url, learn = learner
    page = open_page(url, offline=False)
    for view in ("#/compare", *VIEWS):
        show(page, view)
        assert page.inner_text("h1") == "No topics yet"
    learn(0, 200)
    page = open_page(url, offline=False)
    for view in VIEWS:
        show(page, view)
        assert "could not be shown" not in page.inner_text("main")
    show(page, "#/documents")
    assert "live page has no documents" in page.inner_text(".lede")
    show(page, "#/")
    assert "4 topics over 60 words, learned from 200 documents so far." in page.inner_text(".lede")
    assert page.locator(".map [role=option]").count() == 4
    assert violations(page) == []


def test_overview_is_updated_except_during_interaction(learner, open_page):
    url, learn = learner
    learn(0, 100)
    page = open_page(f"{url}#/", offline=False)
    page.mouse.move(5, 5)
    page.wait_for_timeout(2100)  # topics are compared at this interval
    learn(100, 200)
    page.wait_for_function("() => document.querySelector('.lede')?.textContent.includes('200 doc')")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_for_timeout(300)
    page.evaluate("window.n = 0; addEventListener('scroll', () => { n += 1; })")
    page.wait_for_timeout(2100)
    learn(200, 300)
    page.wait_for_function("() => document.querySelector('.lede')?.textContent.includes('300 doc')")
    page.wait_for_timeout(300)
    assert page.evaluate("n") == 0  # nothing moved
    page.focus(".map")
    page.wait_for_timeout(2100)
    learn(300, 400)
    page.wait_for_timeout(3000)
    assert "300 documents" in page.inner_text(".lede")
    page.click("nav >> text=Topics")
    page.click("nav >> text=Overview")  # focus on a heading is not an interaction
    page.wait_for_function("() => document.querySelector('.lede')?.textContent.includes('400 doc')")


def test_updates_keep_the_focus(stream, open_page):
    _, url = stream
    page = open_page(url, offline=False)
    page.locator("svg.moves a").first.focus()
    page.wait_for_timeout(500)
    assert page.evaluate("document.activeElement.closest('svg.moves') !== null")


def test_unknown_shares_are_not_drawn(stream, open_page):
    meta, url = stream
    shares, meta["stream"]["shares"] = meta["stream"]["shares"], None
    page = open_page(url, offline=False)
    assert page.get_by_text("Available after more documents").is_visible()
    assert not page.locator("svg.moves").is_visible()
    meta["stream"]["shares"] = shares
    page.wait_for_selector("svg.moves g.move")
    assert not page.get_by_text("Available after more documents").is_visible()


def test_events_replace_the_empty_message(stream, open_page):
    meta, url = stream
    event, meta["stream"]["events"] = meta["stream"]["events"], []
    page = open_page(url, offline=False)
    assert page.get_by_text("None so far.").is_visible()
    meta["stream"]["events"] = event
    page.wait_for_selector(".events li")
    assert not page.get_by_text("None so far.").is_visible()
