"""Blocks: some consecutive documents as a source gives them, and the position after them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._matrix import Counted, remap_columns, stacked
from opelda.errors import InputError


@dataclass(frozen=True)
class Block:
    """Some consecutive documents."""

    # texts still to be tokenised (no nulls); counts over words of their own; or counts whose
    # columns are those of the source's vocabulary
    documents: pl.Series | Counted | sparse.csr_array
    position: Any  # where the source goes on after these documents; fit for JSON
    names: list[str] | None = None  # what the source calls them

    def __len__(self) -> int:
        documents = self.documents
        if isinstance(documents, sparse.csr_array):
            return int(documents.shape[0])
        return len(documents)

    def first(self, n_docs: int) -> "Block":
        """Return its first documents, with the position after all of them: for the last block."""
        names = None if self.names is None else self.names[:n_docs]
        documents = self.documents
        if isinstance(documents, Counted):
            documents = Counted.of(documents.counts[:n_docs], documents.words)
        else:
            documents = documents[:n_docs]
        return replace(self, documents=documents, names=names)


class BlockJoiner:
    """Joins blocks of one kind until there are enough documents."""

    def __init__(self, size: int) -> None:
        self.missing = size  # documents that are still wanted
        self._size = size
        self._blocks: list[Block] = []

    def __bool__(self) -> bool:
        return bool(self._blocks)

    def add(self, block: Block) -> bool:
        """Add one more; return whether there are enough now."""
        if self._blocks and type(block.documents) is not type(self._blocks[0].documents):
            raise InputError(
                "Texts and counted words cannot be mixed in one source; read them apart."
            )
        self._blocks.append(block)
        self.missing -= len(block)
        return self.missing <= 0

    def take(self, position: Any) -> Block:
        """Return all of them as one block that ends at a position, and begin anew."""
        blocks, self._blocks, self.missing = self._blocks, [], self._size
        if len(blocks) == 1:
            return replace(blocks[0], position=position)
        named = all(block.names is not None for block in blocks)
        names = [name for block in blocks for name in block.names or ()] if named else None
        parts: list[Any] = [block.documents for block in blocks]
        if isinstance(parts[0], pl.Series):
            return Block(pl.concat(parts), position, names)
        if isinstance(parts[0], Counted):
            return Block(_joined(parts), position, names)
        return Block(stacked(parts, max(part.shape[1] for part in parts)), position, names)


def _joined(parts: list[Counted]) -> Counted:
    codes: dict[str, int] = {}
    moved = []
    for part in parts:
        columns = np.fromiter((codes.setdefault(word, len(codes)) for word in part.words), np.int32)
        moved.append(remap_columns(part.counts, columns, len(codes))[0])
    return Counted(list(codes), stacked(moved, len(codes)))
