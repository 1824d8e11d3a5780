"""What readers hand on: some consecutive documents of a source, and where it goes on."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from opelda.corpus._counting import Counted, place


@dataclass(frozen=True)
class Block:
    """Some consecutive documents.

    Attributes
    ----------
    documents : polars Series of strings, Counted, or CSR array
        Texts still to be tokenised (no nulls); counts over words of their own; or counts whose
        columns are those of the source's vocabulary.
    position : fit for JSON
        Where the source goes on after these documents.
    names : list of str or None
        What the source calls them.
    """

    documents: pl.Series | Counted | sparse.csr_array
    position: Any
    names: list[str] | None = None

    def __len__(self) -> int:
        if isinstance(self.documents, pl.Series):
            return len(self.documents)
        counts = self.documents.counts if isinstance(self.documents, Counted) else self.documents
        return int(counts.shape[0])

    def first(self, n_docs: int) -> "Block":
        """Return its first documents, with the position after all of them: for the last block."""
        names = None if self.names is None else self.names[:n_docs]
        documents = self.documents
        if isinstance(documents, Counted):
            counts = documents.counts[:n_docs]
            held = np.unique(counts.indices)
            columns = np.full(len(documents.words), -1, np.int32)
            columns[held] = np.arange(len(held), dtype=np.int32)
            words = [documents.words[i] for i in held]
            return Block(Counted(words, place(counts, columns, len(held))[0]), self.position, names)
        return Block(documents[:n_docs], self.position, names)
