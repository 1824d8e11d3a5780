"""The page of a stream, served while it is learned."""

from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._standard_streams import note, tell
from opelda.errors import InputError


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


class Live:
    """A callback that serves a page about the stream."""

    needs_gap: ClassVar[bool] = False
    needs_score: ClassVar[bool] = True

    def __init__(self, address: str, title: str, name: str) -> None:
        # start-up time, and packages of an extra
        from opelda.report.page._live_page import LivePage
        from opelda.serve import part

        host, port = address_of(address)
        self._page = LivePage(title, name)
        pages = {
            "/": ("text/html", self._page.html),
            "/meta.json": ("application/json", self._page.json),
        }
        self._server = part("_server").PageServer(host, port, pages)

    def tell(self, show: Show) -> None:
        """Say where the page is, and whether others can see it."""
        note(show, f"a page about this stream is at {self._server.site.url}")
        if not self._server.site.is_local:
            tell("everybody who reaches this machine can read it: it is not only for this machine.")

    def begin(self, model: Any) -> None:
        """Begin to answer."""
        self._page.begin(model)
        self._server.start()

    def __call__(self, report: Any) -> None:
        """Note an update."""
        self._page(report)

    def end(self, model: Any) -> None:
        """Answer no more."""
        self._server.close()
