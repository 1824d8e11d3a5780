"""Sources: documents in a fixed order that can be read from any position on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polars as pl
from scipy import sparse

from opelda.corpus._block import Beside, Block, rows_of
from opelda.corpus._problems import Problems
from opelda.corpus._replay import item_key, report
from opelda.corpus._timeout import Patience
from opelda.errors import InputError


class Source:
    """Base of all sources."""

    label: str  # its name in messages
    problems: Problems
    words: list[str] | None = None  # of the columns, where the source names them
    has_words = True  # whether documents hold words, not only numbers of columns
    may_lack_columns = False  # whether the last columns are missing where no document has them
    reopens = True  # whether `blocks` may be called again, with another size
    waits = False  # whether documents may still be to come
    patience = Patience()

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the documents from a position on, so many at a time.

        Fewer at the end, and where documents had to wait longer than their `patience` for more.
        """
        raise NotImplementedError

    def progress(self) -> tuple[int, int] | None:
        """Return how many bytes of how many are read; None where that is not known."""
        return None

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """Let a pipe end as soon as this is true; others do not wait."""

    def wait_at_most(self, patience: Patience) -> None:
        """Give documents so long after they came at the latest; of a source that waits for them."""
        if self.waits:
            self.patience = patience


# Rows before a position by which a collection is known again.
N_KNOWN = 100


class InMemory(Source):
    """Documents in memory: texts, or rows of counts.

    A position is the number of rows before it, and a digest of the last of these.
    """

    def __init__(
        self,
        documents: pl.Series | sparse.csr_array,
        problems: Problems,
        words: Sequence[str] | None,
        beside: Beside | None = None,
    ) -> None:
        self.label = "The column" if isinstance(documents, pl.Series) else "The matrix"
        self.documents, self.problems = documents, problems
        self.beside = beside or {}
        self.words = None if words is None else [str(word) for word in words]
        self.has_words = words is not None or isinstance(documents, pl.Series)
        n_columns = 0 if isinstance(documents, pl.Series) else documents.shape[1]
        if self.words is not None and len(self.words) < n_columns:
            raise InputError(
                f"The matrix has {n_columns} columns, but there are {len(self.words)} words for "
                "them; give the vocabulary that the documents were counted with."
            )

    def blocks(self, block_size: int, position: Any = None) -> Iterator[Block]:
        """Yield the rows from a position on."""
        n_rows = self.documents.shape[0]
        for first in range(self._first(position), n_rows, block_size):
            after = min(first + block_size, n_rows)
            where = {"row": after, "tail": self._tail(after)}
            yield Block(self.documents[first:after], where, rows_of(self.beside, first, after))

    def _first(self, position: Any) -> int:
        """Return the first row that was not read."""
        if not isinstance(position, dict):
            return row_number(position)
        row = row_number(position.get("row"))
        if row <= self.documents.shape[0] and self._tail(row) == position.get("tail"):
            return row
        report(f"{self.label} is not what was read before: all of it is new.")
        return 0

    def _tail(self, row: int) -> str:
        rows = self.documents[max(row - N_KNOWN, 0) : row]
        return item_key(rows.to_list() if isinstance(rows, pl.Series) else rows).decode().strip()


def row_number(position: Any) -> int:
    """Return a position among rows or items, 0 for the beginning."""
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise InputError(f"{position!r} is not a number of documents to pass over.")
    return position
