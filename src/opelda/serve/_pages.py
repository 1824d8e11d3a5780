"""The page about the newest model, made when somebody asks for it, beside everything else."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from opelda.serve._served import Served


class Pages:
    """Keeps one page; while that of a newer model is made, the former one is shown."""

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="opelda-page")
        self._shown: tuple[Served, bytes] | None = None
        self._making: tuple[Served, asyncio.Future[bytes]] | None = None

    async def newest(self, served: Served) -> tuple[bytes, str]:
        """Return the page and the version it is about; waits where there is none so far."""
        if self._shown is None or self._shown[0] is not served:
            made = self._make(served)
            if self._shown is None:
                await asyncio.shield(made)  # whoever stops waiting leaves it to the next
            elif made.done():
                made.result()  # raises what went wrong
        assert self._shown is not None
        return self._shown[1], self._shown[0].version

    def _make(self, served: Served) -> "asyncio.Future[bytes]":
        """Return the page that is being made, the one of this model if none is."""
        if self._making is None or (self._making[1].done() and self._making[0] is not served):
            loop = asyncio.get_running_loop()
            task = loop.run_in_executor(self._pool, served.page, self._corpus)
            task.add_done_callback(lambda done: self._show(served, done))
            self._making = served, task
        return self._making[1]

    def _show(self, served: Served, done: "asyncio.Future[bytes]") -> None:
        if not done.cancelled() and done.exception() is None:
            self._shown = served, done.result()

    def close(self) -> None:
        """End the thread when it is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)
