"""The page about the newest model, made when somebody asks for it, beside everything else."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from opelda.serve._served import Served

logger = logging.getLogger("opelda.serve")


class Pages:
    """Keeps one page; while that of a newer model is made, the former one is shown."""

    def __init__(self, corpus: Any) -> None:
        self._corpus = corpus
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="opelda-page")
        # by version: a model that was replaced is not held for them
        self._shown: tuple[bytes, str] | None = None
        self._making: asyncio.Future[bytes] | None = None  # None when it is done, or has failed

    async def newest(self, served: Served) -> tuple[bytes, str]:
        """Return the page and the version it is about; waits where there is none so far."""
        if self._shown is None or self._shown[1] != served.version:
            made = self._make(served)
            if self._shown is None:
                await asyncio.shield(made)  # whoever stops waiting leaves it to the next
        assert self._shown is not None
        return self._shown

    def _make(self, served: Served) -> "asyncio.Future[bytes]":
        """Return the page that is being made, the one of this model if none is."""
        if self._making is None:
            loop = asyncio.get_running_loop()
            self._making = loop.run_in_executor(self._pool, served.page, self._corpus)
            self._making.add_done_callback(partial(self._show, served.version))
        return self._making

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
