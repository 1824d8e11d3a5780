"""Sources of documents, and the blocks that they give with the position after each."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Literal

import polars as pl
from scipy import sparse

from opelda._validation import choice
from opelda.corpus._matrix import Counted, stacked
from opelda.errors import DataWarning, InputError, warn

MOST_NAMED = 10  # skipped files in a warning

# Columns of texts beside the documents by name, null for missing values; None is the key of the
# documents' own names.
Beside = dict[str | None, pl.Series]
# Texts still to be tokenised (no nulls), also among other documents; counts over their own words;
# or counts over the columns of the source's vocabulary.
Documents = pl.Series | list[Any] | Counted | sparse.csr_array


class Problems:
    """The number of malformed documents of a source, and messages about the first 20."""

    def __init__(self, on_error: Literal["stop", "skip"] = "stop") -> None:
        self.on_error = choice("on_error", on_error, ("stop", "skip"))
        self.n_skipped = 0
        self.first: list[str] = []
        self._files: list[str] = []  # skipped since the last warning

    def add(self, where: str, what: str, remedy: str, **advice: Any) -> None:
        """Report a malformed document; `advice` is passed to `InputError`."""
        if self.on_error == "stop":
            raise InputError(
                f"{where} {what}; {remedy}, or skip such documents with {{on_error}}.",
                on_error="skip",
                **advice,
            )
        self.n_skipped += 1
        if len(self.first) < 20:
            self.first.append(f"{where} {what}.")

    def skip_file(self, file: str, reason: str = "") -> None:
        """Skip a file of a folder that has no text."""
        self._files.append(f"{file} ({reason})" if reason else file)

    def warn(self) -> None:
        """Warn of the files skipped since the last warning."""
        if not self._files:
            return
        n_files, named = len(self._files), ", ".join(self._files[:MOST_NAMED])
        more = f" and {n_files - MOST_NAMED:,} more" if n_files > MOST_NAMED else ""
        self._files.clear()
        warn(f"{n_files:,} file{'s'[: n_files > 1]} skipped: {named}{more}.", DataWarning)


class Patience:
    """The longest time that documents wait for a full mini-batch, from `came` to `given`."""

    def __init__(self, seconds: float = inf, meanwhile: Callable[[], None] | None = None) -> None:
        self.seconds = seconds
        self.meanwhile = meanwhile or (lambda: None)  # called while a source waits
        self.paused = False  # whether the last read of a pipe was given up for now
        self._since: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether the wait of pending documents has timed out."""
        return self._since is not None and time.monotonic() - self._since >= self.seconds

    def came(self) -> None:
        """Start the clock unless documents are already pending."""
        if self._since is None:
            self._since = time.monotonic()

    def given(self) -> None:
        """Stop the clock when no documents are pending."""
        self._since, self.paused = None, False


@dataclass(frozen=True)
class Block:
    """Some consecutive documents."""

    documents: Documents
    position: Any  # where the source continues after these documents; fit for JSON
    beside: Beside = field(default_factory=dict)

    @property
    def names(self) -> list[str] | None:
        """The names of the documents, "" for missing ones; None without names."""
        return [name or "" for name in self.beside[None]] if None in self.beside else None

    @property
    def metadata(self) -> pl.DataFrame | None:
        """The columns that are kept beside the documents; None without any."""
        beside = [values.alias(name) for name, values in self.beside.items() if name is not None]
        return pl.DataFrame(beside) if beside else None

    def __len__(self) -> int:
        documents = self.documents
        if isinstance(documents, sparse.csr_array):
            return int(documents.shape[0])
        return len(documents)

    def first(self, n_docs: int) -> "Block":
        """Return the first documents of a last block, with the position after the whole block."""
        documents = self.documents
        if isinstance(documents, Counted):
            documents = Counted.of(documents.counts[:n_docs], documents.words)
        else:
            documents = documents[:n_docs]
        return replace(self, documents=documents, beside=rows_of(self.beside, 0, n_docs))


class BlockJoiner:
    """Joins blocks of the same kind until there are enough documents."""

    def __init__(self, size: int) -> None:
        self.missing = size  # documents that are still wanted
        self._size = size
        self._blocks: list[Block] = []

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def add(self, block: Block) -> bool:
        """Add a block; return whether the batch is full."""
        if self._blocks and type(block.documents) is not type(self._blocks[0].documents):
            raise InputError(
                "Texts and word counts cannot be mixed in one source; read texts and counts "
                "separately."
            )
        self._blocks.append(block)
        self.missing -= len(block)
        return self.missing <= 0

    def take(self, position: Any) -> Block:
        """Return the blocks as a single block that ends at a position, and start again."""
        blocks, self._blocks, self.missing = self._blocks, [], self._size
        if len(blocks) == 1:
            return replace(blocks[0], position=position)
        beside = joined_columns([(block.beside, len(block)) for block in blocks])
        parts: list[Any] = [block.documents for block in blocks]
        if isinstance(parts[0], pl.Series):
            return Block(pl.concat(parts), position, beside)
        return Block(stacked(parts, max(part.shape[1] for part in parts)), position, beside)


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
        """Yield blocks of documents from a position on, smaller ones if patience runs out."""
        raise NotImplementedError

    def progress(self) -> tuple[int, int] | None:
        """Return the bytes read and the total bytes; None if unknown."""
        return None

    def end_when(self, is_ended: Callable[[], bool]) -> None:
        """Let a pipe end as soon as this is true."""

    def wait_at_most(self, patience: Patience) -> None:
        """Limit how long documents wait for a full mini-batch, of a source that waits for more."""
        if self.waits:
            self.patience = patience


def rows_of(beside: Beside, first: int, after: int) -> Beside:
    """Return some consecutive rows."""
    return {name: values[first:after] for name, values in beside.items()}


def joined_columns(parts: Sequence[tuple[Beside, int]]) -> Beside:
    """Return the columns of parts with their numbers of rows; missing columns are null."""
    names = dict.fromkeys(name for beside, _ in parts for name in beside)
    return {
        name: pl.concat(
            beside[name] if name in beside else pl.Series([None] * n_rows, dtype=pl.String)
            for beside, n_rows in parts
        )
        for name in names
    }


def row_number(position: Any) -> int:
    """Return a position among rows or items, 0 for the beginning."""
    if position is None:
        return 0
    if not isinstance(position, int) or isinstance(position, bool) or position < 0:
        raise InputError(f"{position!r} is not a valid number of documents to skip.")
    return position
