"""The server: limits of time, size and number of connections, and shutdown."""

import asyncio
import contextlib
import json
import socket
import threading
from contextlib import closing
from http.client import HTTPConnection

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

import opelda
from benchmarks.serve.__main__ import Answers, requests
from benchmarks.serve.client import Tally, load
from opelda.serve import _server
from opelda.serve import app as make_app

from .conftest import make_texts, until


class Running:
    """A server in its own thread."""

    def __init__(self, service):
        self.listener, service.site = _server.bound("127.0.0.1", 0)
        self.service, self.port = service, service.site.port
        self.server = _server.Server(service, self.listener, service.timeout)
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()

    def stop(self):
        self.server.stop()
        self.thread.join()

    def connect(self, data=b""):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        made.sendall(data)
        return made

    def ask(self, method, path, body=None):
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())


@pytest.fixture
def run():
    """Run services until the end of the test."""
    begun = []

    def begin(service):
        begun.append(Running(service))
        return begun[-1]

    yield begin
    for each in begun:
        each.stop()


def everything(connection):
    """Return the bytes that a server sends before it disconnects."""
    with closing(connection):
        found = b""
        try:
            while part := connection.recv(65536):
                found += part
        except ConnectionError:
            pass
        return found


def test_replacing_the_model_under_load_loses_no_request(run, models, tmp_path, quick):
    """A short version of benchmarks/serve."""
    files = [tmp_path / f"{k}.opelda" for k in range(3)]
    for model, path in zip(models, files, strict=True):
        opelda.save(model, path)
    served = tmp_path / "served.opelda"
    opelda.save(models[0], served)
    running = run(make_app(served, n_jobs=1))
    texts, tally = make_texts(60, seed=4), Tally()
    answers = Answers(files, texts)

    def given():
        for number, each in enumerate(requests(texts, 400, bad=True)):
            if number in (100, 250):
                former = running.service.newest.served
                opelda.save(models[1 + number // 250], served)
            if number in (200, 350):  # most requests overlapped a replacement
                until(lambda former=former: running.service.newest.served is not former)
            yield each

    asyncio.run(load(running.port, 8, given(), answers, tally))
    assert tally.first_wrong == ""
    assert (tally.n_answered, tally.n_lost, tally.n_bad) == (400, 0, 10)
    assert len(tally.versions) == 3


def test_shutdown_answers_running_requests(run, models):
    service, begun, gate = make_app(models[0]), threading.Event(), threading.Event()
    real = service.newest.served.infer
    service.newest.served.infer = lambda *how: begun.set() or (gate.wait() and real(*how))
    running, found = run(service), []
    asker = threading.Thread(
        target=lambda: found.append(running.ask("POST", "/infer", '["court judge"]'))
    )
    asker.start()
    begun.wait()
    running.server.stop()
    running.thread.join(0.5)
    assert running.thread.is_alive()
    gate.set()
    asker.join()
    running.thread.join()
    assert found[0][0] == 200
    with pytest.raises(ConnectionError):
        socket.create_connection(("127.0.0.1", running.port))


def test_slow_clients_are_disconnected(run, models):
    running = run(make_app(models[0], timeout=0.3))
    silent = running.connect()
    slow = running.connect(b"POST /infer HT")
    head = b"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
    half = running.connect(head + b"Content-Length: 9\r\n\r\nhalf")
    # unread answers fill the buffers of both sides
    deaf = socket.create_connection(("127.0.0.1", running.port))
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    deaf.settimeout(30)
    deaf.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 40)
    assert everything(silent) == everything(slow) == b""
    assert b"408" in everything(half).splitlines()[0]
    while running.server.server_state.connections:
        threading.Event().wait(0.05)
    deaf.close()
    assert running.ask("GET", "/health")[0] == 200


def test_malformed_requests_are_rejected(run, models):
    running = run(make_app(models[0]))
    long = b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: %b\r\n" % (b"a" * 1000) * 70
    whole = long + b"\r\n"  # in one piece
    head, _, body = everything(running.connect(whole)).partition(b"\r\n\r\n")
    assert b"431" in head.splitlines()[0]
    assert json.loads(body)["error"] == "The request headers exceed 65,536 bytes."
    head, _, body = everything(running.connect(b"\x16\x03\x01 no HTTP\r\n\r\n")).partition(
        b"\r\n\r\n"
    )
    assert b"400" in head.splitlines()[0]
    assert body == b"Invalid HTTP request received."


def test_endless_heads_and_bodies_are_rejected(run, models):
    running = run(make_app(models[0], max_bytes=10_000))
    length = b"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n"
    for start in (b"GET / HTTP/1.1\r\nX: ", b"GET /health HTTP/1.1\r\nHost: a\r\n\r\nGET ", length):
        connection, n_sent = running.connect(start), 0
        with closing(connection), contextlib.suppress(ConnectionError):
            while n_sent < 100_000_000:
                n_sent += connection.send(b"a" * 100_000)
        assert n_sent < 20_000_000  # the buffers of the system


def test_pipelined_requests_are_all_answered(run, models):
    running = run(make_app(models[0]))
    request = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: %b\r\n" % (b"a" * 1000)
    last = b"Connection: close\r\n\r\n"
    connection = running.connect((request + b"\r\n") * 80 + request)  # the last comes in two parts
    connection.sendall(last)
    assert everything(connection).count(b"HTTP/1.1 200 OK") == 81


def test_too_many_connections_are_rejected(run, models, monkeypatch):
    monkeypatch.setattr(_server.Listener, "most_connections", 2)
    running = run(make_app(models[0]))
    head = b"POST /infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"
    two = [running.connect(head) for _ in range(2)]
    while sum(each.begun for each in running.listener.open.values()) < 2:
        threading.Event().wait(0.01)
    refused = everything(running.connect())
    assert b"503 Service Unavailable" in refused
    assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"].endswith(".")
    two[0].close()
    while len(running.server.server_state.connections) > 1:
        threading.Event().wait(0.01)
    assert running.ask("GET", "/health")[0] == 200
    two[1].close()
