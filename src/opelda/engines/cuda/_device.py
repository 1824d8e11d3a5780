"""One GPU: CuPy, imported on first use, copies and compiled kernels."""

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, cached_property
from importlib.resources import files
from queue import SimpleQueue
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from opelda.errors import EngineError

LANES = 32  # of a warp, which rows of topics are padded to
THREADS = 256  # of a block
OPTIONS = ("-std=c++17",)
# Bytes of a buffer that large arrays are copied through, and of an array from which on this pays.
PART, LARGE = 2**25, 2**23
log = logging.getLogger("opelda")
Block = TypeVar("Block")
Done = TypeVar("Done")


def cupy() -> Any:
    """Import CuPy."""
    try:
        import cupy as found
    except ImportError as error:
        raise EngineError(
            "The engine 'cuda' needs CuPy, which cannot be imported; run pip install "
            "'opelda[cuda]', or use the engine 'cpu'."
        ) from error
    return found


class Copies:
    """Copies of large arrays in one direction, through two alternating pinned buffers.

    While one part is copied, four threads lay out the next, for one thread is slower than the copy.
    (CuPy pins memory for every copy, which takes longer than the copy.)
    """

    def __init__(self, cp: Any, direction: int) -> None:
        self.cp, self.direction = cp, direction
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(4)

    @cached_property
    def _buffers(self) -> list[tuple[NDArray[np.uint8], Any]]:
        """Each buffer has an event at which it is free again."""
        cuda = self.cp.cuda
        pinned = [np.frombuffer(cuda.alloc_pinned_memory(PART), np.uint8, PART) for _ in range(2)]
        return [(buffer, cuda.Event(disable_timing=True)) for buffer in pinned]

    def to_device(self, values: NDArray[Any]) -> Any:
        """Copy a contiguous array."""
        there = self.cp.empty(values.shape, values.dtype)
        bytes_ = values.reshape(-1).view(np.uint8)
        with self._lock:
            for number, first in enumerate(range(0, values.nbytes, PART)):
                buffer, free = self._buffers[number % 2]
                free.synchronize()
                n = min(PART, values.nbytes - first)
                self._lay(buffer[:n], bytes_[first : first + n])
                self._start(there.data.ptr + first, buffer.ctypes.data, n, free)
        return there

    def to_host(self, there: Any) -> NDArray[Any]:
        """Copy a contiguous array back."""
        values = np.empty(there.shape, there.dtype)
        bytes_ = values.reshape(-1).view(np.uint8)

        def take(number: int) -> None:
            buffer, done = self._buffers[number % 2]
            done.synchronize()
            part = bytes_[number * PART : (number + 1) * PART]
            self._lay(part, buffer[: len(part)])

        with self._lock:
            n_parts = -(-values.nbytes // PART)
            for number in range(n_parts):
                if number >= 2:
                    take(number - 2)
                buffer, done = self._buffers[number % 2]
                done.synchronize()
                first = number * PART
                n = min(PART, values.nbytes - first)
                self._start(buffer.ctypes.data, there.data.ptr + first, n, done)
            for number in range(max(n_parts - 2, 0), n_parts):
                take(number)
        return values

    def _start(self, target: int, source: int, n: int, event: Any) -> None:
        stream = self.cp.cuda.get_current_stream()
        self.cp.cuda.runtime.memcpyAsync(target, source, n, self.direction, stream.ptr)
        event.record(stream)

    def _lay(self, to: NDArray[np.uint8], values: NDArray[np.uint8]) -> None:
        piece = -(-len(values) // 4)
        pieces = [slice(first, first + piece) for first in range(0, len(values), piece)]
        list(self._pool.map(lambda at: np.copyto(to[at], values[at]), pieces))


class Device:
    """One GPU, by its number: its kernels, and copies there and back."""

    def __init__(self, number: int = 0) -> None:
        self.cp, self.number = cupy(), number
        self._fixed: dict[tuple[str, bytes], Any] = {}
        # (1 and 2 are CUDA's names of the directions)
        self._to_device, self._to_host = Copies(self.cp, 1), Copies(self.cp, 2)
        runtime = self.cp.cuda.runtime
        try:
            n_devices = runtime.getDeviceCount()
        except runtime.CUDARuntimeError as error:
            # (35: no driver, or an old one)
            if error.status == 35 and runtime.driverGetVersion():
                raise EngineError(
                    "The GPU driver is too old for CuPy's CUDA "
                    f"{runtime.runtimeGetVersion() // 1000}; update the driver, install an older "
                    "CuPy, or use the engine 'cpu'."
                ) from error
            n_devices = 0
        if number >= n_devices:
            which = "" if number == 0 else f" number {number}"
            raise EngineError(f"No GPU{which} was found on this machine; use the engine 'cpu'.")

    @cached_property
    def _properties(self) -> dict[str, Any]:
        return dict(self.cp.cuda.runtime.getDeviceProperties(self.number))

    @property
    def title(self) -> str:
        """The product name."""
        return str(self._properties["name"].decode())

    @property
    def most_shared(self) -> int:
        """The most bytes of shared memory that a block can have."""
        return int(self._properties["sharedMemPerBlockOptin"])

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Work on this GPU; raise an `EngineError` where its memory does not suffice."""
        try:
            with self.cp.cuda.Device(self.number):
                yield
        except self.cp.cuda.memory.OutOfMemoryError as error:
            free, total = self.cp.cuda.runtime.memGetInfo()
            raise EngineError(
                f"Out of GPU memory: {free / 1e9:.1f} of {total / 1e9:.1f} GB are free; use "
                "smaller batches or fewer topics, or use the engine 'cpu'."
            ) from error

    def free(self) -> int:
        """Return the free bytes, with CuPy's cache."""
        kept = self.cp.get_default_memory_pool().free_bytes()
        return int(self.cp.cuda.runtime.memGetInfo()[0]) + int(kept)

    def array(self, values: Any, dtype: Any = None) -> Any:
        """Copy an array to the GPU, if it is not there; return None for None."""
        if values is None:
            return None
        if isinstance(values, np.ndarray) and values.nbytes >= LARGE:
            return self._to_device.to_device(np.ascontiguousarray(values, dtype))
        return self.cp.ascontiguousarray(self.cp.asarray(values, dtype))

    def host(self, values: Any) -> NDArray[Any]:
        """Copy an array from the GPU."""
        if getattr(values, "nbytes", 0) >= LARGE and values.flags.c_contiguous:
            return self._to_host.to_host(values)
        found: NDArray[Any] = self.cp.asnumpy(values)
        return found

    def fixed(self, values: NDArray[Any]) -> Any:
        """Copy an array to the GPU; a small one is kept there, known by its content."""
        if values.nbytes > 2**16:
            return self.array(values)
        key = values.dtype.str, values.tobytes()
        there = self._fixed.get(key)
        if there is None:
            if len(self._fixed) >= 64:
                self._fixed.clear()
            there = self.array(values)
            self.wait()  # streams share it
            self._fixed[key] = there
        return there

    def wait(self) -> None:
        self.cp.cuda.get_current_stream().synchronize()

    def side_by_side(self, work: Callable[[Block], Done], blocks: Sequence[Block]) -> list[Done]:
        """Do some work for each block, two at a time: while one is copied the other is computed.

        Each has a stream, which is idle when the work returns, so that its memory can be freed.
        """
        if len(blocks) == 1:
            return [work(blocks[0])]
        self.wait()

        def done(block: Block) -> Done:
            stream = self._streams.get()
            try:
                with self.cp.cuda.Device(self.number), stream:
                    found = work(block)
                    stream.synchronize()
            finally:
                self._streams.put(stream)
            return found

        pool = ThreadPoolExecutor(2)
        try:
            return list(pool.map(done, blocks))
        finally:  # also of an interruption
            pool.shutdown(cancel_futures=True)

    @cached_property
    def _streams(self) -> "SimpleQueue[Any]":
        streams: SimpleQueue[Any] = SimpleQueue()
        for _ in range(2):  # one for each thread of `side_by_side`
            streams.put(self.cp.cuda.Stream(non_blocking=True))
        return streams

    def run(self, file: str, name: str, n: int, *arguments: Any, threads: int = 1) -> None:
        """Run a kernel for n items, with `threads` for each; None is a null pointer."""
        if n:
            self.launch(file, name, -(-n * threads // THREADS), *arguments)

    def launch(
        self,
        file: str,
        name: str,
        blocks: int,
        *arguments: Any,
        threads: int = THREADS,
        shared: int = 0,
    ) -> None:
        """Run a kernel in blocks of threads, each with `shared` bytes of shared memory."""
        given = tuple(np.uint64(0) if a is None else a for a in arguments)
        kernel = _kernel(self.number, file, name)
        # (48 KB are there without being asked for)
        if shared > 48 * 1024 and shared > kernel.max_dynamic_shared_size_bytes:
            kernel.max_dynamic_shared_size_bytes = shared
        kernel((blocks,), (threads,), given, shared_mem=shared)

    def column_sums(self, rows: Any, n_columns: int) -> Any:
        """Return the sums of the first columns on the GPU, in 64 bits and in a fixed order."""
        n_parts = 264  # of rows, whose sums are added up in order
        total = np.int64 if rows.dtype.kind == "i" else np.float64
        parts, sums = self.cp.empty((n_parts, n_columns), total), self.cp.empty(n_columns, total)
        for blocks, to, (n_rows, stride) in ((n_parts, parts, rows.shape), (1, sums, parts.shape)):
            self.launch(
                "update", f"columns_of_{rows.dtype.name}", blocks,
                rows, np.int32(n_rows), np.int32(stride), np.int32(n_columns), to,
            )  # fmt: skip
            rows = parts
        return sums


@cache
def device_of(number: int) -> Device:
    """Return the GPU of that number: one object, for all engines share its buffers."""
    return Device(number)


@cache
def _kernel(number: int, file: str, name: str) -> Any:
    return _module(number, file).get_function(name)


@cache
def _module(number: int, file: str) -> Any:
    """Compile a file of kernels; CuPy caches the result."""
    sources = files("opelda.engines") / "cuda"
    parts = [(sources / name).read_text(encoding="utf-8") for name in ("common.cuh", f"{file}.cu")]
    return cupy().RawModule(code="\n".join(parts), options=OPTIONS)


@cache
def tell(sentence: str) -> None:
    """Log a sentence, once."""
    log.warning(sentence)
