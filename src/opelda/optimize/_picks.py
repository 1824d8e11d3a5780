"""Which of the two terms OPE adds at each iteration."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
Picks: TypeAlias = Literal["random", "balanced"]


def draw_picks(n_picks: int, kind: Picks, random_state: RandomState) -> NDArray[np.bool_]:
    """Return `n_picks` uniform picks, True for g1 and False for g2.

    "random" draws them independently, as Algorithm 1 does (Than & Doan). "balanced" draws one
    order per consecutive pair, so that the counts of g1 and g2 never differ by more than one.
    """
    if kind == "random":
        return _coins(n_picks, random_state)
    first = _coins((n_picks + 1) // 2, random_state)
    return np.column_stack([first, ~first]).ravel()[:n_picks]


def _coins(size: int, random_state: RandomState) -> NDArray[np.bool_]:
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(2, size=size).astype(bool)
    try:
        generator = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise TypeError(
            "random_state must be None, a non-negative integer, a numpy Generator or a "
            f"RandomState, got {random_state!r}."
        ) from None
    return generator.integers(2, size=size).astype(bool)
