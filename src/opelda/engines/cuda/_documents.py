"""Documents on a GPU: all of a collection, one block after another, or CuPy's where they are."""

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
    """Documents on the GPU, and which of them are meant."""

    indptr: Any
    words: Any
    counts: Any
    lengths: NDArray[np.int64]  # distinct words of those that are meant
    chosen: Any = None  # their numbers; None: all
    _classes: list[tuple[int, int, Any]] | None = None

    @classmethod
    def of(cls, device: Device, rows: "CudaRows | Rows") -> "CudaRows":
        """Copy documents to the GPU, if they are not there."""
        # (`GivenRows` have them)
        given: CudaRows | None = rows if isinstance(rows, cls) else getattr(rows, "there", None)
        if given is not None:
            return given
        assert isinstance(rows, Rows)
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

    def tokens(self, device: Device) -> NDArray[np.float64]:
        """Return the tokens of each document that is meant."""
        n_docs = len(self.indptr) - 1
        found = device.cp.empty(n_docs)
        given = self.indptr, self.counts, np.int32(n_docs), found
        device.run("counts", "lengths", n_docs, *given, threads=LANES)
        tokens = device.host(found)
        return tokens if self.chosen is None else tokens[device.host(self.chosen)]

    def by_length(self, device: Device) -> list[tuple[int, int, Any]]:
        """Return (words that there is room for, number of documents, their places) by length.

        Shared memory is for the longest document of a launch. Few documents are taken together:
        they leave most of the GPU idle, one launch or another.
        """
        if self._classes is not None or not self.n_docs:
            return self._classes or []
        longest = int(self.lengths.max())
        rooms = [32, 64, 128, 256, 512]
        del rooms[bisect_left(rooms, longest) + 1 :]
        if longest > rooms[-1]:
            rooms.append(-(-longest // LANES) * LANES)
        elif self.n_docs <= FEW_DOCS:
            return [(rooms[-1], self.n_docs, device.numbers(self.n_docs))]
        found, below = [], -1
        for room in rooms:
            docs = np.flatnonzero((self.lengths > below) & (self.lengths <= room))
            if len(docs):
                found.append((room, len(docs), device.array(docs.astype(np.int32))))
            below = room
        object.__setattr__(self, "_classes", found)
        return found


def has_room(device: Device, n_bytes: float, most_free: float = 1 / 3) -> bool:
    """Whether so many bytes can stay on the GPU, and take no more than a part of what is free."""
    if AT_ONCE is not None:
        return n_bytes <= AT_ONCE
    return n_bytes <= BLOCK or n_bytes <= most_free * device.free()


def cut(before: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Divide documents, with so many bytes before each and in all, into blocks: first and last."""
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

    @classmethod
    def of(cls, rows: Rows, n_words: int) -> "CudaDocuments":
        """Take documents in the types that kernels take."""
        parts = rows.counts, rows.words, rows.indptr
        return cls(sparse.csr_array(parts, shape=(rows.n_docs, n_words)))

    _there: CudaRows | None = None
    _fits: bool | None = None
    _tokens: NDArray[np.float64] | None = None

    def there(self, device: Device) -> CudaRows:
        """Return all documents on the GPU."""
        if self._there is None:
            self._there = CudaRows.of(device, self.part())
        return self._there

    def some(
        self, device: Device, chosen: Chosen, n_topics: int, n_threads: int
    ) -> tuple[Sequence[CudaRows | Rows], NDArray[np.float64]]:
        """Return some documents, block by block, and the tokens of each.

        Of a collection that does not fit, only they go to the GPU.
        """
        if self._fits is None:
            self._fits = self._there is not None or has_room(
                device, 8 * (int(self.matrix.indptr[-1]) + self.n_docs)
            )
        if not self._fits:
            rows = gathered(self, chosen, n_threads)
            return [block for _, block in in_blocks(rows, n_topics)], rows.tokens()
        there, lengths = self.there(device), self.lengths(device)
        if chosen is not None:
            there, lengths = there.some(device, chosen), lengths[chosen]
        return [there], lengths

    def lengths(self, device: Device) -> NDArray[np.float64]:
        """Return the tokens of each document."""
        if self._tokens is None:
            self._tokens = self.there(device).tokens(device)
        return self._tokens


class GivenRows(Rows):
    """Documents on the GPU, of which words and counts come here only where somebody asks."""

    def __init__(self, device: Device, there: CudaRows) -> None:
        ends = np.concatenate(([0], np.cumsum(there.lengths, dtype=np.int64)))
        vars(self).update(device=device, there=there, indptr=ends)

    device: Device
    there: CudaRows

    @cached_property
    def _here(self) -> Rows:
        host = self.device.host
        parts = host(self.there.indptr), host(self.there.words), host(self.there.counts)
        chosen = self.there.chosen
        return Rows(*parts) if chosen is None else Rows(*parts).take(host(chosen))

    @property
    def words(self) -> NDArray[np.int32]:
        """Their words in host memory."""
        return self._here.words

    @property
    def counts(self) -> NDArray[np.float32]:
        """Their counts in host memory."""
        return self._here.counts

    def take(self, chosen: NDArray[np.intp]) -> "GivenRows":
        """Return some of the documents, without a copy."""
        before, meant = self.there.chosen, self.there.some(self.device, chosen)
        if before is not None:
            of_all = self.device.host(before)[chosen].astype(np.int32)
            meant = replace(meant, chosen=self.device.array(of_all))
        return GivenRows(self.device, meant)

    def between(self, first: int, last: int) -> "GivenRows":
        """Return consecutive documents, without a copy."""
        return self.take(np.arange(first, last))

    @cached_property
    def _tokens(self) -> NDArray[np.float64]:
        return self.there.tokens(self.device)


class GivenDocuments(CudaDocuments):
    """A collection that is not in host memory before somebody asks for it there."""

    def __init__(self, device: Device, X: Any) -> None:
        self.device, self.given = device, X
        self._hashed = Rows.content_keys
        self._there = CudaRows(
            X.indptr.astype(np.int64),
            X.indices.astype(np.int32, copy=False),
            X.data.astype(np.float32, copy=False),
            lengths=np.diff(device.host(X.indptr)).astype(np.int64),
        )

    @cached_property
    def matrix(self) -> sparse.csr_array:  # type: ignore[override]
        """The counts in host memory."""
        return counts(self.given)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the counts that were given."""
        return self.given.dtype  # type: ignore[no-any-return]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.given.shape[0])

    @property
    def n_words(self) -> int:
        """Number of columns."""
        return int(self.given.shape[1])

    def part(self, first: int = 0, last: int | None = None) -> Rows:
        """Return consecutive documents; all of them without a copy."""
        if first or last is not None:
            return super().part(first, last)
        assert self._there is not None
        return GivenRows(self.device, self._there)


def resident(device: Device, X: Any) -> GivenDocuments | None:
    """Return CuPy's counts as documents of the GPU; see `Engine.resident`.

    None where they must be converted or refused, which is done in host memory.
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
    """Whether kernels can trust it as it is: sorted, distinct words and positive counts."""
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
