"""OPE's walk: everything about it that does not depend on the document.

Every variant but three is the same walk with other weights: at move s go towards the vertex that
maximises  a_s g1'_k + b_s g2'_k.  After s moves the mixture is proportional to
``base[s] * start + (times each topic was picked)``: in the practical schedule the start keeps
weight 1, in the literal one it is forgotten at the first move and the shrunken simplex's epsilon
takes its place.
"""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines.seam import OPESettings

# With no likelihood pick so far all topics tie under a symmetric prior; this much of a pick sends
# the tie to the likelier topic.
TIE_BREAK = 1e-3
MOST_SEQUENCES, MOST_PICKS = 1024, 2**21  # of which documents share; fewer, the longer they are


@lru_cache(maxsize=8)  # serving one document at a time must not draw 1,024 sequences for each
def make_walk(
    n_topics: int,
    seed: int,
    *,
    n_iter: int,
    variant: str,
    schedule: str,
    coins: str,
    p: float,
    nu: float,
    init: str,
    epsilon: float,
    n_restarts: int,
) -> OPESettings:
    """Draw the pick sequences from the seed; the parameters are those of `OPE`."""
    rng = np.random.default_rng([seed, 1])
    practical = schedule == "practical"
    n_sequences = min(MOST_SEQUENCES, max(MOST_PICKS // n_iter, n_restarts))
    shape = (n_sequences if coins == "document" else n_restarts, n_iter)
    p = p if variant in ("bope", "g-ope", "newope") else 0.5

    def weights(starts_with_g1: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        picks = _draw(rng, shape, p, coins == "balanced")
        if practical:
            picks[:, 0] = starts_with_g1
        a, b = np.cumsum(picks, axis=1), np.cumsum(~picks, axis=1)
        if practical:  # the first pick moves nothing
            a, b = a[:, 1:], b[:, 1:]
        if variant in ("bope", "g-ope"):
            return np.maximum(a / p, TIE_BREAK), b / (1 - p)
        return np.maximum(a, TIE_BREAK), b.astype(np.float64)

    a, b = weights(starts_with_g1=True)
    n_moves = a.shape[1]
    a2 = b2 = coin = None
    if variant not in ("ope", "g-ope"):
        a2, b2 = weights(starts_with_g1=False)
        if variant in ("ope1", "ope4"):
            # both sequences make one: a coin per move, or a mixture
            first = rng.random(a.shape) < 0.5 if variant == "ope1" else nu
            a, b = first * a + (1.0 - first) * a2, first * b + (1.0 - first) * b2
            a2 = b2 = None
        elif variant == "ope2":
            coin = rng.random((n_moves,))
    base = np.ones(n_moves + 1)
    if not practical:
        base[1:] = np.arange(1, n_moves + 1) * (n_topics * epsilon / (1 - n_topics * epsilon))
    start = np.full(n_topics, 1.0 / n_topics)
    if init == "random":  # inside the simplex: log theta must exist
        start = rng.dirichlet(np.ones(n_topics)) + 1e-6
        start /= start.sum()
    arrays = {"a": a, "b": b, "a2": a2, "b2": b2, "coin": coin, "base": base, "start": start}
    single: dict[str, Any] = {
        name: None if values is None else np.ascontiguousarray(values, np.float32)
        for name, values in arrays.items()
    }
    return OPESettings(**single, first_t=2 if practical else 1, n_restarts=int(n_restarts))


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
