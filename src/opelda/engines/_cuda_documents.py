"""Documents on a GPU."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._cuda_device import LANES, Device
from opelda.engines._documents import Documents, Rows

# Words of documents that are worked on in a launch of their own: shared memory is for the longest.
ROOMS = (32, 64, 128, 256, 512)
FEW_DOCS = 4096


@dataclass(frozen=True)
class CudaRows:
    """Documents on the GPU, and which of them are meant."""

    indptr: Any
    words: Any
    counts: Any
    lengths: NDArray[np.int64]  # distinct words of those that are meant
    chosen: Any = None  # their numbers; None: all
    _classes: list[tuple[int, int, Any]] | None = None

    @classmethod
    def of(cls, device: Device, rows: Rows) -> "CudaRows":
        """Copy documents to the GPU."""
        there = device.array(rows.indptr), device.array(rows.words), device.array(rows.counts)
        return cls(*there, lengths=np.diff(rows.indptr))

    def some(self, device: Device, chosen: NDArray[np.int64]) -> "CudaRows":
        """Return some of the documents, without a copy."""
        there = device.array(chosen.astype(np.int32))
        return replace(self, lengths=self.lengths[chosen], chosen=there, _classes=None)

    @property
    def n_docs(self) -> int:
        """Number of documents that are meant."""
        return len(self.lengths)

    def by_length(self, device: Device) -> list[tuple[int, int, Any]]:
        """Return (words that there is room for, number of documents, their places) by length.

        Few documents are taken together: they leave most of the GPU idle, one launch or another.
        """
        if self._classes is not None or not self.n_docs:
            return self._classes or []
        longest = int(self.lengths.max(initial=0))
        rooms = [room for room in ROOMS if room < longest]
        rooms.append(next((r for r in ROOMS if r >= longest), -(-longest // LANES) * LANES))
        if self.n_docs <= FEW_DOCS and rooms[-1] <= ROOMS[-1]:
            return [(rooms[-1], self.n_docs, device.numbers(self.n_docs))]
        found, below = [], -1
        for room in rooms:
            docs = np.flatnonzero((self.lengths > below) & (self.lengths <= room))
            if len(docs):
                found.append((room, len(docs), device.array(docs.astype(np.int32))))
            below = room
        object.__setattr__(self, "_classes", found)
        return found


class CudaDocuments(Documents):
    """A collection that is copied to the GPU when it is first asked for there."""

    _there: CudaRows | None = None
    _tokens: NDArray[np.float64] | None = None

    def there(self, device: Device) -> CudaRows:
        """Return all documents on the GPU."""
        if self._there is None:
            self._there = CudaRows.of(device, self.part())
        return self._there

    def lengths(self, device: Device) -> NDArray[np.float64]:
        """Return the tokens of each document."""
        if self._tokens is None:
            rows, n_docs = self.there(device), self.n_docs
            found = device.cp.empty(n_docs)
            given = rows.indptr, rows.counts, np.int32(n_docs), found
            device.run("counts", "lengths", n_docs, *given, threads=LANES)
            self._tokens = device.host(found)
        return self._tokens
