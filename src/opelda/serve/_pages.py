"""The page about the newest model, made when somebody asks for it, beside everything else."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from opelda.serve._served import Served


class Pages:
    """Keeps one page; while that of a newer model is made, the former one is shown."""

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="opelda-page")
        # by version: a model that was replaced is not held for them
        self._shown: tuple[bytes, str] | None = None
        self._making: tuple[asyncio.Future[bytes], str] | None = None

    async def newest(self, served: Served) -> tuple[bytes, str]:
        """Return the page and the version it is about; waits where there is none so far."""
        if self._shown is None or self._shown[1] != served.version:
            made = self._make(served)
            if self._shown is None:
                await asyncio.shield(made)  # whoever stops waiting leaves it to the next
            elif made.done():
                made.result()  # raises what went wrong
        assert self._shown is not None
        return self._shown

    def _make(self, served: Served) -> "asyncio.Future[bytes]":
        """Return the page that is being made, the one of this model if none is."""
        version = served.version
        if self._making is None or (self._making[0].done() and self._making[1] != version):
            loop = asyncio.get_running_loop()
            task = loop.run_in_executor(self._pool, served.page, self._corpus)
            task.add_done_callback(partial(self._show, version))
            self._making = task, version
        return self._making[0]

    def _show(self, version: str, done: "asyncio.Future[bytes]") -> None:
        if not done.cancelled() and done.exception() is None:
            self._shown = done.result(), version

    def close(self) -> None:
        """End the thread when it is done."""
        self._pool.shutdown(wait=False, cancel_futures=True)
