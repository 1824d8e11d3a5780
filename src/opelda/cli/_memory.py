"""A sentence where a container's memory runs out: the kernel would kill the process without one."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from opelda._container import memory_limit
from opelda.cli._standard_streams import tell

SPARE, SPARE_PART = 16 * 2**20, 0.03  # bytes that are left when it ends, or this part of the limit
FASTEST = 8e9  # bytes a second that a process may come to have
SHORTEST = 0.002  # seconds between two looks
STATUS = 2  # `MISTAKE` of `_ending`, whose imports this is to see


@contextmanager
def watched() -> Iterator[None]:
    """Look meanwhile, in a thread, at the memory that the process has, where there is a limit.

    It ends as if it were killed, which it may be at any moment: files are there or not.
    """
    limit, ended = memory_limit(), threading.Event()
    if limit is not None and os.path.exists("/proc/self/statm"):
        threading.Thread(target=_look, args=[limit, ended], daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _look(limit: int, ended: threading.Event) -> None:
    most = limit - max(SPARE, SPARE_PART * limit)
    page = os.sysconf("SC_PAGE_SIZE")
    with open("/proc/self/statm", "rb", buffering=0) as file:
        while (left := most - _own_pages(file.read(200)) * page) > 0:
            if ended.wait(max(SHORTEST, left / FASTEST)):
                return
            file.seek(0)
    try:
        tell(
            f"The memory of {limit / 2**20:,.0f} MB that this container may have is not enough; "
            "give it more, or try fewer topics, --max-features or `opelda stream`."
        )
    finally:
        os._exit(STATUS)


def _own_pages(statm: bytes) -> int:
    """Return the pages that no file has: those of files can be taken away at any time."""
    _, resident, shared, *_ = map(int, statm.split())
    return resident - shared
