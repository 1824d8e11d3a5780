"""A live page asks again and again, and shows what changed."""

import json

import pytest

from opelda.cli._server import Server
from opelda.report.page._write import as_json
from opelda.report.page._write import page as page_of
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
    server = Server(
        "127.0.0.1:0",
        {
            "/": ("text/html; charset=utf-8", lambda: page_of(meta)),
            "/meta.json": ("application/json", lambda: as_json(meta)),
        },
    )
    server.start()
    yield meta, server.url
    server.close()


def test_live_view_follows_the_stream(open_page, stream):
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
    page.evaluate("location.hash = '#/documents'")
    page.wait_for_function("() => document.querySelector('h1').textContent === 'Documents'")
    assert "live page holds no documents" in page.inner_text(".lede")
