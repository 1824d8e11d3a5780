"""Where documents come from, whatever that is."""

from collections.abc import Iterator
from typing import Any, Protocol

from opelda.corpus._block import Block
from opelda.corpus._problems import Problems


class Source(Protocol):
    """Documents in a fixed order that can be read from any place on.

    Attributes
    ----------
    label : str
        What to call it in messages.
    words : list of str or None
        The words of the columns, where the source has an opinion.
    written : bool
        Whether its texts consist of exactly these words, escaped and separated by spaces.
    has_words : bool
        Whether documents hold words, not only numbers of columns.
    reopens : bool
        Whether `blocks` may be called again, with another size.
    problems : Problems
        What could not be read.
    """

    label: str
    words: list[str] | None
    written: bool
    has_words: bool
    reopens: bool
    problems: Problems

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on, so many at a time; fewer at the end only."""

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read, where that is known."""
