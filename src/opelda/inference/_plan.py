"""OPE's schedule: everything about a run that does not depend on the document.

Every variant but three is the same walk with other weights: at move s go towards the vertex that
maximises  a_s g1'_k + b_s g2'_k.  After s moves the mixture is proportional to
``base[s] * start + (times each topic was picked)``: in the practical schedule the start keeps
weight 1, in the literal one it is forgotten at the first move and the shrunken simplex's epsilon
takes its place.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

# With no likelihood pick so far all topics tie under a symmetric prior; this much of a pick sends
# the tie to the likelier topic.
TIE_BREAK = 1e-3
N_DOCUMENT_SEQUENCES = 1024


@dataclass(frozen=True)
class Plan:
    """Weights of the two gradients per sequence and move, and the start.

    Attributes
    ----------
    a, b : float32 arrays (R, S)
        For each of R sequences, the weights of the likelihood's and the prior's gradient.
    a2, b2 : float32 arrays (R, S) or None
        The second sequence of OPE2, OPE3 and BOPE.
    coin : float32 array (S,) or None
        OPE2's uniform numbers.
    base : float32 array (S + 1,)
    start : float32 array (K,)
    first_t : int
        The t of the first move: the step of move s is 1/(s + first_t).
    """

    a: NDArray[np.float32]
    b: NDArray[np.float32]
    a2: NDArray[np.float32] | None
    b2: NDArray[np.float32] | None
    coin: NDArray[np.float32] | None
    base: NDArray[np.float32]
    start: NDArray[np.float32]
    first_t: int

    @property
    def n_moves(self) -> int:
        """S, the number of moves."""
        return int(self.a.shape[1])


@dataclass(frozen=True)
class Schedule:
    """The parameters of `OPE` that a plan depends on."""

    n_iter: int
    variant: str
    schedule: str
    coins: str
    p: float
    nu: float
    init: str
    epsilon: float
    n_restarts: int


@lru_cache(maxsize=32)  # serving one document at a time must not draw 1,024 sequences for each
def make_plan(ope: Schedule, n_topics: int, seed: int) -> Plan:
    """Draw the pick sequences from the seed."""
    rng = np.random.default_rng([seed, 1])
    practical = ope.schedule == "practical"
    n_sequences = N_DOCUMENT_SEQUENCES if ope.coins == "document" else ope.n_restarts
    shape = (n_sequences, ope.n_iter)
    p = ope.p if ope.variant in ("bope", "g-ope", "newope") else 0.5

    def weights(starts_with_g1: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        picks = _draw(rng, shape, p, ope.coins == "balanced")
        if practical:
            picks[:, 0] = starts_with_g1
        a, b = np.cumsum(picks, axis=1), np.cumsum(~picks, axis=1)
        if practical:  # the first pick moves nothing
            a, b = a[:, 1:], b[:, 1:]
        if ope.variant in ("bope", "g-ope"):
            return np.maximum(a / p, TIE_BREAK), b / (1 - p)
        return np.maximum(a, TIE_BREAK), b.astype(np.float64)

    a, b = weights(starts_with_g1=True)
    n_moves = a.shape[1]
    second = coin = None
    if ope.variant not in ("ope", "g-ope"):
        a2, b2 = weights(starts_with_g1=False)
        if ope.variant in (
            "ope1",
            "ope4",
        ):  # both sequences make one: a coin per move, or a mixture
            first = rng.random(a.shape) < 0.5 if ope.variant == "ope1" else ope.nu
            a, b = first * a + (1.0 - first) * a2, first * b + (1.0 - first) * b2
        else:
            second = (_single(a2), _single(b2))
            coin = _single(rng.random((n_moves,))) if ope.variant == "ope2" else None
    return Plan(
        a=_single(a),
        b=_single(b),
        a2=second and second[0],
        b2=second and second[1],
        coin=coin,
        base=_base(ope, n_topics, n_moves),
        start=_start(ope, n_topics, rng),
        first_t=2 if practical else 1,
    )


def _draw(
    rng: np.random.Generator, shape: tuple[int, int], p: float, balanced: bool
) -> NDArray[np.bool_]:
    """True where g1 is picked. Balanced: each pair of picks holds one of each, in random order."""
    if not balanced:
        return rng.random(shape) < p
    n_sequences, n = shape
    first = rng.random((n_sequences, n // 2 + 1)) < 0.5
    pairs = np.stack([first, ~first], axis=2).reshape(n_sequences, -1)
    # pick 1 moves nothing and stands alone, so that pairs are (2, 3), (4, 5), ...
    return np.concatenate([first[:, :1], pairs], axis=1)[:, :n]


def _base(ope: Schedule, n_topics: int, n_moves: int) -> NDArray[np.float32]:
    if ope.schedule == "practical":
        return np.ones(n_moves + 1, np.float32)
    shrink = n_topics * ope.epsilon
    base = np.arange(n_moves + 1) * (shrink / (1 - shrink))
    base[0] = 1.0
    return _single(base)


def _start(ope: Schedule, n_topics: int, rng: np.random.Generator) -> NDArray[np.float32]:
    if ope.init == "uniform":
        return np.full(n_topics, 1.0 / n_topics, np.float32)
    start: NDArray[np.float64] = (
        rng.dirichlet(np.ones(n_topics)) + 1e-6
    )  # inside the simplex: log theta must exist
    return _single(start / start.sum())


def _single(values: NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, np.float32)
