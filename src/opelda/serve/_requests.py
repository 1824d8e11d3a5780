"""Requests: their bodies within limits, and the texts and options in them."""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from opelda._validation import number, whole
from opelda.errors import InputError
from opelda.serve._served import Asked
from opelda.serve._site import Refused

JSON, TEXT = "application/json", "text/plain"
EXAMPLE = '{"texts": ["first text", "second text"]}'
MOST_BODIES = 64  # of the largest size, held at the same time
TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclass
class Bodies:
    """Limits of request bodies, and the bytes of all current requests."""

    max_bytes: int
    max_docs: int
    n_bytes: int = 0

    async def read(self, request: Request) -> bytes:
        """Return the body, unless it is too large; `release` its length afterwards."""
        declared = as_whole(request.headers.get("content-length", ""))
        if declared is not None and declared > self.max_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            async for part in request.stream():
                body += part
                self.n_bytes += len(part)
                if len(body) > self.max_bytes:
                    raise self._too_large()
                if self.n_bytes > MOST_BODIES * self.max_bytes:
                    raise busy()
        except BaseException:
            self.release(len(body))
            raise
        return bytes(body)

    def release(self, length: int) -> None:
        """Subtract a body of `length` bytes from the total."""
        self.n_bytes -= length

    def texts(self, request: Request, body: bytes) -> list[str]:
        """Return the texts of a body."""
        headers = request.headers
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if headers.get("content-encoding", "") not in ("", "identity") or kind not in (JSON, TEXT):
            raise Refused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                f"The body must be {JSON}, such as {EXAMPLE}, or one text as {TEXT}, uncompressed "
                "and in UTF-8; say which in the header Content-Type.",
            )
        if not body:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"The request has no texts; send {EXAMPLE}."
            )
        texts = [_decoded(body)] if kind == TEXT else _listed(_parsed(body))
        if len(texts) > self.max_docs:
            raise Refused(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"{len(texts):,} texts exceed the {self.max_docs:,} texts allowed per "
                "request; send several requests.",
            )
        return texts

    def _too_large(self) -> Refused:
        return Refused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The body exceeds the {self.max_bytes:,} bytes allowed per request; send several "
            "requests.",
        )


def busy() -> Refused:
    """Return the error for a request beyond the server's capacity."""
    return Refused(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "Too many requests are waiting; retry in one second.",
        retry_after="1",
    )


def options(query: bytes) -> Asked:
    """Return the options that a query string asks for.

    >>> options(b"top=3&certificate=false")
    Asked(top=3, min_weight=0.01, certificate=False)
    """
    found: dict[str, Any] = {}
    try:
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            if name == "top":
                digits = as_whole(value)
                found[name] = whole(name, value[:20] if digits is None else digits)
            elif name == "min_weight":
                found[name] = number(name, _float(value), 0.0, 1.0)
            elif name == "certificate":
                if value not in TRUTH:
                    raise InputError(f"must be true or false, got {value!r:.60}.", name)
                found[name] = TRUTH[value]
            else:
                raise InputError(
                    f"Unknown option {name!r:.60}; use top, min_weight or certificate."
                )
    except InputError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
    return Asked(**found)


def as_whole(text: str) -> int | None:
    """Return a whole number of at most 19 digits; None for other text.

    >>> as_whole("17"), as_whole("-1"), as_whole("9" * 10_000)
    (17, None, None)
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _float(value: str) -> Any:
    try:
        return float(value)
    except ValueError:
        return value


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            f"The body is not valid UTF-8 at byte {error.start:,}; encode it as UTF-8.",
        ) from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(_decoded(body))
    except json.JSONDecodeError as error:
        what = error.msg.rstrip(" :").removesuffix(" at")
        raise Refused(
            HTTPStatus.BAD_REQUEST,
            f"The body is not JSON: {what} at line {error.lineno}, column {error.colno}; send "
            f"{EXAMPLE}.",
        ) from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, lists in lists in lists
        raise Refused(HTTPStatus.BAD_REQUEST, f"The body must be JSON such as {EXAMPLE}.") from None


def _listed(value: Any) -> list[str]:
    unfit = HTTPStatus.UNPROCESSABLE_ENTITY
    if isinstance(value, dict):
        if value.keys() != {"texts"}:
            others = ", ".join(repr(key)[:40] for key in list(value)[:5] if key != "texts")
            why = f"has {others} in addition to" if "texts" in value else "is without"
            raise Refused(unfit, f"The object {why} the key 'texts'; send {EXAMPLE}.")
        value = value["texts"]
    if not isinstance(value, list) or not value:
        raise Refused(unfit, f"The request has no texts; send {EXAMPLE}, or the list alone.")
    for place, text in enumerate(value):
        if not isinstance(text, str):
            kind = "null" if text is None else type(text).__name__
            raise Refused(unfit, f"texts[{place}] is not a text but of type {kind}; send a string.")
    try:
        "".join(value).encode()
    except UnicodeEncodeError:
        raise Refused(
            unfit, "A text has a lone surrogate, an invalid character; remove the character."
        ) from None
    return value
