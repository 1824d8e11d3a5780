"""The page of a stream, served while it is learned."""

from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._server import Server
from opelda.cli._standard_streams import note, tell


class Live:
    """A callback that serves a page about the stream."""

    needs_gap: ClassVar[bool] = False
    needs_score: ClassVar[bool] = True

    def __init__(self, address: str, title: str, name: str) -> None:
        from opelda.report.page import LivePage

        self._page = LivePage(title, name)
        self._server = Server(
            address,
            {
                "/": ("text/html; charset=utf-8", self._page.html),
                "/meta.json": ("application/json; charset=utf-8", self._page.json),
            },
        )

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
