"""One call of a kernel on a GPU: inference from its settings, and certificates."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines import _cpu_kernels as cpu
from opelda.engines import _settings as s
from opelda.engines._cpu_tables import padded
from opelda.engines._cuda_device import LANES, Device
from opelda.engines._cuda_tables import CudaTable
from opelda.engines._documents import Documents, Rows
from opelda.engines._keys import GOLDEN, mix
from opelda.engines._solutions import Certificate, Picks, Solution, Wanted, certify_empty

WARPS = 4  # of a block, each with a document
# Words of documents that are worked on in a launch of their own: shared memory is for the longest.
ROOMS = (32, 64, 128, 256, 512)
FEW_DOCS = 4096
MOST_SHARED = 96 * 1024  # bytes of a block
MOST_MEMORY = 2**30  # bytes of all documents that shared memory is too small for


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
        if self._classes is not None:
            return self._classes
        longest = int(self.lengths.max(initial=0))
        rooms = [room for room in ROOMS if room < longest]
        rooms.append(next((r for r in ROOMS if r >= longest), -(-longest // LANES) * LANES))
        if self.n_docs <= FEW_DOCS:
            rooms = [room for room in rooms if room >= ROOMS[-1]] or rooms[-1:]
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

    @property
    def lengths(self) -> NDArray[np.float64]:
        """The tokens of each document."""
        if self._tokens is None:
            self._tokens = self.part().tokens()
        return self._tokens


@dataclass(frozen=True)
class CudaPicks:
    """Mixtures on the GPU: a few topics of each document, and a rest spread like the start."""

    topics: Any  # (n_docs, most)
    values: Any  # likewise; times `share` they are shares
    n_picked: Any  # of each document; None: all
    share: float
    rest: float  # negative: what is missing to 1
    start: NDArray[np.float32]
    start_words: Any  # words under the start


@dataclass(frozen=True)
class Found:
    """Mixtures on the GPU."""

    theta: Any
    picks: CudaPicks
    n_iter: int


def has_kernel(settings: s.KernelSettings | None) -> bool:
    """Whether there is a kernel for the settings."""
    if isinstance(settings, s.OPESettings):
        return settings.a2 is None and settings.n_restarts == 1 and settings.tol == 0
    return isinstance(settings, s.EMSettings)


def each_document(
    device: Device,
    name: str,
    rows: CudaRows,
    table: CudaTable,
    floats: Callable[[int], int],
    *given: Any,
) -> None:
    """Run a kernel with a warp for each document, which has that many floats for so many words."""
    for room, n_docs, docs in rows.by_length(device):
        room_of_one = floats(room) + floats(room) % 2
        shared = 4 * WARPS * room_of_one
        fits = shared <= min(MOST_SHARED, device.most_shared)
        n_warps = n_docs if fits else min(n_docs, max(MOST_MEMORY // (4 * room_of_one), 1))
        blocks = -(-n_warps // WARPS)
        memory = None if fits else device.cp.empty((blocks * WARPS, room_of_one), np.float32)
        device.launch(
            name, f"{name}_shared" if fits else f"{name}_memory", blocks,
            *batch_of(docs, rows, table),
            np.int32(room), memory, np.int64(room_of_one), *given,
            threads=WARPS * LANES, shared=shared if fits else 0,
        )  # fmt: skip


def batch_of(docs: Any, rows: CudaRows, table: CudaTable) -> tuple[Any, ...]:
    """Return documents and topics as kernels take them."""
    topics = table.beta, np.int32(table.n_topics), np.int32(table.beta.shape[1])
    parts = rows.chosen, rows.indptr, rows.words, rows.counts
    return (docs, np.int32(len(docs)), *parts, *topics)


def words_under(table: CudaTable, start: NDArray[np.float32]) -> Any:
    """Return the words' probabilities under a mixture."""
    if (start == start[0]).all():
        return table.means
    device, width = table.device, table.beta.shape[1]
    blocks = device.cp.empty((table.n_words, width // LANES), np.float32)
    words = device.cp.empty(table.n_words, np.float32)
    device.run(
        "counts", "masses", table.n_words,
        table.beta, np.int32(table.n_words), np.int32(width // LANES),
        device.array(padded(start, width)), blocks, words,
        threads=LANES,
    )  # fmt: skip
    return words


def solve(
    table: CudaTable,
    rows: CudaRows,
    settings: s.KernelSettings,
    alpha: NDArray[np.float32],
    theta: bool,
) -> Found:
    """Infer mixtures; dense too where they are wanted so."""
    dense = table.device.cp.empty((rows.n_docs, table.n_topics), np.float32) if theta else None
    if isinstance(settings, s.OPESettings):
        return _ope(table, rows, settings, alpha, dense)
    assert isinstance(settings, s.EMSettings)
    return _em(table, rows, settings, alpha, dense)


def _ope(
    table: CudaTable,
    rows: CudaRows,
    settings: s.OPESettings,
    alpha: NDArray[np.float32],
    theta: Any,
) -> Found:
    device, n_topics = table.device, table.n_topics
    n_sequences, n_moves = settings.a.shape
    most = min(n_topics, n_moves)
    shape = rows.n_docs, most
    topics, times = device.cp.empty(shape, np.int32), device.cp.empty(shape, np.float32)
    n_picked = device.cp.empty(rows.n_docs, np.int32)
    start = settings.start.astype(np.float32)
    start_words = words_under(table, start)
    by_content = settings.seed is not None
    seed = mix(np.array([settings.seed or 0], np.uint64) + GOLDEN)[0]
    prior = ((alpha.astype(np.float64) - 1) / start).astype(np.float32)

    def floats(room: int) -> int:
        return room * (2 + int(most)) + int(table.beta.shape[1]) + 2 * int(most)

    each_document(
        device, "ope", rows, table, floats,
        device.fixed(settings.a), device.fixed(settings.b), device.fixed(settings.base),
        device.array(alpha), device.array(start), device.array(prior), start_words,
        device.array(table.ids), seed, np.int32(n_moves), np.int32(n_sequences), np.int32(most),
        np.int32(by_content), theta, n_picked, topics, times,
    )  # fmt: skip
    base = float(settings.base[n_moves])
    mass = base + n_moves
    picks = CudaPicks(topics, times, n_picked, 1.0 / mass, base / mass, start, start_words)
    return Found(theta, picks, int(n_moves) + settings.first_t - 1)


def _em(
    table: CudaTable,
    rows: CudaRows,
    settings: s.EMSettings,
    alpha: NDArray[np.float32],
    theta: Any,
) -> Found:
    device, n_topics = table.device, table.n_topics
    n_kept = min(settings.n_kept, n_topics)
    step = n_kept | 1  # odd: neither words nor topics side by side meet in a bank
    total = float(alpha.sum(dtype=np.float64))
    start = (alpha / total).astype(np.float32)
    start_words = words_under(table, start)
    shape = rows.n_docs, n_kept
    topics, shares = device.cp.empty(shape, np.int32), device.cp.empty(shape, np.float32)

    def floats(room: int) -> int:
        return room * (3 + step) + int(table.beta.shape[1]) + 3 * n_kept

    each_document(
        device, "em", rows, table, floats,
        device.array(alpha), device.array(start), start_words, np.float64(total),
        np.int32(settings.n_iter), np.int32(n_kept), np.int32(step), theta, topics, shares,
    )  # fmt: skip
    picks = CudaPicks(topics, shares, None, 1.0, -1.0, start, start_words)
    return Found(theta, picks, settings.n_iter)


def on_host(device: Device, found: Found, rows: Rows, wanted: Wanted) -> Solution:
    """Return mixtures in host memory, as the CPU's kernels make them."""
    n_iter = np.full(rows.n_docs, found.n_iter, np.int32)
    theta = device.host(found.theta) if wanted.theta else None
    if not wanted.picks:
        return Solution(theta, n_iter)
    picks, topics, values = found.picks, *map(device.host, (found.picks.topics, found.picks.values))
    if picks.n_picked is None:
        return Solution(theta, n_iter, picks=cpu.em_picks(rows, picks.start, topics, values))
    n_picked = device.host(picks.n_picked)
    used = np.arange(topics.shape[1]) < n_picked[:, None]
    indptr = np.concatenate(([0], np.cumsum(n_picked))).astype(np.int64)
    shares = (values[used] * picks.share).astype(np.float32)
    rest = np.where(rows.empty, 1.0, picks.rest).astype(np.float32)
    return Solution(theta, n_iter, picks=Picks(indptr, topics[used], shares, rest, picks.start))


def certify(
    table: CudaTable, rows: CudaRows, theta: Any, alpha: NDArray[np.float32]
) -> list[NDArray[np.float64]]:
    """Compute the certificates of given mixtures, of documents with words."""
    device = table.device
    values = [device.cp.zeros(rows.n_docs) for _ in range(5)]
    each_document(
        device, "certify", rows, table, lambda room: 2 * room,
        device.array(alpha), device.array(theta, np.float32), *values,
    )  # fmt: skip
    return [device.host(value) for value in values]


def certificate(
    table: CudaTable, rows: CudaRows, host: Rows, theta: Any, alpha: NDArray[np.float64]
) -> Certificate:
    """Compute the certificates of given mixtures."""
    found = Certificate(*certify(table, rows, theta, alpha.astype(np.float32)))
    certify_empty(found, host, alpha)
    return found
