"""Several blocks as one."""

from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._counting import Counted, place
from opelda.errors import InputError


class Gathered:
    """Blocks of one kind, put together until there are enough documents.

    Attributes
    ----------
    missing : int
        How many documents are still wanted.
    """

    def __init__(self, size: int) -> None:
        self.missing = size
        self._size = size
        self._blocks: list[Block] = []

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def add(self, block: Block) -> bool:
        """Put one more to them; whether there are enough now."""
        if self._blocks and type(block.documents) is not type(self._blocks[0].documents):
            raise InputError(
                "Texts and counted words cannot be mixed in one source; read them apart."
            )
        self._blocks.append(block)
        self.missing -= len(block)
        return self.missing <= 0

    def take(self, position: Any) -> Block:
        """Return all of them as one block that ends at a position, and begin anew."""
        block = joined(self._blocks, position)
        self._blocks, self.missing = [], self._size
        return block


def joined(blocks: list[Block], position: Any) -> Block:
    """Return consecutive blocks of one kind as one block that ends at a position."""
    if len(blocks) == 1:
        return Block(blocks[0].documents, position, blocks[0].names)
    names = None
    if all(block.names is not None for block in blocks):
        names = [name for block in blocks for name in block.names or ()]
    parts: list[Any] = [block.documents for block in blocks]
    if isinstance(parts[0], pl.Series):
        return Block(pl.concat(parts), position, names)
    if isinstance(parts[0], Counted):
        return Block(_joined_counts(parts), position, names)
    return Block(stacked(parts, max(part.shape[1] for part in parts)), position, names)


def stacked(parts: list[sparse.csr_array], n_columns: int) -> sparse.csr_array:
    """Return matrices one below the other, with so many columns."""
    if not parts:
        return sparse.csr_array(np.zeros((0, n_columns), np.float32))
    indptr = [np.zeros(1, np.int64)]
    for part in parts:
        indptr.append(indptr[-1][-1] + part.indptr[1:].astype(np.int64))
    ends = np.concatenate(indptr)
    if ends[-1] < 2**31:
        ends = ends.astype(np.int32)
    columns = np.concatenate([part.indices for part in parts]).astype(np.int32, copy=False)
    data = np.concatenate([part.data for part in parts]).astype(np.float32, copy=False)
    return sparse.csr_array((data, columns, ends), shape=(len(ends) - 1, n_columns))


def _joined_counts(parts: list[Counted]) -> Counted:
    codes: dict[str, int] = {}
    maps = [
        np.fromiter((codes.setdefault(word, len(codes)) for word in part.words), np.int32)
        for part in parts
    ]
    moved = [
        place(part.counts, columns, len(codes))[0]
        for part, columns in zip(parts, maps, strict=True)
    ]
    return Counted(list(codes), stacked(moved, len(codes)))
