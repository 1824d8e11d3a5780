"""Rejected requests: status, message, and no effect on other requests."""

import asyncio
import json
import logging
import threading

import numpy as np

from opelda import inference
from opelda.inference import VB
from opelda.serve import _application as _app
from opelda.serve import _requests
from opelda.serve import app as make_app
from opelda.serve._site import Site
from tests.cases import cases

from .conftest import ask, asked, check_refused, infer

BAD = [
    (b'{"texts": ["half', {}, 400, "not JSON: Unterminated string starting at line 1, column 12"),
    (b'{"text": ["a"]}', {}, 422, "without the key 'texts'"),
    (b'{"texts": ["a"], "top": 3}', {}, 422, "has 'top' in addition"),
    (b'{"texts": "a"}', {}, 422, "no texts"),
    (b"[]", {}, 422, "no texts"),
    (b"", {}, 422, "no texts"),
    (b'["a", null]', {}, 422, r"texts\[1\] is not a text but of type null"),
    (b'["a", "\\ud800"]', {}, 422, "surrogate"),
    (b"[" * 100_000, {}, 400, "must be JSON such as"),
    (b"[" + b"1" * 10_000 + b"]", {}, 400, "must be JSON such as"),
    (b"\xff", {"kind": "text/plain"}, 400, "not valid UTF-8 at byte 0"),
    (b"a=1", {"kind": "application/x-www-form-urlencoded"}, 415, "Content-Type"),
    (b"\x1f\x8b", {"headers": [(b"content-encoding", b"gzip")]}, 415, "uncompressed"),
    (json.dumps(["a"] * 1001).encode(), {}, 413, "1,001 texts exceed the 1,000"),
    (b"a" * 1_000_001, {"kind": "text/plain"}, 413, "1,000,000 bytes"),
]


@cases(("body", "how", "status", "message"), BAD)
def test_invalid_bodies_are_rejected(service, body, how, status, message):
    check_refused(ask(service, "POST", "/infer", body, **how), status, message)


@cases(
    ("method", "path", "status", "message"),
    [
        ("POST", "/infer?top=0", 400, "top must be a whole number, at least 1"),
        ("POST", "/infer?top=" + "9" * 5000, 400, "top must be a whole number"),
        ("POST", "/infer?min_weight=nan", 400, "min_weight must be a number from 0 to 1"),
        ("POST", "/infer?certificate=perhaps", 400, "certificate must be true or false"),
        ("POST", "/infer?verbose=1", 400, "Unknown option 'verbose'"),
        ("GET", "/infer", 405, "supports POST"),
        ("POST", "/topics", 405, "supports GET"),
        ("GET", "/elsewhere", 404, "Not found: '/elsewhere'"),
        ("GET", "/infer/more", 404, "Not found"),
        ("POST", "/infer/", 404, "use /infer"),
        ("GET", "/topics/3", 404, "Unknown topic '3'; topics are numbered from 0 to 2"),
        ("GET", "/topics/-1", 404, "Unknown topic"),
        ("GET", "/topics/" + "9" * 5000, 404, "Unknown topic"),
        ("GET", "/topics/²", 404, "Unknown topic"),
    ],
)
def test_invalid_requests_are_rejected(service, method, path, status, message):
    response = ask(service, method, path, b'["a"]')
    check_refused(response, status, message)
    assert ("allow" in response.headers) == (status == 405)


def test_options_and_head_methods(service):
    assert ask(service, "OPTIONS", "/infer").headers["allow"] == "POST, OPTIONS"
    assert ask(service, "HEAD", "/topics").status == 200


def test_oversized_body_is_rejected_while_it_arrives(models):
    service, given = make_app(models[0], max_bytes=10_000), []

    def parts():
        while True:
            given.append(b"a" * 1000)
            yield given[-1]

    response = ask(service, "POST", "/infer", parts=parts(), more=True)
    check_refused(response, 413, "10,000 bytes")
    assert len(given) == 11
    output = [(b"content-length", b"10001")]
    assert ask(service, "POST", "/infer", parts=parts(), headers=output).status == 413
    assert len(given) == 11
    assert service._bodies.n_bytes == 0
    service.close()


def test_total_size_of_bodies_is_limited(models, monkeypatch):
    monkeypatch.setattr(_requests, "MOST_BODIES", 2)
    service = make_app(models[0], max_bytes=1000, timeout=0.2)

    async def several():
        half = {"parts": [b"a" * 900], "more": True}
        return await asyncio.gather(*(asked(service, "POST", "/infer", **half) for _ in range(3)))

    statuses = [response.status for response in asyncio.run(several())]
    assert sorted(statuses) == [408, 408, 503]
    assert service._bodies.n_bytes == 0
    service.close()


def test_full_queue_returns_503_with_retry_after(service, monkeypatch):
    monkeypatch.setattr(_app, "MOST_WAITING", 0)
    response = infer(service, ["a"])
    check_refused(response, 503, "Too many requests are waiting")
    assert response.headers["retry-after"] == "1"


def test_timeout_does_not_block_other_requests(models):
    service, gate = make_app(models[0], timeout=0.2), threading.Event()
    hold_up(service, gate, "oven")

    async def both():
        slow = asked(service, "POST", "/infer", b'["oven"]')
        return await asyncio.gather(slow, asked(service, "POST", "/infer", b'["court"]'))

    slow, other = asyncio.run(both())
    gate.set()
    check_refused(slow, 504, "no response within 0.2 s")
    assert other.status == 200
    service.close()


def test_inference_stops_at_the_timeout(models):
    """The call is long, and its request has timed out."""
    service, ended = make_app(models[0], timeout=0.2), []
    X, topics = np.ones((400, 500)), np.random.default_rng(0).dirichlet(np.ones(500), 64)

    def infer(texts, certified):
        try:
            return inference.infer(X, topics, method=VB(n_iter=5_000, tol=0))
        except TimeoutError:
            ended.append(texts)
            raise

    service.newest.served.infer = infer
    check_refused(ask(service, "POST", "/infer", b'["oven"]'), 504, "no response within 0.2 s")
    service._batches._pool.shutdown(wait=True)
    assert ended == [["oven"]]


def hold_up(service, gate, word):
    """Block texts with a word; requests are not batched."""
    served = service.newest.served
    real = served.infer

    def infer(texts, certified):
        if any(word in text for text in texts):
            gate.wait()
        return real(texts, certified)

    served.infer = infer
    waiting = service._batches._waiting
    service._batches._take = lambda: [waiting.popleft()] if waiting else []  # one a call


def test_internal_errors_do_not_log_texts(service, caplog):
    def fail(texts, certified):
        raise ZeroDivisionError(texts[0])

    service.newest.served.infer = fail
    with caplog.at_level(logging.ERROR, "opelda.serve"):
        response = infer(service, ["a secret"])
    check_refused(response, 500, "ZeroDivisionError")
    assert "test_refusals.py" in caplog.text
    assert "secret" not in caplog.text + response.json["error"]


def test_foreign_hosts_and_origins_are_rejected(service):
    service.site = Site("127.0.0.1", 8000)
    assert ask(service, path="/health").status == 200  # its host is localhost
    there = {"headers": [(b"sec-fetch-site", b"cross-site")]}
    check_refused(ask(service, path="/health", **there), 403, "other sites")
    old = {"headers": [(b"origin", b"https://evil.example")]}  # a browser without Sec-Fetch-Site
    check_refused(ask(service, path="/health", **old), 403, "other sites")
    own = {"headers": [(b"origin", b"http://localhost")]}
    assert ask(service, path="/health", **own).status == 200
    check_refused(ask(service, path="/health", host=b"evil.example"), 421, "Unknown host name")
