"""Waiting for a pipe, which may be asked to end meanwhile."""

import select
from collections.abc import Callable
from typing import Any

# Seconds until a request to end is heard.
HEARD = 0.1


def has_more(file: Any, is_ended: Callable[[], bool]) -> bool:
    """Wait until there is something to read, or the end; False if it was asked to end before."""
    while not is_ended():
        try:
            if select.select([file], [], [], HEARD)[0]:
                return True
        except (OSError, ValueError):  # it is no file of the system, and does not wait
            return True
    return False
