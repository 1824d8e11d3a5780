"""Whether the driver can hold the topics."""

import os

from opelda._container import memory_limit
from opelda.errors import EngineError

# In bytes a word and topic: weights and their average, counts while they are added.
NEEDED = 16


def check_room(n_topics: int, n_words: int, available: int | None = None) -> None:
    """Refuse topics that the memory of this machine cannot hold while they are learned."""
    available = memory() if available is None else available
    needed = NEEDED * n_topics * n_words
    if available is not None and needed > available:
        raise EngineError(
            f"{n_topics:,} topics of {n_words:,} words take {needed / 2**30:.1f} GB on the driver "
            f"while they are learned, and it has {available / 2**30:.1f} GB: take a larger driver, "
            "fewer words (maxVocabSize, minDF) or fewer topics."
        )


def memory() -> int | None:
    """Return the bytes that this machine or container has; None where nobody says."""
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return min(machine, memory_limit() or machine)
