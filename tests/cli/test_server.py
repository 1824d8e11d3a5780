"""The server of a page: answers, rejections and limits."""

import socket
import threading
from contextlib import closing
from http.client import HTTPConnection

import pytest

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from opelda.cli._callbacks import address_of
from opelda.errors import InputError
from opelda.serve._server import Listener, PageServer
from opelda.serve._site import HEADERS
from tests.cases import cases

MOST = 16  # maximum number of connections
HOSTILE = "<script>alert(1)</script> \u202e ünïcode"


@pytest.fixture
def server():
    made = PageServer("127.0.0.1", 0, {"/": ("text/html", lambda: HOSTILE)})
    made.start()
    yield made
    made.close()


def asked(server, path="/", method="GET", **headers):
    headers.setdefault("Host", f"127.0.0.1:{server.site.port}")
    with closing(HTTPConnection("127.0.0.1", server.site.port, timeout=10)) as connection:
        connection.putrequest(method, path, skip_host=True)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode()


def test_page_has_strict_headers(server):
    status, headers, text = asked(server)
    assert (status, text) == (200, HOSTILE)
    assert headers.items() >= {k.decode(): v.decode() for k, v in HEADERS}.items()
    assert not any(name.startswith("access-control") for name in headers)
    assert "Python" not in headers.get("server", "")
    status, headers, text = asked(server, method="HEAD")
    assert (status, text) == (200, "")
    assert int(headers["content-length"]) == len(HOSTILE.encode())


@cases("host", ["evil.example", "127.0.0.1.evil.example", "", "localhost:1", "[", "a@b"])
def test_foreign_host_headers_are_rejected(server, host):
    port = "" if ":" in host or not host else f":{server.site.port}"
    status, _, text = asked(server, Host=host + port)
    assert status == 421
    assert HOSTILE not in text


@cases("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_local_host_headers_are_accepted(server, host):
    assert asked(server, Host=f"{host}:{server.site.port}")[0] == 200


@cases("site", ["cross-site", "same-site"])
def test_cross_site_requests_are_rejected(server, site):
    assert asked(server, Sec_Fetch_Site=site)[0] == 403
    assert asked(server, Sec_Fetch_Site="same-origin")[0] == 200


@cases("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_writing_methods_are_rejected(server, method):
    assert asked(server, method=method)[0] == (200 if method == "OPTIONS" else 405)


@cases("path", ["/../etc/passwd", "/meta", "/%00", "/index.html"])
def test_unknown_paths_are_404(server, path):
    assert asked(server, path)[0] == 404
    assert asked(server, "/?x=1")[0] == 200


def test_idle_connections_do_not_block_requests(server, monkeypatch):
    monkeypatch.setattr(Listener, "most_connections", MOST)
    waiting = [socket.create_connection(("127.0.0.1", server.site.port)) for _ in range(MOST * 2)]
    for one in waiting:
        one.close()
    done = []
    threads = [threading.Thread(target=lambda: done.append(asked(server)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [200] * 4


def test_incomplete_requests_do_not_block_requests(server, monkeypatch):
    monkeypatch.setattr(Listener, "most_connections", MOST)
    half = [socket.create_connection(("127.0.0.1", server.site.port)) for _ in range(MOST)]
    for one in half:
        one.sendall(b"GET / HTTP/1.1\r\n")
    while len(server._server._listener.open) < MOST:
        threading.Event().wait(0.01)
    assert asked(server)[0] == 200
    for one in half:
        one.close()


def test_slow_clients_are_disconnected(monkeypatch):
    monkeypatch.setattr(Listener, "patience", 0.5)
    server = PageServer("127.0.0.1", 0, {"/": ("text/plain", lambda: "page")})
    server.start()
    slow = [socket.create_connection(("127.0.0.1", server.site.port)) for _ in range(MOST)]
    for one in slow:
        one.settimeout(0.1)
    try:
        waiting, turns = slow, 0
        while waiting and turns < 60:  # 1.5 s per turn, far longer than the patience
            waiting, turns = [one for one in waiting if not is_ended(one)], turns + 1
        assert not waiting
        assert asked(server)[0] == 200
    finally:
        for one in slow:
            one.close()
        server.close()


def is_ended(connection):
    try:
        connection.sendall(b"G")
        return connection.recv(100) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


@cases("host", ["a..b", "x" * 64, "\udcff", "no.such.host.invalid"])
def test_unknown_hosts_are_rejected(host):
    with pytest.raises(InputError, match="has the unknown host"):
        PageServer(host, 80, {})


def test_unusable_addresses_are_rejected(server):
    with pytest.raises(InputError, match="cannot listen at"):
        PageServer("127.0.0.1", server.site.port, {})
    for given in ("8000x", "127.0.0.1:", "127.0.0.1:99999", "a:b:c", "\u0661"):
        with pytest.raises(InputError, match="HOST:PORT"):
            address_of(given)
