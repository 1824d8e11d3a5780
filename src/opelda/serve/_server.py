"""The application under uvicorn: connections that are bounded, and an end that loses nobody."""

import asyncio
import math
import socket
from contextlib import AbstractContextManager, nullcontext
from http import HTTPStatus
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from opelda.serve._application import App
from opelda.serve._served import as_json

MOST_CONNECTIONS = 512
LONGEST_HEAD = 65_536  # bytes of a request before its body
KEEP_ALIVE = 30  # seconds between two requests of a connection


class Connection(HttpToolsProtocol):
    """A connection with what uvicorn leaves out: time for every step, and the length of heads.

    Each step has a deadline: to send a head, to send a body and be answered, to take the answer.
    Who misses it is hung up on, whatever is left to be sent.
    """

    patience = 10.0  # seconds for a step
    deadline = 0.0
    _head: int | None = 0  # bytes of a head so far, by its parts; None within a request
    _waiting = 0  # bytes in pieces that complete no part of a head

    def connection_made(self, transport: Any) -> None:
        """Begin, if there is room."""
        super().connection_made(transport)
        self._allow(1)
        if len(self.connections) > MOST_CONNECTIONS:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "Too many are connected; come back soon.")

    def data_received(self, data: bytes) -> None:
        """Take some bytes of a request."""
        if self.transport.is_closing():
            return
        self._waiting += len(data)
        super().data_received(data)
        if self._head is not None and self._head + self._waiting > LONGEST_HEAD:
            self._refuse_head()

    def on_message_begin(self) -> None:
        """Expect a head."""
        super().on_message_begin()
        self._head = self._waiting = 0
        self._allow(1)

    def on_headers_complete(self) -> None:
        """Expect a body, and an answer to be taken."""
        self._head, self._waiting = None, 0
        self._allow(2)
        super().on_headers_complete()

    def on_url(self, url: bytes) -> None:
        """Take a part of the address."""
        self._take_part(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._take_part(len(name) + len(value) + 4)
        super().on_header(name, value)

    def _take_part(self, length: int) -> None:
        self._head, self._waiting = (self._head or 0) + length, 0
        if self._head > LONGEST_HEAD:
            raise ValueError  # ends the parsing, and `send_400_response` follows

    def on_response_complete(self) -> None:
        """Expect the answer to be taken, and what is left of the body."""
        super().on_response_complete()
        self._allow(1, 0 if self.transport.get_write_buffer_size() else KEEP_ALIVE)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, or too much of it."""
        if (self._head or 0) > LONGEST_HEAD:
            self._refuse_head()
        else:
            self._refuse(HTTPStatus.BAD_REQUEST, "This is not HTTP.")

    def _refuse_head(self) -> None:
        why = f"The head has more than {LONGEST_HEAD:,} bytes."
        self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why)

    def _allow(self, steps: int, more: float = 0.0) -> None:
        self.deadline = self.loop.time() + steps * self.patience + more

    def _refuse(self, status: HTTPStatus, sentence: str) -> None:
        body = as_json({"error": sentence})
        head = (
            f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()


class Server(uvicorn.Server):
    """Runs an application on a socket until it is stopped; then answers what it was asked."""

    def __init__(self, app: App, listener: socket.socket) -> None:
        class Limited(Connection):
            patience = app.timeout

        self._listener = listener
        super().__init__(
            uvicorn.Config(
                app,
                http=Limited,
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="critical",  # the application says what there is to be said
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=math.ceil(app.timeout),
                timeout_notify=0,  # which is every second
                callback_notify=self._hang_up,
            )
        )

    def run(self, sockets: Any = None) -> None:
        """Answer until `stop` is called, by a signal or another thread."""
        super().run(sockets=[self._listener])

    def stop(self) -> None:
        """Take no more requests, and end when those that came are answered; now, if said again."""
        self.force_exit = self.should_exit
        self.should_exit = True

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to whoever runs this."""
        return nullcontext()

    async def _hang_up(self) -> None:
        now = asyncio.get_running_loop().time()
        for each in list(self.server_state.connections):
            if isinstance(each, Connection) and each.deadline < now:
                each.transport.abort()
