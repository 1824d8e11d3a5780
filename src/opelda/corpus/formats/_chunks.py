"""Large files of lines as runs of whole lines, in constant memory, from any byte on."""

import io
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from opelda._validation import threads
from opelda.corpus.formats._files import Input
from opelda.errors import InputError

LEAST, CHUNK = 2**16, 4 * 2**20  # bytes at a time: first, and later on
MOST_THREADS = 4  # more wait for memory

File = io.FileIO | io.BufferedReader


class Chunk(NamedTuple):
    """A run of whole lines: ``data[:end]``, which begins at byte `offset` of the content."""

    data: NDArray[np.uint8]
    end: int
    offset: int


@contextmanager
def opened(input: Input) -> Iterator[File]:
    """Open a file's content; one can go to a byte of what is not compressed."""
    if input.path is None or not input.seekable:
        with input.open() as stream:
            yield stream
        return
    with input.path.open("rb", buffering=0) as file:
        yield file


def go_to(file: File, input: Input, offset: int, reached: int = 0) -> None:
    """Go on at a byte of the content; the file stands at byte `reached`, before it.

    Raises
    ------
    InputError
        When the content ends before.
    """
    if file.seekable():
        reached = min(offset, input.size or 0)
        file.seek(reached)
    while reached < offset:
        passed = file.read(min(CHUNK, offset - reached))
        if not passed:
            raise InputError(
                f"{input.label} ends at byte {reached}, before the place to go on from, byte "
                f"{offset}; begin anew, the file is another one."
            )
        reached += len(passed)


def chunks(file: File, input: Input, offset: int, most: int) -> Iterator[Chunk]:
    """Yield the lines from where the file stands on; `offset` is which byte that is.

    While a chunk is worked on the next one is read, unless one might have to wait for it. What a
    chunk holds is overwritten later.

    Raises
    ------
    InputError
        When a line is longer than `most` bytes.
    """
    buffer = spare = bytearray(LEAST)
    with ThreadPoolExecutor(1) as ahead:
        filled = _fill(file, buffer, 0, input)
        while filled == len(buffer):
            end = buffer.rfind(b"\n") + 1
            if not end and len(buffer) >= most:
                raise InputError(
                    f"{input.label} has a line of more than {most:,} bytes (it begins at byte "
                    f"{offset}); check that the file is of this format."
                )
            kept = filled - end
            room = max(2 * kept, min(4 * len(buffer), CHUNK))
            if spare is buffer or len(spare) < room:
                spare = bytearray(room)
            spare[:kept] = buffer[end:filled]
            if input.size is None or not end:
                chunk = Chunk(np.frombuffer(buffer, np.uint8), end, offset)
                if end:
                    yield chunk
                filled = _fill(file, spare, kept, input)
            else:
                coming = ahead.submit(_fill, file, spare, kept, input)
                yield Chunk(np.frombuffer(buffer, np.uint8), end, offset)
                filled = coming.result()
            offset += end
            if isinstance(file, io.FileIO):
                input.n_read = offset
            buffer, spare = spare, buffer
        if filled:
            yield Chunk(np.frombuffer(buffer, np.uint8), filled, offset)


def _fill(file: File, buffer: bytearray, filled: int, input: Input) -> int:
    """Fill the buffer as far as the content goes; return up to where."""
    with memoryview(buffer) as view:
        while filled < len(buffer):
            try:
                n = file.readinto(view[filled:])
            except OSError as error:
                reason = error.strerror or type(error).__name__
                message = f"{input.label} cannot be read: {reason}; check the file."
                raise InputError(message) from None
            if not n:
                break
            filled += n
    return filled


def n_threads() -> int:
    """Return how many threads parse a chunk."""
    return min(threads(None), MOST_THREADS)
