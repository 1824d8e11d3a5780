"""Documents on a GPU: whole collections, blocks of documents, or CuPy matrices in place."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import LARGEST_COUNT, SMALLEST_COUNT
from opelda.engines.cpu._updates import gathered
from opelda.engines.cuda._device import LANES, Device
from opelda.engines.seam import Chosen, Documents, Rows

FEW_DOCS = 8192
# Bytes of documents, and of what is found about them, that are on the GPU at a time.
BLOCK = 2**28
# Bytes of documents that stay there; None: by free memory, where they are more than a block.
AT_ONCE: int | None = None


@dataclass(frozen=True)
class CudaRows:
    """Documents on the GPU, or the chosen among them."""

    device: Device
    indptr: Any
    words: Any
    counts: Any
    lengths: NDArray[np.int64]  # distinct words of each chosen document
    chosen: Any = None  # their numbers; None: all

    @classmethod
    def of(cls, device: Device, rows: "CudaRows | Rows") -> "CudaRows":
        """Copy documents to the GPU, if they are not there."""
        if isinstance(rows, GivenRows):
            return rows.there
        if isinstance(rows, cls):
            return rows
        words, counts_ = device.array(rows.words), device.array(rows.counts)
        return cls(device, device.array(rows.indptr), words, counts_, np.diff(rows.indptr))

    def some(self, chosen: NDArray[np.intp]) -> "CudaRows":
        """Return some of the documents, without a copy."""
        numbers = chosen if self.chosen is None else self.device.host(self.chosen)[chosen]
        there = self.device.array(numbers.astype(np.int32))
        return replace(self, lengths=self.lengths[chosen], chosen=there)

    @property
    def n_docs(self) -> int:
        return len(self.lengths)

    def tokens(self) -> NDArray[np.float64]:
        """Return the tokens of each chosen document."""
        n_docs, host = len(self.indptr) - 1, self.device.host
        found = self.device.cp.empty(n_docs)
        given = self.indptr, self.counts, np.int32(n_docs), found
        self.device.run("counts", "lengths", n_docs, *given, threads=LANES)
        return host(found) if self.chosen is None else host(found)[host(self.chosen)]

    @cached_property
    def by_length(self) -> list[tuple[int, int, Any]]:
        """(Words that there is room for, number of documents, their places), by length.

        Shared memory is for the longest document of a launch. Few documents are taken together:
        they leave most of the GPU idle, one launch or another.
        """
        if not self.n_docs:
            return []
        longest = int(self.lengths.max())
        rooms = [32, 64, 128, 256, 512]
        del rooms[bisect_left(rooms, longest) + 1 :]
        if longest > rooms[-1]:
            rooms.append(-(-longest // LANES) * LANES)
        elif self.n_docs <= FEW_DOCS:
            return [(rooms[-1], self.n_docs, self.device.cp.arange(self.n_docs, dtype=np.int32))]
        found, of = [], np.searchsorted(rooms, self.lengths)
        for number, room in enumerate(rooms):
            docs = np.flatnonzero(of == number)
            if len(docs):
                found.append((room, len(docs), self.device.array(docs.astype(np.int32))))
        return found


def has_room(device: Device, n_bytes: float, most_free: float = 1 / 3) -> bool:
    """Return whether n_bytes can stay on the GPU, within a share of its free memory."""
    if AT_ONCE is not None:
        return n_bytes <= AT_ONCE
    return n_bytes <= BLOCK or n_bytes <= most_free * device.free()


def cut(before: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Divide documents into blocks by their cumulative bytes; return (first, last) pairs."""
    most, first, found = BLOCK if AT_ONCE is None else AT_ONCE, 0, []
    while first < len(before) - 1:
        last = int(np.searchsorted(before, before[first] + most, "right")) - 1
        last = max(last, first + 1)
        found.append((first, last))
        first = last
    return found or [(0, 0)]


def in_blocks(rows: Rows, n_topics: int) -> list[tuple[slice, Rows]]:
    """Divide documents into consecutive ones that fit on the GPU with their mixtures."""
    # a word and a count; where the document begins, and at most three arrays over topics
    before = 8 * rows.indptr + (8 + 12 * n_topics) * np.arange(len(rows.indptr))
    blocks = cut(before)
    if len(blocks) == 1:
        return [(slice(None), rows)]
    return [(slice(*block), rows.between(*block)) for block in blocks]


class CudaDocuments(Documents):
    """A collection that is copied to the GPU when it is first asked for there."""

    def __init__(self, device: Device, X: sparse.csr_array, hashed: Any = None) -> None:
        super().__init__(X, hashed)
        self.device = device

    @cached_property
    def there(self) -> CudaRows:
        """All documents on the GPU."""
        return CudaRows.of(self.device, self.part())

    @cached_property
    def fits(self) -> bool:
        """Whether there is room for all documents on the GPU."""
        n_bytes = 8 * (int(self.matrix.indptr[-1]) + self.n_docs)
        return "there" in vars(self) or has_room(self.device, n_bytes)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """The tokens of each document."""
        return self.there.tokens()

    def some(
        self, chosen: Chosen, n_topics: int, n_threads: int
    ) -> tuple[Sequence[CudaRows | Rows], NDArray[np.float64]]:
        """Return some documents, block by block, and the tokens of each.

        Of a collection that does not fit, only they go to the GPU.
        """
        if not self.fits:
            rows = gathered(self, chosen, n_threads)
            return [block for _, block in in_blocks(rows, n_topics)], rows.tokens()
        if chosen is None:
            return [self.there], self.lengths
        return [self.there.some(chosen)], self.lengths[chosen]


class GivenRows(Rows):
    """Documents on the GPU, whose words and counts are copied to host memory on first use."""

    def __init__(self, there: CudaRows) -> None:
        ends = np.concatenate(([0], np.cumsum(there.lengths, dtype=np.int64)))
        vars(self).update(there=there, indptr=ends)

    there: CudaRows

    @cached_property
    def _here(self) -> Rows:
        there, host = self.there, self.there.device.host
        rows = Rows(*map(host, (there.indptr, there.words, there.counts)))
        return rows if there.chosen is None else rows.take(host(there.chosen))

    @property
    def words(self) -> NDArray[np.int32]:
        return self._here.words

    @property
    def counts(self) -> NDArray[np.float32]:
        return self._here.counts

    def take(self, chosen: NDArray[np.intp]) -> "GivenRows":
        """Return some of the documents, without a copy."""
        return GivenRows(self.there.some(chosen))

    def between(self, first: int, last: int) -> "GivenRows":
        """Return consecutive documents, without a copy."""
        return self.take(np.arange(first, last))

    @cached_property
    def _tokens(self) -> NDArray[np.float64]:
        return self.there.tokens()


class GivenDocuments(CudaDocuments):
    """A collection of CuPy's, which is copied to host memory on first use there."""

    fits = True

    def __init__(self, device: Device, X: Any) -> None:
        self.device, self.given, self.dtype = device, X, X.dtype
        self.n_docs, self.n_words = map(int, X.shape)
        self._hashed = Rows.content_keys
        self.there = CudaRows(
            device,
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(np.float32, copy=False),
            lengths=np.diff(device.host(X.indptr)).astype(np.int64),
        )

    @cached_property
    def matrix(self) -> sparse.csr_array:  # type: ignore[override]
        """The counts in host memory."""
        return counts(self.given)

    def part(self, first: int = 0, last: int | None = None) -> Rows:
        """Return consecutive documents; the whole collection without a copy."""
        return super().part(first, last) if first or last is not None else GivenRows(self.there)


def resident(device: Device, X: Any) -> GivenDocuments | None:
    """Return CuPy's counts as documents of the GPU; see `Engine.resident`.

    None for counts that must be converted or refused, which is done in host memory.
    """
    if isinstance(X, device.cp.ndarray):
        X = _as_csr(device.cp, X)
    elif getattr(X, "format", None) != "csr":
        return None
    plain = X is not None and X.shape[0] > 0 and _is_plain(X)
    return GivenDocuments(device, X) if plain else None


def _as_csr(cp: Any, X: Any) -> Any:
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        return None
    from cupyx.scipy import sparse as there

    is_there = X != 0  # NaN, too
    rows, columns = cp.nonzero(is_there)
    ends = cp.concatenate((cp.zeros(1, np.int64), cp.cumsum(is_there.sum(axis=1))))
    data = X[rows, columns].astype(np.float64 if X.dtype == np.float64 else np.float32)
    return there.csr_matrix((data, columns.astype(np.int32), ends), shape=X.shape)


def _is_plain(X: Any) -> bool:
    """Whether a matrix has sorted, distinct words and positive counts, as kernels expect."""
    ends, words, data = X.indptr, X.indices, X.data
    if data.dtype not in (np.float32, np.float64) or not len(ends):
        return False
    if int(ends[0]) != 0 or int(ends[-1]) != len(words) or bool((ends[1:] < ends[:-1]).any()):
        return False
    if not len(words):
        return True
    if int(words.min()) < 0 or int(words.max()) >= X.shape[1]:
        return False
    falls = words[1:] <= words[:-1]
    first = ends[1:-1]
    first = first[(first > 0) & (first < len(words))]
    falls[first - 1] = False  # from one document to the next
    # (NaN is not greater than anything)
    return not bool(falls.any()) and bool(((data > SMALLEST_COUNT) & (data <= LARGEST_COUNT)).all())
