"""Waiting for a pipe, which may be asked to end meanwhile, or be given up for now."""

import select
from collections.abc import Callable
from math import inf
from typing import Any

from opelda.corpus._timeout import Patience

# Seconds until a request to end is heard.
HEARD = 0.1


def has_more(file: Any, is_ended: Callable[[], bool] | None, patience: Patience) -> bool:
    """Wait until there is something to read, or the end; False if it was asked to end before.

    Also False, and `patience.paused`, if documents that came before have waited for long enough.
    """
    patience.paused = False
    if is_ended is None and patience.seconds == inf:
        return True  # reading waits by itself
    while is_ended is None or not is_ended():
        try:
            if select.select([file], [], [], HEARD)[0]:
                return True
        except (OSError, ValueError):  # it is no file of the system, and does not wait
            return True
        patience.meanwhile()
        if patience.is_over:
            patience.paused = True
            return False
    return False
