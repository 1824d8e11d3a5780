"""Clients that keep a connection each, send requests in sequence and check every answer."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)
VERSION = re.compile(rb"\r\nopelda-model: (\w+)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    """The bytes of a request, and its number among the texts or the bad requests."""

    data: bytes
    number: int
    status: int = 200


# whether an answer, its version and its body, is right for a request
Check = Callable[[Request, bytes, bytes], bool]


@dataclass
class Tally:
    """All that the clients saw."""

    seconds: list[float] = field(default_factory=list)  # of every good request
    n_answered: int = 0
    n_bad: int = 0  # bad requests, each answered by a sentence
    n_wrong: int = 0
    n_lost: int = 0
    versions: Counter[bytes] = field(default_factory=Counter)
    first_wrong: str = ""
    began: float = 0.0
    took: float = 0.0
    cpu: float = 0.0  # seconds of processor time of the server

    def quantile(self, share: float) -> float:
        """Return a quantile of the latencies, in milliseconds."""
        ordered = sorted(self.seconds)
        return 1e3 * ordered[min(int(share * len(ordered)), len(ordered) - 1)]


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, requests: Iterator[Request], check: Check, tally: Tally) -> None:
        self.requests, self.check, self.tally = requests, check, tally
        self.done = asyncio.get_running_loop().create_future()
        self.asked: Request | None = None

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.next()

    def next(self) -> None:
        self.asked = next(self.requests, None)
        self.received = b""
        if self.asked is None:
            self.transport.close()
            self.done.cancelled() or self.done.set_result(None)
            return
        self.sent = time.perf_counter()
        self.transport.write(self.asked.data)

    def data_received(self, data: bytes) -> None:
        self.received += data
        end = self.received.find(b"\r\n\r\n") + 4
        if end < 4:
            return
        length = LENGTH.search(self.received, 0, end)
        if length is None or len(self.received) < end + int(length[1]):
            return
        self.take(self.received[:end], self.received[end:])
        self.next()

    def take(self, head: bytes, body: bytes) -> None:
        tally, asked = self.tally, self.asked
        tally.n_answered += 1
        version = VERSION.search(head)
        named = b"" if version is None else version[1]
        if int(head[9:12]) != asked.status or not self.check(asked, named, body):
            tally.n_wrong += 1
            tally.first_wrong = tally.first_wrong or f"{asked} {head!r} {body[:300]!r}"
        elif asked.status == 200:
            tally.seconds.append(time.perf_counter() - self.sent)
            tally.versions[named] += 1
        else:
            tally.n_bad += 1

    def connection_lost(self, error) -> None:
        if not self.done.done():
            self.tally.n_lost += self.asked is not None
            self.done.set_result(None)


async def load(
    port: int, n_clients: int, requests: Iterator[Request], check: Check, tally: Tally
) -> None:
    """Share the requests among clients; a lost connection is reopened."""
    loop = asyncio.get_running_loop()

    async def one() -> None:
        while True:
            _, client = await loop.create_connection(
                lambda: Client(requests, check, tally), "127.0.0.1", port
            )
            await client.done
            if client.asked is None:
                return

    tally.began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(n_clients)))
    tally.took = time.perf_counter() - tally.began
