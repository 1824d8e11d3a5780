"""The server: uvicorn on a socket whose connections are bounded in number and in time."""

import asyncio
import logging
import math
import socket
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Thread
from typing import Any

import httptools  # noqa: F401  # uvicorn would look for it when it runs
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from opelda.errors import InputError
from opelda.serve._site import LONGEST_HEAD, Application, Site

KEEP_ALIVE = 30  # seconds between two requests of a connection
BUSY = b'{"error":"Too many are connected; come back soon."}'
BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%b" % (len(BUSY), BUSY)
)


class Connection(socket.socket):
    """A connection with a timeout for each step, and a limit of bytes until the next response.

    uvicorn with httptools bounds neither the length of a head nor the time to send it.
    """

    deadline, n_allowed = math.inf, 0
    begun = False  # whether the head of a request has come

    def allow(self, seconds: float, n_bytes: int = 0) -> None:
        """Start a step: set its deadline, and how many bytes may come beside the next head."""
        self.deadline = time.monotonic() + seconds
        # heads up to twice the limit get 431; the rest of a refused body may still be on its way
        self.n_allowed = max(self.n_allowed, n_bytes + 2 * LONGEST_HEAD)

    def recv(self, bufsize: int, flags: int = 0) -> bytes:
        """Receive some bytes; beyond the limit, end the connection."""
        # small parts: uvicorn makes an object of each pipelined request in a part
        data = super().recv(min(bufsize, 16_384), flags)
        self.n_allowed -= len(data)
        return data if self.n_allowed >= 0 else b""

    def end(self) -> None:
        """End both directions."""
        with suppress(OSError):  # the client may have closed it
            self.shutdown(socket.SHUT_RDWR)


class Listener(socket.socket):
    """A listening socket whose connections are bounded in number and have deadlines."""

    patience = 10.0  # seconds for a step: to send a head, to take an answer
    most_connections = 512

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.open: dict[Any, Connection] = {}  # by client, the oldest first

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; beyond the limit, close the oldest that has sent no whole head."""
        made, address = super().accept()
        made = Connection(fileno=made.detach())
        if len(self.open) >= self.most_connections:
            self.hang_up()
        if len(self.open) >= self.most_connections:
            silent = next((key for key, each in self.open.items() if not each.begun), None)
            if silent is None:
                with made, suppress(OSError):
                    made.settimeout(0)
                    made.send(BUSY)
                raise ConnectionAbortedError  # asyncio accepts the next connection
            self.open.pop(silent).end()
        made.allow(self.patience)
        self.open[address[:2]] = made
        return made, address

    def hang_up(self) -> None:
        """Forget closed connections, and end those whose deadline has passed."""
        now = time.monotonic()
        for client, each in list(self.open.items()):
            if each.fileno() < 0:
                del self.open[client]
            elif each.deadline < now:
                each.end()


class Server(uvicorn.Server):
    """Runs an application on a listener until `stop`, then completes the accepted requests.

    Each step of a connection has a timeout: `patience` seconds to send a header or to read a
    response, and twice as long for a body with its response. Connections are closed at timeout.
    """

    def __init__(
        self, app: Application, listener: Listener, patience: float, grace: float | None = None
    ) -> None:
        self._app, self._listener = app, listener
        listener.patience = patience
        super().__init__(
            uvicorn.Config(
                self._timed,
                interface="asgi3",
                loop="asyncio",  # accepts by the listener's own method
                http="httptools",
                ws="none",
                lifespan="on",
                log_config=None,
                log_level="critical",  # the application logs
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE,
                timeout_graceful_shutdown=math.ceil(patience if grace is None else grace),
                timeout_notify=0,  # every second
                callback_notify=self._hang_up,
            )
        )

    def run(self, sockets: Any = None) -> None:
        """Serve until `stop` is called, by a signal or by another thread."""
        super().run(sockets=[self._listener])

    def stop(self) -> None:
        """Stop accepting requests and complete accepted requests; a second call stops at once."""
        self.force_exit = self.should_exit
        self.should_exit = True

    def capture_signals(self) -> AbstractContextManager[None]:  # type: ignore[override]
        """Leave signals to the caller of `run`."""
        return nullcontext()

    async def _timed(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            asyncio.get_running_loop().set_exception_handler(_log)
        # a closed connection may be forgotten by now
        known = self._listener.open.get(tuple(scope.get("client") or ()))
        if known is not None:
            known.begun = True
            known.allow(2 * self._listener.patience, self._app.max_bytes)
        await self._app(scope, receive, send)
        if known is not None:
            known.allow(self._listener.patience + KEEP_ALIVE)

    async def _hang_up(self) -> None:
        self._listener.hang_up()


def _log(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error of asyncio in one line, without a traceback."""
    what = type(context.get("exception")).__name__
    logging.getLogger("opelda.serve").debug("%s %s", context.get("message"), what)


class PageServer:
    """Serves GET requests by functions in its own thread, until it is closed."""

    def __init__(self, host: str, port: int, pages: dict[str, tuple[str, Callable[[], str]]]):
        listener, self.site = bound(host, port, ("serve", "serve"))
        routes = [Route(path, _answering(*page)) for path, page in pages.items()]
        app = Application(routes)
        app.site = self.site
        self._server = Server(app, listener, listener.patience, grace=1)
        self._thread = Thread(target=self._server.run, daemon=True)

    def start(self) -> None:
        """Start the server."""
        self._thread.start()

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()
        self._thread.join()


def _answering(kind: str, text: Callable[[], str]) -> Callable[[Request], Response]:
    # no coroutine: Starlette calls it in another thread, for texts can take long
    return lambda request: Response(text(), media_type=kind)


def bound(
    host: str, port: int, parameters: tuple[str, str] = ("host", "port")
) -> tuple[Listener, Site]:
    """Return a socket bound to an address; port 0 is any free port."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = Listener(family, kind, number)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen()  # before another process binds the address, too
        except BaseException:
            made.close()
            raise
    except (socket.gaierror, UnicodeError):
        raise InputError(
            f"has the unknown host {host!r}; use 127.0.0.1 for this machine.",
            parameters[0],
        ) from None
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen at {host}:{port}: {why}; choose another port.", parameters[1]
        ) from None
    return made, Site(host, int(made.getsockname()[1]))
