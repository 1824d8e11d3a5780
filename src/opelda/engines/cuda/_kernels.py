"""One call of a kernel on a GPU: inference from its settings, and certificates."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from opelda.engines import seam as s
from opelda.engines.cpu import _kernels as cpu
from opelda.engines.cpu._tables import padded
from opelda.engines.cuda._device import LANES, Device, tell
from opelda.engines.cuda._documents import CudaRows, GivenRows
from opelda.engines.cuda._tables import CudaTable
from opelda.engines.seam import Certificate, Picks, Rows, Solution, Task, Wanted

MOST_SHARED = 96 * 1024  # bytes of a block
MOST_MEMORY = 2**30  # bytes of all documents that shared memory is too small for


class CudaPicks(NamedTuple):
    """Mixtures on the GPU: a few topics of each document, and a rest spread like the start."""

    topics: Any  # (n_docs, most)
    values: Any  # likewise; times `share` they are shares
    n_picked: Any  # of each document; None: all
    share: float
    rest: float  # negative: 1 less the shares
    start: NDArray[np.float32]
    start_words: Any  # words under the start


class CudaMixtures(NamedTuple):
    """Mixtures on the GPU."""

    theta: Any
    picks: CudaPicks | None  # of OPE, EM and Exact
    n_iter: Any  # of all documents, or of each
    factors: Any = None  # VB's
    loss: Any = None  # Exact's


def kernel_of(task: Task, n_topics: int, *, learning: bool = False) -> s.KernelSettings | None:
    """Return the settings of a task's kernel; None, logged once, where the processor infers."""
    settings = task.method.kernel(n_topics, task.seed)
    if isinstance(settings, s.OPESettings):
        known = settings.a2 is None and settings.n_restarts == 1 and settings.tol == 0
    elif isinstance(settings, s.ExactSettings):
        known = not learning and not s.is_concave(task.alpha)
    else:
        known = isinstance(settings, s.EMSettings | s.VBSettings | s.CVB0Settings)
    if known and not (learning and task.accuracy):
        return settings
    name = type(task.method).__name__
    tell(f"{name} has no GPU kernel for these parameters; the CPU infers these mixtures.")
    return None


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


class Call(NamedTuple):
    """Documents and topics, and room for dense mixtures if they are wanted."""

    table: CudaTable
    rows: CudaRows
    alpha: NDArray[np.float32]
    theta: Any = None
    factors: bool = False

    def run(self, name: str, floats: Callable[[int], int], *given: Any) -> None:
        """Run a kernel with a warp for each document, and `floats` of memory for its words."""
        device = self.table.device
        for room, n_docs, docs in self.rows.by_length:
            room_of_one = floats(room) + floats(room) % 2
            most = min(MOST_SHARED, device.most_shared) // (4 * room_of_one)
            fits = most > 0
            # documents of a block: 4, 2 or 1
            warps = 4 if most >= 4 or not fits else 2 if most >= 2 else 1
            n_warps = n_docs if fits else min(n_docs, max(MOST_MEMORY // (4 * room_of_one), 1))
            blocks = -(-n_warps // warps)
            memory = None if fits else device.cp.empty((blocks * warps, room_of_one), np.float32)
            device.launch(
                name, f"{name}_shared" if fits else f"{name}_memory", blocks,
                *batch_of(docs, self.rows, self.table),
                np.int32(room), memory, np.int64(room_of_one), *given,
                threads=warps * LANES, shared=4 * warps * room_of_one if fits else 0,
            )  # fmt: skip


def solve(
    table: CudaTable,
    rows: CudaRows,
    settings: s.KernelSettings,
    alpha: NDArray[np.float32],
    theta: bool,
    factors: bool = False,
) -> CudaMixtures:
    """Infer mixtures; dense too where they are wanted so, or by a method that makes no others."""
    is_dense = theta or isinstance(settings, s.VBSettings | s.CVB0Settings)
    # (kernels skip documents without words)
    dense = table.device.cp.zeros((rows.n_docs, table.n_topics), np.float32) if is_dense else None
    call = Call(table, rows, alpha, dense, factors)
    found: CudaMixtures = KERNELS[type(settings)](call, settings)
    return found


def _ope(call: Call, settings: s.OPESettings) -> CudaMixtures:
    table, rows, alpha, theta, _ = call
    device, n_topics = table.device, table.n_topics
    n_sequences, n_moves = settings.a.shape
    most = min(n_topics, n_moves)
    shape = rows.n_docs, most
    topics, times = device.cp.zeros(shape, np.int32), device.cp.zeros(shape, np.float32)
    n_picked = device.cp.empty(rows.n_docs, np.int32)
    start = settings.start.astype(np.float32)
    start_words = words_under(table, start)
    by_content = settings.seed is not None
    seed = s.mix(np.array([settings.seed or 0], np.uint64) + s.GOLDEN)[0]
    prior = ((alpha.astype(np.float64) - 1) / start).astype(np.float32)
    columns = min(int(most), 16)  # topics with the words' columns at hand: few pick more

    def floats(room: int) -> int:
        return room * (2 + (columns | 1)) + int(table.beta.shape[1]) + 2 * int(most)

    call.run(
        "ope", floats,
        device.fixed(settings.a), device.fixed(settings.b), device.fixed(settings.base),
        device.fixed(alpha), device.fixed(start), device.fixed(prior), start_words,
        device.array(table.ids), seed, np.int32(n_moves), np.int32(n_sequences), np.int32(most),
        np.int32(by_content), np.int32(columns), theta, n_picked, topics, times,
    )  # fmt: skip
    base = float(settings.base[n_moves])
    mass = base + n_moves
    picks = CudaPicks(topics, times, n_picked, 1.0 / mass, base / mass, start, start_words)
    return CudaMixtures(theta, picks, int(n_moves) + settings.first_t - 1)


def _em(call: Call, settings: s.EMSettings) -> CudaMixtures:
    table, rows, alpha, theta, _ = call
    device, n_topics = table.device, table.n_topics
    n_kept = min(settings.n_kept, n_topics)
    step = n_kept | 1  # odd: neither words nor topics side by side meet in a bank
    total = float(alpha.sum(dtype=np.float64))
    start = (alpha / total).astype(np.float32)
    start_words = words_under(table, start)
    shape = rows.n_docs, n_kept
    topics, shares = device.cp.zeros(shape, np.int32), device.cp.zeros(shape, np.float32)

    def floats(room: int) -> int:
        return room * (3 + step) + int(table.beta.shape[1]) + 3 * n_kept

    call.run(
        "em", floats,
        device.fixed(alpha), device.fixed(start), start_words, np.float64(total),
        np.int32(settings.n_iter), np.int32(n_kept), np.int32(step), theta, topics, shares,
    )  # fmt: skip
    picks = CudaPicks(topics, shares, None, 1.0, -1.0, start, start_words)
    return CudaMixtures(theta, picks, settings.n_iter)


def _vb(call: Call, settings: s.VBSettings) -> CudaMixtures:
    table, rows, alpha, theta, _ = call
    device, n_topics = table.device, table.n_topics
    n_iter = device.cp.zeros(rows.n_docs, np.int32)
    weighs = device.cp.zeros_like(theta) if call.factors else None
    of_alpha = np.float64(gammaln(np.maximum(alpha, 1e-30).sum(dtype=np.float64)))
    start = None if settings.start is None else device.array(settings.start, np.float64)
    call.run(
        "vb", lambda room: 2 * (room + 2 * n_topics),
        device.fixed(alpha), of_alpha, np.int32(settings.n_iter), np.float64(settings.tol), start,
        theta, weighs, n_iter,
    )  # fmt: skip
    return CudaMixtures(theta, None, n_iter, weighs)


def _cvb0(call: Call, settings: s.CVB0Settings) -> CudaMixtures:
    table, _, alpha, theta, _ = call
    device, passes = table.device, (settings.burn_in, settings.n_samples)
    call.run(
        "cvb0", lambda room: 4 * table.n_topics,
        device.fixed(alpha), np.float64(alpha.sum(dtype=np.float64)), *map(np.int32, passes),
        *map(np.float64, (settings.scale, settings.offset, settings.decay)), theta,
    )  # fmt: skip
    return CudaMixtures(theta, None, sum(passes))


def _exact(call: Call, settings: s.ExactSettings) -> CudaMixtures:
    table, rows, alpha, theta, _ = call
    face = 32  # topics of a document at a time, at most: one for each lane
    cp, shape = table.device.cp, (rows.n_docs, face)
    topics, shares = cp.zeros(shape, np.int32), cp.zeros(shape, np.float32)
    n_picked, n_iter = (cp.empty(rows.n_docs, np.int32) for _ in range(2))
    loss = cp.empty(rows.n_docs)

    def floats(room: int) -> int:
        # in double precision two of a word, a square of topics and one of a topic
        doubles = 2 * room + face * (face + 1) + face
        return 2 * doubles + room * (face + 1) + int(table.beta.shape[1]) + face

    call.run(
        "exact", floats,
        table.means, np.float64(settings.max_loss), np.float64(settings.max_loss_per_token),
        theta, n_picked, topics, shares, loss, n_iter,
    )  # fmt: skip
    start = (alpha / alpha.sum(dtype=np.float64)).astype(np.float32)
    picks = CudaPicks(topics, shares, n_picked, 1.0, 0.0, start, table.means)
    return CudaMixtures(theta, picks, n_iter, loss=loss)


KERNELS: dict[type, Any] = {
    s.OPESettings: _ope,
    s.EMSettings: _em,
    s.VBSettings: _vb,
    s.CVB0Settings: _cvb0,
    s.ExactSettings: _exact,
}


def on_host(device: Device, found: CudaMixtures, rows: Rows, wanted: Wanted) -> Solution:
    """Return mixtures as the CPU's kernels make them; dense ones stay where the documents were."""
    n_iter = np.full(rows.n_docs, device.host(found.n_iter), np.int32)
    picks, loss = found.picks, None if found.loss is None else device.host(found.loss)
    theta = found.theta if wanted.theta or picks is None else None
    if theta is not None and not isinstance(rows, GivenRows):
        theta = device.host(theta)
    if picks is None:
        factors = None if found.factors is None else device.host(found.factors)
        return Solution(theta, n_iter, factors=factors)
    if not wanted.picks:
        return Solution(theta, n_iter, loss=loss)
    topics, values = device.host(picks.topics), device.host(picks.values)
    if picks.n_picked is None:
        return Solution(theta, n_iter, picks=cpu.em_picks(rows, picks.start, topics, values))
    n_picked = device.host(picks.n_picked)
    used = np.arange(topics.shape[1]) < n_picked[:, None]
    indptr = np.concatenate(([0], np.cumsum(n_picked))).astype(np.int64)
    shares = (values[used] * picks.share).astype(np.float32)
    rest = np.where(rows.empty, 1.0, picks.rest).astype(np.float32)
    few = Picks(indptr, topics[used], shares, rest, picks.start)
    return Solution(theta, n_iter, picks=few, loss=loss)


def certify(
    table: CudaTable, rows: CudaRows, theta: Any, alpha: NDArray[np.float64]
) -> Certificate:
    """Compute the certificates of given mixtures, of documents with words."""
    device = table.device
    values = [device.cp.zeros(rows.n_docs) for _ in range(5)]
    mixtures = device.array(theta, np.float32)
    Call(table, rows, alpha.astype(np.float32)).run(
        "certify", lambda room: 2 * room, device.fixed(alpha), mixtures, *values
    )
    return Certificate(*map(device.host, values))
