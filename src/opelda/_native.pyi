from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

_Ints: TypeAlias = NDArray[np.int32]
_Longs: TypeAlias = NDArray[np.int64]
_Keys: TypeAlias = NDArray[np.uint64]
_T = TypeVar("_T")
_Floats: TypeAlias = NDArray[np.float32]
_Doubles: TypeAlias = NDArray[np.float64]

class Batch:
    def __init__(
        self,
        rows: _Floats,
        n_topics: int,
        indptr: _Longs,
        words: _Ints,
        counts: _Floats,
        alpha: _Floats,
        coarse: _Ints | None,
        coarse_scale: _Floats | None,
        ids: _Ints | None,
    ) -> None: ...

class Results:
    def __init__(
        self,
        theta: _Floats | None,
        n_iter: _Ints | None,
        gap: _Doubles | None,
        likelihood_gap: _Doubles | None,
        log_likelihood: _Doubles | None,
        log_prior: _Doubles | None,
        likelihood_loss: _Doubles | None,
        factors: _Floats | None,
        kept_topics: _Ints | None = None,
        kept_shares: _Floats | None = None,
    ) -> None: ...

# module.cpp
def posterior(
    batch: Batch,
    *,
    burn_in: int,
    n_samples: int,
    n_tables: int,
    keys: _Keys,
    main: _Ints,
    max_tokens: int,
    level: float,
    z_level: float,
    z_tail: float,
    lower: _Floats,
    upper: _Floats,
    main_topic_probability: _Floats,
    n_threads: int,
) -> None: ...
def ope(
    batch: Batch,
    results: Results,
    *,
    a: _Floats,
    b: _Floats,
    a2: _Floats | None,
    b2: _Floats | None,
    coin: _Floats | None,
    base: _Floats,
    start: _Floats,
    start_words: _Floats,
    seed: int | None,
    n_restarts: int,
    tol: float,
    screen: bool,
    want_picks: bool,
    n_threads: int,
) -> tuple[_Longs, _Ints, _Floats] | None: ...
def exact(
    batch: Batch,
    results: Results,
    *,
    max_loss: float,
    max_loss_per_token: float,
    start_words: _Floats,
    max_work: int,
    want_picks: bool,
    n_threads: int,
) -> tuple[_Longs, _Ints, _Floats] | None: ...
def vb(
    batch: Batch,
    results: Results,
    *,
    n_iter: int,
    tol: float,
    start: _Doubles | None,
    n_threads: int,
) -> None: ...
def cvb0(
    batch: Batch,
    results: Results,
    *,
    burn_in: int,
    n_samples: int,
    scale: float,
    offset: float,
    decay: float,
    n_threads: int,
) -> None: ...
def cvb(batch: Batch, results: Results, *, n_iter: int, tol: float, n_threads: int) -> None: ...
def cgs(
    batch: Batch,
    results: Results,
    *,
    burn_in: int,
    n_samples: int,
    keys: _Keys,
    max_tokens: int,
    n_threads: int,
) -> None: ...
def fw(batch: Batch, results: Results, *, steps: _Doubles, n_threads: int) -> None: ...
def em(
    batch: Batch,
    results: Results,
    *,
    n_iter: int,
    n_kept: int,
    start_words: _Floats,
    n_threads: int,
) -> None: ...
def certify(
    batch: Batch, theta: _Floats, prior: _Doubles, results: Results, *, n_threads: int
) -> None: ...
def coarsen(rows: _Floats, coarse: _Ints, scale: _Floats, *, n_threads: int) -> None: ...
def read_rows(batch: Batch, *, ahead: int, n_threads: int) -> None: ...
def watched(work: Callable[[], _T], check: Callable[[], None]) -> _T: ...

checked: bool  # whether it was built with OPELDA_CHECKED

def instruction_set() -> str: ...
def use_instruction_set(name: str) -> bool: ...

# module_batches.cpp
def gather(
    indptr: _Ints | _Longs,
    words: _Ints | _Longs,
    counts: NDArray[np.number] | NDArray[np.bool_],
    documents: _Longs,
    n_threads: int,
) -> tuple[_Longs, _Ints, _Floats]: ...
def transpose(
    indptr: _Longs, words: _Ints, counts: _Floats, n_words: int, n_threads: int
) -> tuple[_Ints, _Ints, _Longs, _Keys, _Doubles]: ...

# module_learning.cpp
def topic_rows(
    kept: _Floats,
    *,
    n_topics: int,
    scale: float,
    prior_weight: float,
    prior: float,
    prior_words: _Floats | None,
    prior_rows: _Floats | None,
    inverse: _Floats,
    digamma: _Doubles,
    logs: bool,
    words: _Ints | None,
    rows: _Floats,
    mean: _Floats,
    n_threads: int,
) -> None: ...
def add(
    kept: _Floats,
    *,
    n_topics: int,
    words: _Ints,
    starts: _Longs,
    entries: _Keys,
    rows: _Floats,
    theta: _Floats | None = None,
    indptr: _Longs | None = None,
    topics: _Ints | None = None,
    shares: _Floats | None = None,
    rest: _Floats | None = None,
    start: _Floats | None = None,
    start_words: _Floats | None = None,
    divide: bool,
    gain: _Floats,
    grown: _Doubles,
    n_threads: int,
) -> None: ...

# module_sampling.cpp
def content_keys(
    indptr: _Longs, words: _Ints, counts: _Floats, ids: _Ints | None, *, n_threads: int
) -> _Keys: ...

FETCHED: int

class SlotStore:
    def __init__(self, n_blocks: int, n_docs: int) -> None: ...

def slot_sizes(
    slots: SlotStore, block_docs: _Longs, docs: _Longs
) -> tuple[_Ints, NDArray[np.float32]]: ...
def token_order(
    block_docs: _Longs,
    block_runs: _Longs,
    run_starts: _Longs,
    at: NDArray[np.uint16],
    first_group: _Longs,
    first_token: _Longs,
    *,
    n_threads: int,
) -> _Longs: ...
def token_blocks(
    indptr: _Longs,
    words: _Ints,
    counts: _Floats,
    first_token: _Longs,
    *,
    n_topics: int,
    n_words: int,
    shift: int,
    alike: bool,
    most_docs: int,
    n_threads: int,
) -> tuple[
    _Longs,
    _Longs,
    _Longs,
    _Ints,
    _Longs,
    NDArray[np.uint16],
    _Longs,
    NDArray[np.uint8] | None,
    NDArray[np.float32] | None,
    NDArray[np.float32] | None,
    _Longs | None,
]: ...
def sweep(
    *,
    block_docs: _Longs,
    block_groups: _Longs,
    block_runs: _Longs,
    run_words: _Ints,
    run_starts: _Longs,
    at: NDArray[np.uint16],
    first_group: _Longs,
    run_alike: NDArray[np.uint8] | None,
    sizes: _Floats | None,
    weights: _Floats | None,
    z: NDArray[np.uint16],
    slots: SlotStore,
    keys: _Keys,
    n_topics: int,
    row_starts: _Longs | None,
    row_topics: _Ints | None,
    row_values: _Floats | None,
    base: _Floats | None,
    dense: _Floats | None,
    prior_rows: NDArray[np.uint16] | None,
    prior: _Floats,
    alpha: _Floats,
    inverse: _Floats,
    seed: int,
    fresh: bool,
    given: bool,
    n_draws: int,
    n_threads: int,
) -> None: ...
def count_tokens(
    block_runs: _Longs,
    run_words: _Ints,
    run_starts: _Longs,
    run_alike: NDArray[np.uint8] | None,
    units: _Longs | None,
    z: NDArray[np.uint16],
    *,
    n_words: int,
    n_topics: int,
    shift: int,
    n_threads: int,
) -> tuple[_Longs, _Ints, _Longs]: ...
def count_rows(
    starts: _Longs,
    topics: _Ints,
    cells: _Longs,
    *,
    shift: int,
    prior: float,
    inverse: _Floats,
    alpha: _Floats,
    base_masses: NDArray[np.float64],
    values: _Floats,
    masses: _Floats,
    n_threads: int,
) -> None: ...
def add_counts(
    rows: _Floats, starts: _Longs, topics: _Ints, cells: _Longs, *, factor: float, n_threads: int
) -> None: ...
def random_start(rows: _Floats, *, n_topics: int, seed: int, n_threads: int) -> None: ...
