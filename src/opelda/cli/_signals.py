"""Ctrl-C and the request to end, which are taken alike."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handled(interrupt, signal.SIGTERM):
        yield


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let neither cut short what takes a moment, such as saving what was learned."""
    with handled(signal.SIG_IGN):
        yield


@contextmanager
def handled(handler: Any, *numbers: signal.Signals) -> Iterator[None]:
    """Have signals handled so for a while, where this thread decides such things."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    chosen = numbers or (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, handler) for number in chosen}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
