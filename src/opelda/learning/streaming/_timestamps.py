"""When a stream had learned from how many documents: a small file beside its checkpoint.

Apart from it, for what a checkpoint holds follows from the documents alone.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

FILE = ".times"
MOST_BYTES = 100_000  # then every second line goes


def note_time(folder: Path, n_documents: int) -> None:
    """Add a line; where that fails, times are not known and nothing else is lost."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    with suppress(OSError):
        handle = os.open(folder / FILE, flags, 0o666)
        with os.fdopen(handle, "r+b") as file:
            if os.fstat(handle).st_size > MOST_BYTES:
                lines = file.read().splitlines(keepends=True)
                os.ftruncate(handle, 0)
                file.write(b"".join(lines[1::2]))
            file.write(f"{n_documents} {time.time():.3f}\n".encode())


class Times:
    """The times of a folder, which may know none."""

    def __init__(self, folder: Path) -> None:
        pairs: list[tuple[float, float]] = []
        with suppress(OSError):
            # the last line may be cut off
            for line in (folder / FILE).read_bytes().split(b"\n")[:-1]:
                with suppress(ValueError):
                    documents, when = map(float, line.split())
                    if pairs and documents < pairs[-1][0]:  # the stream began anew
                        pairs = []
                    pairs.append((documents, when))
        self._documents, self._times = np.array(pairs).reshape(-1, 2).T

    def __bool__(self) -> bool:
        return bool(len(self._times))

    @property
    def last(self) -> float:
        """The time of the last checkpoint."""
        return float(self._times[-1])

    def at(self, documents: float) -> float | None:
        """Return about when there were so many documents."""
        return float(np.interp(documents, self._documents, self._times)) if self else None

    def documents(self, when: float) -> float:
        """Return about how many documents there were at a time."""
        return float(np.interp(when, self._times, self._documents))
