"""Shared parts of applications: allowed hosts, strict headers, errors as sentences."""

import ipaddress
import logging
import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Lifespan, Message, Receive, Scope, Send

LONGEST_HEAD = 65_536  # bytes of a request before its body

# Beside the page's own policy: nobody frames it, keeps it, or reads it from elsewhere.
HEADERS = [
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
]

HOST = re.compile(r"(?:\[(?P<bracketed>[^]]+)\]|(?P<plain>[^:]*))(?::(?P<port>[0-9]{0,5}))?")

logger = logging.getLogger("opelda.serve")


class Refused(Exception):  # noqa: N818  # an answer, not an error of the server
    """A rejected request, with a sentence on the reason and the remedy."""

    def __init__(self, status: HTTPStatus, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


@dataclass(frozen=True)
class Site:
    """The host and port of a server."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address for browsers."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host == "localhost" or _is_address(self.host, loopback=True)

    @lru_cache(maxsize=256)  # noqa: B019  # a process has one site
    def refusal(self, host: str, site: str, origin: str = "") -> tuple[HTTPStatus, str] | None:
        """Return why a request with these Host, Sec-Fetch-Site and Origin is refused.

        >>> site = Site("127.0.0.1", 8000)
        >>> site.refusal("localhost:8000", ""), site.refusal("evil.example", "")[0].value
        (None, 421)
        """
        if not self._is_called(host):
            why = "Unknown host name; use the address of the server."
            return HTTPStatus.MISDIRECTED_REQUEST, why
        own = origin in ("", f"http://{host}")  # browsers before 2023 send no Sec-Fetch-Site
        if site not in ("none", "same-origin", "") or not (site or own):
            return HTTPStatus.FORBIDDEN, "Requests from other sites are forbidden."
        return None

    def _is_called(self, header: str) -> bool:
        """Whether a Host header names this server: a domain that was bound to it later does not."""
        found = HOST.fullmatch(header.strip().lower())
        if found is None or int(found["port"] or self.port) != self.port:
            return False
        host = found["bracketed"] or found["plain"]
        # DNS rebinding needs a domain, so any address is accepted
        return host in ("localhost", self.host.lower()) or _is_address(host)


class Application(Starlette):
    """A Starlette application whose refusals are JSON objects with one sentence."""

    site: Site | None = None  # where it is known, requests to other names are refused
    n_answered = 0
    max_bytes = 0  # of a body

    def __init__(self, routes: Sequence[Route], lifespan: Lifespan[Any] | None = None) -> None:
        super().__init__(
            routes=routes,
            middleware=[Middleware(_Guard, owner=self)],
            exception_handlers={HTTPException: self._not_routed, Refused: _refused},
            lifespan=lifespan,
        )
        self.router.redirect_slashes = False  # behind a proxy, to an address that is not public

    def begin(self, scope: Scope) -> Sequence[tuple[bytes, bytes]]:
        """Prepare a request; return the headers of its response."""
        return ()

    async def _not_routed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        path, headers = request.scope["path"], dict(error.headers or {})
        if error.status_code != HTTPStatus.METHOD_NOT_ALLOWED:
            paths = ", ".join(route.path for route in self.routes if isinstance(route, Route))
            why = f"Not found: {path[:60]!r}; use {paths}."
        else:
            methods = sorted(headers["Allow"].split(", "))
            headers["Allow"] = ", ".join([*methods, "OPTIONS"])
            if request.method == "OPTIONS":
                return Response(headers=headers)
            why = f"{path[:60]} supports {methods[0]}, not {request.method[:20]}."
        return JSONResponse({"error": why}, error.status_code, headers)


class _Guard:
    """Middleware that refuses other sites and long heads, adds headers, and answers failures."""

    def __init__(self, app: ASGIApp, owner: Application) -> None:
        self.app, self.owner = app, owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        own = self.owner.begin(scope)
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self.owner.n_answered += 1
                given = {name for name, _ in message["headers"]}
                message["headers"] += [each for each in (*HEADERS, *own) if each[0] not in given]
            await send(message)

        request = Request(scope, receive)
        try:
            refused = self._refusal(request)
            if refused is not None:
                await (await _refused(request, refused))(scope, receive, answer)
            else:
                await self.app(scope, receive, answer)
        except ClientDisconnect:
            pass
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = type(error).__name__  # without its message, which may hold a text
            logger.error("unexpected error: %s at %s:%s.", what, place.filename, place.lineno)
            if started:
                raise
            why = f"Internal error: {what}; see the server log."
            failed = JSONResponse({"error": why}, HTTPStatus.INTERNAL_SERVER_ERROR)
            await failed(scope, receive, answer)

    def _refusal(self, request: Request) -> Refused | None:
        length = len(request.scope.get("raw_path", b"")) + len(request.scope["query_string"])
        if length + sum(len(k) + len(v) + 4 for k, v in request.scope["headers"]) > LONGEST_HEAD:
            why = f"The request headers exceed {LONGEST_HEAD:,} bytes."
            return Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, why, connection="close")
        if self.owner.site is None:
            return None
        names = "host", "sec-fetch-site", "origin"
        found = self.owner.site.refusal(*(request.headers.get(name, "") for name in names))
        return None if found is None else Refused(*found)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return JSONResponse({"error": str(error)}, error.status, error.headers)


def _is_address(host: str, *, loopback: bool = False) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback or not loopback
    except ValueError:
        return False
