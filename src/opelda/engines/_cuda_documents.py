"""Documents on a GPU: all of a collection, or one block after another."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._cpu_updates import gathered
from opelda.engines._cuda_device import LANES, Device
from opelda.engines._documents import Chosen, Documents, Rows

# Words of documents that are worked on in a launch of their own: shared memory is for the longest.
ROOMS = (32, 64, 128, 256, 512)
FEW_DOCS = 4096
# Bytes of documents, and of what is found about them, on the GPU at a time; None: by free memory.
AT_ONCE: int | None = None
SURE = 2**28  # bytes that there is room for without looking


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


def at_once(device: Device, n_bytes: int) -> int:
    """Return how many bytes can be on the GPU at a time where so many are asked for."""
    if AT_ONCE is not None or n_bytes <= SURE:
        return n_bytes if AT_ONCE is None else AT_ONCE
    return max(device.free() // 3, SURE)


def in_blocks(device: Device, rows: Rows, n_topics: int) -> Iterator[Rows]:
    """Divide documents into consecutive ones that fit on the GPU with their mixtures."""
    ends = rows.indptr
    # a word and a count; where the document begins, and at most three arrays over topics
    before = 8 * ends + (8 + 12 * n_topics) * np.arange(len(ends))
    most = at_once(device, int(before[-1]))
    if before[-1] <= most:
        yield rows
        return
    first = 0
    while first < rows.n_docs:
        last = int(np.searchsorted(before, before[first] + most, "right")) - 1
        last = max(last, first + 1)
        here = slice(int(ends[first]), int(ends[last]))
        yield Rows(ends[first : last + 1] - ends[first], rows.words[here], rows.counts[here])
        first = last


class CudaDocuments(Documents):
    """A collection that is copied to the GPU when it is first asked for there."""

    _there: CudaRows | None = None
    _fits: bool | None = None
    _tokens: NDArray[np.float64] | None = None

    def fits(self, device: Device) -> bool:
        """Whether there is room for all documents on the GPU, which is found out once."""
        if self._fits is None:
            n_bytes = 8 * (int(self.matrix.indptr[-1]) + self.n_docs)
            self._fits = self._there is not None or n_bytes <= at_once(device, n_bytes)
        return self._fits

    def there(self, device: Device) -> CudaRows:
        """Return all documents on the GPU."""
        if self._there is None:
            self._there = CudaRows.of(device, self.part())
        return self._there

    def some(
        self, device: Device, chosen: Chosen, n_topics: int, n_threads: int
    ) -> tuple[Iterable[CudaRows], NDArray[np.float64]]:
        """Return some documents on the GPU, one block after another, and the tokens of each.

        Of a collection that does not fit, only they go there.
        """
        if not self.fits(device):
            rows = gathered(self, chosen, n_threads)
            blocks = in_blocks(device, rows, n_topics)
            return (CudaRows.of(device, block) for block in blocks), rows.tokens()
        there, lengths = self.there(device), self.lengths(device)
        if chosen is not None:
            there, lengths = there.some(device, chosen), lengths[chosen]
        return [there], lengths

    def lengths(self, device: Device) -> NDArray[np.float64]:
        """Return the tokens of each document."""
        if self._tokens is None:
            rows, n_docs = self.there(device), self.n_docs
            found = device.cp.empty(n_docs)
            given = rows.indptr, rows.counts, np.int32(n_docs), found
            device.run("counts", "lengths", n_docs, *given, threads=LANES)
            self._tokens = device.host(found)
        return self._tokens
