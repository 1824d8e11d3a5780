"""The ASGI application: which request is answered with what."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from opelda._validation import number, whole
from opelda.errors import OpeldaError
from opelda.serve._batching import Batches
from opelda.serve._pages import Pages
from opelda.serve._reload import Newest
from opelda.serve._requests import (
    Bodies,
    Gone,
    Receive,
    Refused,
    Scope,
    as_whole,
    busy,
    header,
    options,
)
from opelda.serve._served import N_WORDS, Served, as_json
from opelda.serve._site import HEADERS, Site

MAX_BYTES, MAX_DOCS, TIMEOUT = 1_000_000, 1_000, 10.0
MOST_WAITING = 128  # requests
HTML, JSON = "text/html; charset=utf-8", "application/json"
ALWAYS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

Send = Callable[[dict[str, Any]], Awaitable[None]]
logger = logging.getLogger("opelda.serve")


class Answer(NamedTuple):
    """A response, and the version of the model it is about."""

    body: bytes
    version: str
    kind: str = JSON
    status: HTTPStatus = HTTPStatus.OK
    headers: dict[str, str] | None = None


def app(
    model: Any,
    *,
    max_bytes: int = MAX_BYTES,
    max_docs: int = MAX_DOCS,
    timeout: float = TIMEOUT,
    max_loss: float | None = None,
    max_loss_per_token: float | None = None,
    n_jobs: int | None = None,
    corpus: Any = None,
) -> "App":
    """Return an ASGI application that answers with a model, to be run or mounted by any server.

    Parameters
    ----------
    model : path or fitted learner
        A model file or a stream's checkpoint folder, which is read again whenever it was replaced;
        or a model with a vocabulary, of which a copy is served.
    max_bytes, max_docs : int
        The largest body of a request, and the most texts.
    timeout : float
        Seconds in which a request must have been sent and answered.
    max_loss, max_loss_per_token : float, optional
        How good mixtures must be, as for `opelda.inference.infer`; by default as the model has it.
    n_jobs : int, optional
        Threads for many texts; every core if not given.
    corpus : documents, optional
        For the page at ``/``, as for `opelda.report.write_report`; without, it is about the model
        alone.

    Returns
    -------
    callable
        Of ``scope, receive, send``.

    Examples
    --------
    >>> import opelda
    >>> from opelda.serve import app
    >>> texts = ["cats chase dogs", "dogs chase cats", "bonds rise", "bonds fall"] * 20
    >>> service = app(opelda.TopicModel(2, random_state=0).fit(texts))
    >>> # uvicorn.run(service), or FastAPI().mount("/topics", service)
    """
    accuracy = {"max_loss": max_loss, "max_loss_per_token": max_loss_per_token}
    settings = {name: value for name, value in accuracy.items() if value is not None}
    bodies = Bodies(whole("max_bytes", max_bytes), whole("max_docs", max_docs))
    seconds = number("timeout", timeout, 0.0, 1e6, above=True)
    return App(Newest(model, settings | {"n_jobs": n_jobs}), bodies, seconds, corpus)


class App:
    """Answers requests, each by the model that was the newest when it came."""

    def __init__(self, newest: Newest, bodies: Bodies, timeout: float, corpus: Any) -> None:
        self.newest, self.timeout = newest, timeout
        self.site: Site | None = None  # where it is known, other names for it are refused
        self.n_answered = 0
        self._bodies, self._batches, self._pages = bodies, Batches(), Pages(corpus)
        self._routes = {
            "": ("GET", self._page),
            "infer": ("POST", self._infer),
            "topics": ("GET", self._topics),
            "health": ("GET", self._health),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, as ASGI has it."""
        self.newest.follow()
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            answer = await self._answer(scope, receive)
            if answer is not None:
                self.n_answered += 1
                await _respond(answer, send)
        else:
            await send({"type": "websocket.close"})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while (phase := (await receive())["type"]) != "lifespan.shutdown":
            await send({"type": f"{phase}.complete"})
        self.close()
        await send({"type": f"{phase}.complete"})

    def close(self) -> None:
        """End all threads when they are done."""
        self.newest.close()
        self._batches.close()
        self._pages.close()

    async def _answer(self, scope: Scope, receive: Receive) -> Answer | None:
        """Return the answer; None where nobody waits for it any more."""
        served = self.newest.served  # one for all that is in this answer
        try:
            return await self._routed(served, scope, receive)
        except Gone:
            return None
        except Refused as refused:
            body = as_json({"error": str(refused)})
            return Answer(body, served.version, JSON, refused.status, refused.headers)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = type(error).__name__  # without its message, which may hold a text
            logger.error("unexpected error: %s at %s:%s.", what, place.filename, place.lineno)
            body = as_json({"error": f"This went wrong here: {what}; the log says where."})
            return Answer(body, served.version, JSON, HTTPStatus.INTERNAL_SERVER_ERROR)

    async def _routed(self, served: Served, scope: Scope, receive: Receive) -> Answer:
        if self.site is not None:
            names = b"host", b"sec-fetch-site", b"origin"
            refusal = self.site.refusal(*(header(scope, name) for name in names))
            if refusal is not None:
                raise Refused(*refusal)
        # where it is mounted, the path begins with that of the mount
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        first, _, rest = path.removeprefix("/").partition("/")
        if first not in self._routes or (rest and first != "topics"):
            raise Refused(
                HTTPStatus.NOT_FOUND,
                f"There is nothing at {path[:60]!r}; POST texts to /infer, GET /topics, "
                "/topics/NUMBER or /health, or / for the page.",
            )
        method, answer = self._routes[first]
        allowed = "GET, HEAD, OPTIONS" if method == "GET" else "POST, OPTIONS"
        if scope["method"] == "OPTIONS":
            return Answer(b"", served.version, headers={"allow": allowed})
        if scope["method"] not in allowed.split(", "):
            raise Refused(
                HTTPStatus.METHOD_NOT_ALLOWED,
                f"/{first} takes {method}, not {scope['method'][:20]}.",
                allow=allowed,
            )
        return await answer(served, rest, scope, receive)

    async def _infer(self, served: Served, rest: str, scope: Scope, receive: Receive) -> Answer:
        asked, body = options(scope["query_string"]), None
        try:
            async with asyncio.timeout(self.timeout):
                body = await self._bodies.read(scope, receive)
                texts = self._bodies.texts(scope, body)
                if len(self._batches) >= MOST_WAITING:
                    raise busy()
                documents = await self._batches.answer(served, texts, asked)
        except TimeoutError:
            if body is None:
                why = f"The body was not sent in {self.timeout:g} s; send it faster."
                raise Refused(HTTPStatus.REQUEST_TIMEOUT, why, connection="close") from None
            why = f"The answer took more than {self.timeout:g} s; send fewer texts at a time."
            raise Refused(HTTPStatus.GATEWAY_TIMEOUT, why) from None
        finally:
            self._bodies.release(len(body or b""))
        head = b'{"version":"%b","documents":[' % served.version.encode()
        return Answer(head + documents + b"]}", served.version)

    async def _topics(self, served: Served, rest: str, scope: Scope, receive: Receive) -> Answer:
        if not rest:
            shown = [
                topic | {name: topic[name][:N_WORDS] for name in ("words", "probabilities")}
                for topic in served.topics
            ]
            return Answer(as_json({"version": served.version, "topics": shown}), served.version)
        k = as_whole(rest)
        if k is None or k >= len(served.topics):
            last = len(served.topics) - 1
            why = f"There is no topic {rest[:20]!r}; topics have the numbers 0 to {last:,}."
            raise Refused(HTTPStatus.NOT_FOUND, why)
        topic = {"version": served.version} | served.topics[k]
        return Answer(as_json(topic), served.version)

    async def _health(self, served: Served, rest: str, scope: Scope, receive: Receive) -> Answer:
        facts = {"ready": True, "version": served.version, "model": served.facts()}
        return Answer(as_json(facts), served.version)

    async def _page(self, served: Served, rest: str, scope: Scope, receive: Receive) -> Answer:
        try:
            async with asyncio.timeout(self.timeout):
                return Answer(*await self._pages.newest(served), HTML)
        except OpeldaError as error:  # of the corpus
            logger.error("the page cannot be made: %s", error)
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, str(error)) from None
        except TimeoutError:
            raise Refused(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "The page is being made; look again in a while.",
                retry_after="10",
            ) from None


async def _respond(answer: Answer, send: Send) -> None:
    headers = [
        *ALWAYS,
        (b"content-type", answer.kind.encode()),
        (b"content-length", str(len(answer.body)).encode()),
        (b"opelda-model", answer.version.encode()),
        *((name.encode(), value.encode()) for name, value in (answer.headers or {}).items()),
    ]
    start = {"type": "http.response.start", "status": answer.status.value, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": answer.body})
