"""Held-out scores and the documents that topics begin with, on a GPU."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._numpy_scores import NEAR, SMALLEST
from opelda.engines.cuda._device import LANES, THREADS, Device
from opelda.engines.cuda._documents import CudaRows, in_blocks
from opelda.engines.seam import Documents, Rows


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
    types = {"indptr": np.int64, "indices": np.int32, "data": np.float64}
    given = tuple(device.array(getattr(X, name), type_) for name, type_ in types.items())
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
