"""Mixtures by a GPU's kernels, and the processor's where there is none or it was not enough."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from opelda.engines._accuracy import kept, replaced
from opelda.engines._solutions import completed
from opelda.engines.cpu import _kernels as cpu_kernels
from opelda.engines.cuda import _kernels as kernels
from opelda.engines.cuda._device_arrays import GivenRows
from opelda.engines.cuda._documents import CudaRows
from opelda.engines.cuda._kernels import CudaPicks, Found, each_document
from opelda.engines.cuda._tables import CudaTable
from opelda.engines.seam import (
    Accuracy,
    ExactSettings,
    KernelSettings,
    Rows,
    Solution,
    Task,
    Wanted,
    is_concave,
)

FACE = 32  # topics of a document that are worked on at a time, at most: one for each lane


def solved(table: CudaTable, rows: Rows, task: Task, wanted: Wanted, n_threads: int) -> Solution:
    """Infer mixtures, by the GPU where it has a kernel."""
    if is_concave(task.alpha) and isinstance(rows, GivenRows):
        rows = Rows(rows.indptr, rows.words, rows.counts)  # the processor knows their bounds

    def here(some: Rows, how: Task, parts: Wanted) -> Solution:
        return cpu_kernels.solve(table, some, how, parts, True, n_threads)

    def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
        settings = how.method.kernel(table.n_topics, how.seed)
        likeliest = isinstance(settings, ExactSettings) and not is_concave(how.alpha)
        has_kernel = likeliest or kernels.has_kernel(settings)
        if settings is None or not has_kernel:
            kernels.tell_of(how.method)
            return here(some, how, parts)
        there, alpha = CudaRows.of(table.device, some), how.alpha.astype(np.float32)
        dense = parts.theta or parts.certificate
        found = _solve(table, there, settings, alpha, dense, parts.factors)
        solution = kernels.on_host(table.device, found, some, parts)
        if parts.certificate:
            bounds = kernels.certificate(table, there, some, found.theta, how.alpha)
            solution = replace(solution, certificate=bounds)
        solution = completed(solution, some, how.alpha)
        return _made_good(solution, some, settings, lambda rows: here(rows, how, parts))

    return kept(infer, table.known_part(rows), task, wanted)


def _solve(
    table: CudaTable,
    rows: CudaRows,
    settings: KernelSettings,
    alpha: NDArray[np.float32],
    theta: bool,
    factors: bool = False,
) -> Found:
    """Infer mixtures; dense too where they are wanted so, or by a method that makes no others."""
    if isinstance(settings, ExactSettings):
        return _exact(table, rows, settings, alpha, theta)
    return kernels.solve(table, rows, settings, alpha, theta, factors)


def _exact(
    table: CudaTable,
    rows: CudaRows,
    settings: ExactSettings,
    alpha: NDArray[np.float32],
    theta: bool,
) -> Found:
    cp, shape = table.device.cp, (rows.n_docs, FACE)
    dense = cp.zeros((rows.n_docs, table.n_topics), np.float32) if theta else None
    topics, shares = cp.zeros(shape, np.int32), cp.zeros(shape, np.float32)
    n_picked, n_iter = (cp.empty(rows.n_docs, np.int32) for _ in range(2))
    loss = cp.empty(rows.n_docs)

    def floats(room: int) -> int:
        # in double precision two of a word, a square of topics and one of a topic
        doubles = 2 * room + FACE * (FACE + 1) + FACE
        return 2 * doubles + room * (FACE + 1) + int(table.beta.shape[1]) + FACE

    each_document(
        table.device, "exact", rows, table, floats,
        table.means, np.float64(settings.max_loss), np.float64(settings.max_loss_per_token),
        dense, n_picked, topics, shares, loss, n_iter,
    )  # fmt: skip
    start = (alpha / alpha.sum(dtype=np.float64)).astype(np.float32)
    picks = CudaPicks(topics, shares, n_picked, 1.0, 0.0, start, table.means)
    return Found(dense, picks, n_iter, loss=loss)


def _made_good(
    found: Solution, rows: Rows, settings: KernelSettings, here: Callable[[Rows], Solution]
) -> Solution:
    """Return the mixtures, with the processor's for those that are not as good as was asked."""
    loss = found.loss
    if loss is None or not isinstance(settings, ExactSettings):
        return found
    if found.certificate is not None:  # (another bound of the same)
        loss = np.minimum(loss, found.certificate.likelihood_loss)
        found.certificate.likelihood_loss[:] = loss
    missed = np.flatnonzero(loss > Accuracy(**vars(settings)).limits(rows.tokens()))
    found = replace(found, loss=loss)
    if not len(missed):
        return found
    best = here(rows.take(missed))
    return replaced(found, missed, best, np.arange(len(missed)))
