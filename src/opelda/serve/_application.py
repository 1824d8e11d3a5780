"""The application: routes and their responses."""

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import Scope

from opelda._validation import number, whole
from opelda.errors import OpeldaError
from opelda.serve._batching import Batches
from opelda.serve._requests import Bodies, as_whole, busy, options
from opelda.serve._served import N_WORDS, Newest, Served
from opelda.serve._site import Application, Refused

MAX_BYTES, MAX_DOCS, TIMEOUT = 1_000_000, 1_000, 10.0
MOST_WAITING = 128  # requests

logger = logging.getLogger("opelda.serve")


def app(
    model: Any,
    *,
    max_bytes: int = MAX_BYTES,
    max_docs: int = MAX_DOCS,
    timeout: float = TIMEOUT,
    max_loss: Any = None,
    n_jobs: int | None = None,
    corpus: Any = None,
) -> "App":
    """Return an ASGI application that serves a model, for any ASGI server.

    Parameters
    ----------
    model : path or fitted learner
        A model file or a stream's checkpoint folder, which is reloaded when it is replaced; or a
        model with a vocabulary, which is copied.
    max_bytes, max_docs : int
        The maximum size of a request body, and the maximum number of texts per request.
    timeout : float
        Seconds to receive a request and to respond.
    max_loss : float or PerToken, optional
        The accuracy of mixtures, as for `opelda.inference.infer`; None is the model's setting.
    n_jobs : int, optional
        Number of threads for many texts; None is all cores.
    corpus : documents, optional
        The documents of the page at ``/``, as for `opelda.report.write_report`; None: a page
        without documents.

    Returns
    -------
    starlette.applications.Starlette

    Examples
    --------
    >>> import opelda
    >>> from opelda.serve import app
    >>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
    >>> service = app(opelda.TopicModel(2, random_state=0).fit(texts))
    >>> # uvicorn.run(service), or FastAPI().mount("/topics", service)
    """
    settings = {} if max_loss is None else {"max_loss": max_loss}
    bodies = Bodies(whole("max_bytes", max_bytes), whole("max_docs", max_docs))
    seconds = number("timeout", timeout, 0.0, 1e6, above=True)
    return App(Newest(model, settings | {"n_jobs": n_jobs}), bodies, seconds, corpus)


class App(Application):
    """Answers each request with the newest model at its arrival."""

    def __init__(self, newest: Newest, bodies: Bodies, timeout: float, corpus: Any) -> None:
        self.newest, self.timeout, self.max_bytes = newest, timeout, bodies.max_bytes
        self._bodies, self._batches, self._pages = bodies, Batches(), Pages(corpus)
        routes = [
            Route("/infer", self._infer, methods=["POST"]),
            Route("/topics", self._topics),
            Route("/topics/{number}", self._topic),
            Route("/health", self._health),
            Route("/", self._page),
        ]
        super().__init__(routes, self._lifespan)

    def begin(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        """Choose the model of a request."""
        self.newest.follow()
        served = scope.setdefault("state", {})["served"] = self.newest.served
        return [(b"opelda-model", served.version.encode())]

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        self.newest.follow()
        yield
        self.close()

    def close(self) -> None:
        """End all threads when they are done."""
        self.newest.close()
        self._batches.close()
        self._pages.close()

    async def _infer(self, request: Request) -> Response:
        served, asked, body = request.state.served, options(request.scope["query_string"]), None
        try:
            async with asyncio.timeout(self.timeout):
                body = await self._bodies.read(request)
                texts = self._bodies.texts(request, body)
                if len(self._batches) >= MOST_WAITING:
                    raise busy()
                documents = await self._batches.answer(served, texts, asked)
        except TimeoutError:
            if body is None:
                why = f"Timeout: no complete body within {self.timeout:g} s; send a smaller body."
                raise Refused(HTTPStatus.REQUEST_TIMEOUT, why, connection="close") from None
            why = f"Timeout: no response within {self.timeout:g} s; send fewer texts."
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, why) from None
        finally:
            self._bodies.release(len(body or b""))
        head = b'{"version":"%b","documents":[' % served.version.encode()
        return Response(head + documents + b"]}", media_type="application/json")

    async def _topics(self, request: Request) -> Response:
        served = request.state.served
        shown = [
            topic | {name: topic[name][:N_WORDS] for name in ("words", "probabilities")}
            for topic in served.topics
        ]
        return JSONResponse({"version": served.version, "topics": shown})

    async def _topic(self, request: Request) -> Response:
        served, given = request.state.served, request.path_params["number"]
        k = as_whole(given)
        if k is None or k >= len(served.topics):
            last = len(served.topics) - 1
            why = f"Unknown topic {given[:20]!r}; topics are numbered from 0 to {last:,}."
            raise Refused(HTTPStatus.NOT_FOUND, why)
        return JSONResponse({"version": served.version} | served.topics[k])

    async def _health(self, request: Request) -> Response:
        served = request.state.served
        return JSONResponse({"ready": True, "version": served.version, "model": served.facts()})

    async def _page(self, request: Request) -> Response:
        try:
            async with asyncio.timeout(self.timeout):
                page, version = await self._pages.newest(request.state.served)
        except OpeldaError as error:  # of the corpus
            logger.error("the page cannot be made: %s", error)
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, str(error)) from None
        except TimeoutError:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The page is not ready yet; try again in a few seconds.",
                retry_after="10",
            ) from None
        return HTMLResponse(page, headers={"opelda-model": version})


class Pages:
    """Keeps one page; serves the former page until the page of a newer model is ready."""

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="opelda-page")
        # by version: a model that was replaced is not held for them
        self._shown: tuple[bytes, str] | None = None
        self._making: asyncio.Future[bytes] | None = None  # None when it is done, or has failed

    async def newest(self, served: Served) -> tuple[bytes, str]:
        """Return the page and its version; wait for the first page."""
        if self._shown is None or self._shown[1] != served.version:
            if self._making is None:
                loop = asyncio.get_running_loop()
                self._making = loop.run_in_executor(self._pool, served.page, self._corpus)
                self._making.add_done_callback(partial(self._show, served.version))
            if self._shown is None:
                await asyncio.shield(self._making)  # a timeout leaves it to the next request
        assert self._shown is not None
        return self._shown

    def _show(self, version: str, done: "asyncio.Future[bytes]") -> None:
        self._making = None
        if done.cancelled():
            return
        if (error := done.exception()) is None:
            self._shown = done.result(), version
        elif self._shown is not None:  # which is shown meanwhile; without one, requests say it
            logger.error("the page of %s cannot be made: %s.", version, type(error).__name__)

    def close(self) -> None:
        """End the thread when it is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)
