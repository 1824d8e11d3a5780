"""Copies of large arrays between host and GPU: through two pinned buffers each way, in turns.

While one part is on its way, the next is laid out, by several threads: one of them is slower than
the way. CuPy pins memory for every copy anew, which takes longer than the copy.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

PART = 2**25  # bytes of a buffer
LARGE = 2**23  # bytes from which on this pays
TO_DEVICE, TO_HOST = 1, 2  # as CUDA calls the directions
THREADS = 4


class Copies:
    """Buffers, each with an event that says when it is free again; one copy each way at a time."""

    def __init__(self, cp: Any) -> None:
        self.cp = cp
        self._locks = {TO_DEVICE: Lock(), TO_HOST: Lock()}
        self._buffers: dict[tuple[int, int], tuple[NDArray[np.uint8], Any]] = {}

    def to_device(self, values: NDArray[Any]) -> Any:
        """Copy an array that has no gaps."""
        there = self.cp.empty(values.shape, values.dtype)
        with self._locks[TO_DEVICE]:
            self._send(values, there)
        return there

    def to_host(self, there: Any) -> NDArray[Any]:
        """Copy an array that has no gaps back."""
        values = np.empty(there.shape, there.dtype)
        with self._locks[TO_HOST]:
            self._fetch(there, values)
        return values

    def _send(self, values: NDArray[Any], there: Any) -> None:
        stream, bytes_ = self.cp.cuda.get_current_stream(), values.reshape(-1).view(np.uint8)
        for number, first in enumerate(range(0, values.nbytes, PART)):
            part = bytes_[first : first + PART]
            buffer, free = self._buffer(TO_DEVICE, number % 2)
            free.synchronize()
            _lay(buffer[: len(part)], part)
            target, source = there.data.ptr + first, buffer.ctypes.data
            self._start(target, source, len(part), TO_DEVICE, stream)
            free.record(stream)

    def _fetch(self, there: Any, values: NDArray[Any]) -> None:
        stream, bytes_ = self.cp.cuda.get_current_stream(), values.reshape(-1).view(np.uint8)
        waiting: list[tuple[int, NDArray[np.uint8], Any]] = []
        for number, first in enumerate(range(0, values.nbytes, PART)):
            buffer, done = self._buffer(TO_HOST, number % 2)
            done.synchronize()
            n = min(PART, values.nbytes - first)
            self._start(buffer.ctypes.data, there.data.ptr + first, n, TO_HOST, stream)
            done.record(stream)
            waiting.append((first, buffer[:n], done))
            if len(waiting) == 2:
                _take(bytes_, *waiting.pop(0))
        for part in waiting:
            _take(bytes_, *part)

    def _start(self, target: int, source: int, n: int, direction: int, stream: Any) -> None:
        self.cp.cuda.runtime.memcpyAsync(target, source, n, direction, stream.ptr)

    def _buffer(self, direction: int, number: int) -> tuple[NDArray[np.uint8], Any]:
        which = direction, number
        if which not in self._buffers:
            memory = self.cp.cuda.alloc_pinned_memory(PART)
            event = self.cp.cuda.Event(disable_timing=True)
            self._buffers[which] = np.frombuffer(memory, np.uint8, PART), event
        return self._buffers[which]


def _take(to: NDArray[np.uint8], first: int, buffer: NDArray[np.uint8], done: Any) -> None:
    done.synchronize()
    _lay(to[first : first + len(buffer)], buffer)


def _lay(to: NDArray[np.uint8], values: NDArray[np.uint8]) -> None:
    """Copy bytes, each thread a piece."""
    piece = -(-len(values) // THREADS)
    pieces = [slice(first, first + piece) for first in range(0, len(values), piece)]
    list(_pool().map(lambda at: np.copyto(to[at], values[at]), pieces))


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS)
