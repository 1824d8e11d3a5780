"""A page served to browsers of this machine: read only, and to nobody's scripts but its own."""

import socket
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore, Thread, Timer
from typing import Any, ClassVar

from opelda.errors import InputError
from opelda.serve._site import HEADERS, Site, bound

MOST_AT_ONCE = 16
PATIENCE, TO_ANSWER = 10.0, 60.0  # seconds for a request to be sent, and for its answer

Answer = Callable[[], str]


def address_of(given: str) -> tuple[str, int]:
    """Return the host and the port of what ``--serve`` was given.

    >>> address_of("127.0.0.1:8000"), address_of("8000"), address_of("[::1]:0")
    (('127.0.0.1', 8000), ('127.0.0.1', 8000), ('::1', 0))
    """
    host, _, port = given.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"must be HOST:PORT, such as 127.0.0.1:8000, not {given!r}.", "serve")
    return host, int(port)


class Server:
    """Answers GET and HEAD of a few paths, in threads of its own, until it is closed."""

    def __init__(self, given: str, answers: dict[str, tuple[str, Answer]]) -> None:
        made, self.site = bound(*address_of(given), ("serve", "serve"))

        class Handler(_Handler):
            pass

        class Listener(_Server):
            address_family = made.family

        self._server = Listener(made.getsockname(), Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = made
        Handler.answers, Handler.site = answers, self.site
        Handler.half_open = self._server.half_open

    def start(self) -> None:
        """Begin to answer."""
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, *args: Any, **options: Any) -> None:
        self._slots = BoundedSemaphore(MOST_AT_ONCE)
        self.half_open: list[Any] = []  # handlers whose request is not complete, the oldest first
        super().__init__(*args, **options)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False):
            for oldest in self.half_open[:1]:
                oldest.hang_up()
            if not self.half_open or not self._slots.acquire(timeout=1):
                self.shutdown_request(request)
                return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._slots.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a reader that has gone."""


class _Handler(BaseHTTPRequestHandler):
    answers: ClassVar[dict[str, tuple[str, Answer]]] = {}
    site: ClassVar[Site]
    half_open: ClassVar[list["_Handler"]]
    timeout = PATIENCE  # of each read and write; all together have `_limit`
    server_version, sys_version = "opelda", ""

    def setup(self) -> None:
        """Begin with a request."""
        super().setup()
        self.half_open.append(self)
        self._limit(PATIENCE)

    def finish(self) -> None:
        """End with it."""
        self._clock.cancel()
        self._complete()
        super().finish()

    def _complete(self) -> None:
        if self in self.half_open:
            self.half_open.remove(self)

    def _limit(self, seconds: float) -> None:
        """Hang up after so long, whoever keeps one waiting by a byte now and then."""
        self._clock = Timer(seconds, self.hang_up)
        self._clock.daemon = True
        self._clock.start()

    def hang_up(self) -> None:
        """End the connection."""
        with suppress(OSError):  # the other side may have done so
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        """Answer with a page, or with a sentence."""
        self._complete()
        self._clock.cancel()
        self._limit(TO_ANSWER)
        names = "Host", "Sec-Fetch-Site", "Origin"
        refusal = self.site.refusal(*(self.headers.get(name, "") for name in names))
        if refusal is not None:
            self._refuse(*refusal)
        elif (answer := self.answers.get(self.path.partition("?")[0])) is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is nothing here; the page is at /.")
        else:
            try:
                data = answer[1]().encode()
            except Exception as error:
                self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, f"This went wrong: {error}")
            else:
                self._send(HTTPStatus.OK, answer[0], data)

    def do_HEAD(self) -> None:
        """Answer as to GET, without the page."""
        self.do_GET()

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{why}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal for the stream."""
