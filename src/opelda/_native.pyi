from typing import Any

import numpy as np
from numpy.typing import NDArray

class Batch:
    def __init__(
        self,
        rows: NDArray[np.float32],
        n_topics: int,
        indptr: NDArray[np.int64],
        words: NDArray[np.int32],
        counts: NDArray[np.float32],
        alpha: NDArray[np.float32],
        coarse: NDArray[np.int32] | None,
        coarse_scale: NDArray[np.float32] | None,
        ids: NDArray[np.int32] | None,
    ) -> None: ...

class Results:
    def __init__(
        self,
        theta: NDArray[np.float32] | None,
        n_iter: NDArray[np.int32] | None,
        gap: NDArray[np.float64] | None,
        likelihood_gap: NDArray[np.float64] | None,
        log_likelihood: NDArray[np.float64] | None,
        log_prior: NDArray[np.float64] | None,
        factors: NDArray[np.float32] | None,
        kept_topics: NDArray[np.int32] | None,
        kept_shares: NDArray[np.float32] | None,
    ) -> None: ...

def ope(batch: Batch, results: Results, **settings: Any) -> Any: ...
def vb(batch: Batch, results: Results, **settings: Any) -> None: ...
def cvb0(batch: Batch, results: Results, **settings: Any) -> None: ...
def cvb(batch: Batch, results: Results, **settings: Any) -> None: ...
def cgs(batch: Batch, results: Results, **settings: Any) -> None: ...
def fw(batch: Batch, results: Results, **settings: Any) -> None: ...
def em(batch: Batch, results: Results, **settings: Any) -> None: ...
def certify(
    batch: Batch, theta: NDArray[np.float32], results: Results, *, n_threads: int
) -> None: ...
def gather(
    indptr: NDArray[Any],
    words: NDArray[Any],
    counts: NDArray[Any],
    documents: NDArray[np.int64],
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]: ...
def by_word(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    n_words: int,
    n_threads: int,
) -> tuple[
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.int64],
    NDArray[np.uint64],
    NDArray[np.float64],
]: ...
def lay_out(kept: NDArray[np.float32], **arguments: Any) -> None: ...
def add(kept: NDArray[np.float32], **arguments: Any) -> None: ...
def first_tokens(indptr: NDArray[np.int64], counts: NDArray[np.float32]) -> NDArray[np.int64]: ...
def content_keys(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    ids: NDArray[np.int32] | None,
    *,
    n_threads: int,
) -> NDArray[np.uint64]: ...
def resample(rows: NDArray[np.float32], **arguments: Any) -> None: ...
def random_start(
    rows: NDArray[np.float32], *, n_topics: int, seed: int, n_threads: int
) -> None: ...
def count_topics(
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    z: NDArray[np.uint16],
    cells: NDArray[np.int32] | NDArray[np.int64],
    *,
    shift: int,
    n_threads: int,
) -> None: ...
def as_weights(
    cells: NDArray[np.int32] | NDArray[np.int64],
    rows: NDArray[np.float32],
    sums: NDArray[np.int64],
    *,
    shift: int,
    n_threads: int,
) -> None: ...
def coarsen(
    rows: NDArray[np.float32],
    coarse: NDArray[np.int32],
    scale: NDArray[np.float32],
    *,
    n_threads: int,
) -> None: ...
def read_rows(batch: Batch, *, ahead: int, n_threads: int) -> None: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> bool: ...
