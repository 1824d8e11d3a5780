"""An address that a server has, whom it answers there, and the headers of its answers."""

import ipaddress
import socket
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus

from opelda.errors import InputError

# Beside the page's own policy: nobody frames it, keeps it, or reads it from elsewhere.
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Site:
    """The host and the port that a server was bound to."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address for browsers."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    @property
    def is_local(self) -> bool:
        """Whether this machine alone can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @lru_cache(maxsize=256)  # noqa: B019  # there is one site in a process
    def refusal(self, host: str, site: str, origin: str = "") -> tuple[HTTPStatus, str] | None:
        """Return why a request with these Host, Sec-Fetch-Site and Origin is not answered.

        >>> site = Site("127.0.0.1", 8000)
        >>> site.refusal("localhost:8000", ""), site.refusal("evil.example", "")[0].value
        (None, 421)
        """
        if not self._is_called(host):
            why = "This server has another name; ask for it by its address."
            return HTTPStatus.MISDIRECTED_REQUEST, why
        own = origin in ("", f"http://{host}")  # browsers before 2023 send nothing else
        if site not in ("none", "same-origin", "") or not (site or own):
            return HTTPStatus.FORBIDDEN, "Other pages may not read this one."
        return None

    def _is_called(self, header: str) -> bool:
        """Whether a Host header names this server: a name that was bound to it later does not."""
        host, port = host_of(header)
        if port not in (None, self.port):
            return False
        # addresses are never bound to another machine's name, so that they need not be listed
        if host in ("localhost", self.host.lower()):
            return True
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True


def bound(
    host: str, port: int, parameters: tuple[str, str] = ("host", "port")
) -> tuple[socket.socket, Site]:
    """Return a socket at an address, or say why that cannot be had; port 0 is any that is free."""
    try:
        family, kind, number, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, number)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen()  # or another could be bound to it, too
        except BaseException:
            made.close()
            raise
    except (socket.gaierror, UnicodeError):
        raise InputError(
            f"names a host that is not known here, {host!r}; 127.0.0.1 is this machine.",
            parameters[0],
        ) from None
    except (OSError, OverflowError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(
            f"cannot listen at {host}:{port}: {why}; choose another port.", parameters[1]
        ) from None
    return made, Site(host, int(made.getsockname()[1]))


def host_of(header: str) -> tuple[str, int | None]:
    """Return the name and the port of a Host header.

    >>> host_of("localhost:80"), host_of("[::1]:80"), host_of("a.example")
    (('localhost', 80), ('::1', 80), ('a.example', None))
    """
    text = header.strip().lower()
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.partition(":")
    return host, int(port) if port.isascii() and port.isdecimal() else None
