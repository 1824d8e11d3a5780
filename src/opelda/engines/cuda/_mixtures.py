"""Mixtures on a GPU or its host, held-out scores, and documents far apart."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._accuracy import kept, replaced
from opelda.engines._solutions import completed
from opelda.engines.cpu import _kernels as cpu_kernels
from opelda.engines.cuda import _kernels as kernels
from opelda.engines.cuda._device import LANES, THREADS, Device
from opelda.engines.cuda._documents import CudaRows, GivenRows, in_blocks
from opelda.engines.cuda._tables import CudaTable
from opelda.engines.seam import (
    NEAR,
    SMALLEST,
    Documents,
    ExactSettings,
    Rows,
    Solution,
    Task,
    Wanted,
    is_concave,
)


def solved(table: CudaTable, rows: Rows, task: Task, wanted: Wanted, n_threads: int) -> Solution:
    """Infer mixtures, on the GPU where it has a kernel."""
    if is_concave(task.alpha) and isinstance(rows, GivenRows):
        rows = Rows(rows.indptr, rows.words, rows.counts)  # the processor knows their bounds

    def here(some: Rows, how: Task, parts: Wanted) -> Solution:
        return cpu_kernels.solve(table, some, how, parts, n_threads)

    def infer(some: Rows, how: Task, parts: Wanted) -> Solution:
        settings = kernels.kernel_of(how, table.n_topics)
        if settings is None:
            return here(some, how, parts)
        there, alpha = CudaRows.of(table.device, some), how.alpha.astype(np.float32)
        dense = parts.theta or parts.certificate
        found = kernels.solve(table, there, settings, alpha, dense, parts.factors)
        solution = kernels.on_host(table.device, found, some, parts)
        if parts.certificate:
            bounds = kernels.certify(table, there, found.theta, how.alpha)
            solution = replace(solution, certificate=bounds)
        solution = completed(solution, some, how.alpha)
        if solution.loss is None or not isinstance(settings, ExactSettings):
            return solution
        # the processor infers the mixtures that miss the accuracy
        loss = solution.loss
        if solution.certificate is not None:  # (another bound of the same)
            loss = np.minimum(loss, solution.certificate.likelihood_loss)
            solution.certificate.likelihood_loss[:] = loss
        solution = replace(solution, loss=loss)
        missed = np.flatnonzero(loss > settings.limits(some.tokens()))
        if not len(missed):
            return solution
        best = here(some.take(missed), how, parts)
        return replaced(solution, missed, best, np.arange(len(missed)))

    return kept(infer, table.known_part(rows), task, wanted)


def predict(
    device: Device, components: NDArray[Any], documents: Documents, theta: NDArray[Any]
) -> NDArray[np.float64]:
    """Return log probabilities of documents, block by block; see `Engine.predict`."""
    single = components.dtype == np.float32
    topics = device.array(components, np.float32 if single else np.float64)
    found = np.zeros(documents.n_docs)

    def score(block: tuple[slice, Rows]) -> None:
        rows, logs = CudaRows.of(device, block[1]), device.cp.zeros(block[1].n_docs)
        mixtures = device.array(theta[block[0]], np.float32)
        device.run(
            "predict", f"predict_{topics.dtype}", rows.n_docs,
            rows.indptr, rows.words, rows.counts, np.int32(rows.n_docs),
            topics, np.int64(topics.shape[1]), np.int32(len(topics)),
            mixtures, np.float64(SMALLEST), logs,
            threads=LANES,
        )  # fmt: skip
        found[block[0]] = device.host(logs)

    device.side_by_side(score, in_blocks(documents.part(), len(topics)))
    return found


def far_apart(
    device: Device, X: sparse.csr_array, draws: NDArray[np.float64], n_begun: int
) -> NDArray[np.int64] | None:
    """Choose documents; see `Engine.far_apart`."""
    cp, n_docs = device.cp, X.shape[0] - n_begun
    rows = cp.zeros(n_begun + len(draws), np.int32)
    rows[:n_begun] = device.array(np.arange(n_docs, X.shape[0], dtype=np.int32))
    parts = (X.indptr, np.int64), (X.indices, np.int32), (X.data, np.float64)
    given = tuple(device.array(*part) for part in parts)
    laid, nearest = cp.zeros(X.shape[1]), cp.zeros(n_docs)
    distance = (given[0][1 : n_docs + 1] > given[0][:n_docs]).astype(np.float64)
    for at, draw in enumerate((*[-1.0] * n_begun, *draws)):
        device.launch(
            "seeding", "choose", 1,
            distance, np.int32(n_docs), np.float64(draw), np.int32(at), rows, *given, laid,
            threads=THREADS,
        )  # fmt: skip
        device.run(
            "seeding", "leave", n_docs,
            *given, np.int32(n_docs), laid, np.float64(NEAR), nearest, distance,
            threads=LANES,
        )  # fmt: skip
    chosen = device.host(rows)[n_begun:].astype(np.int64)
    return None if (chosen < 0).any() else chosen
