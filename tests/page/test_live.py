"""A live page asks again and again, and shows what changed."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.page.sample_report import payload, write_page
from tests.page.test_accessibility import violations


@pytest.fixture
def stream(report, tmp_path):
    meta, _, _ = payload(report.model, report.texts, report.names, title="Stream")
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
    path = tmp_path / "live.html"
    write_page(path, meta)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            news = self.path == "/meta.json"
            body = json.dumps(meta).encode() if news else path.read_bytes()
            self.send_response(200)
            self.send_header("Content-Type", "application/json" if news else "text/html")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield meta, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


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
