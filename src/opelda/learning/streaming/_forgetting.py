"""Forgetting that adapts: a topic keeps as much of its past as its new documents bear out.

A power prior (Ibrahim & Chen 2000) whose exponent is inferred topic by topic and time by time (as
in Masegosa et al. 2017), here as the one by which the past predicts new tokens best. It says how
fast a topic forgets beside the others; how fast they forget on the whole is a setting. By its own
measure each would forget too much: the best for the next documents is not the best for all to come.
"""

import numpy as np
from numpy.typing import NDArray

from opelda.engines.seam import TokenCounts

TRIED = np.linspace(1.0, 0.0, 11)
PRIOR = 10.0  # nats for a rho of 1 against 0: little evidence is none

Array = NDArray[np.float64]


def kept_of_past(
    new: TokenCounts, window: TokenCounts, past: TokenCounts, eta: float, usual: float
) -> Array:
    """Return the part of its past that each topic keeps: `usual` where it is as others are."""
    rho = likeliest_rho(new, window, past, eta)
    found: Array = np.clip(usual * rho / max(np.median(rho), 0.1), 0.0, 1.0)
    return found


def likeliest_rho(new: TokenCounts, window: TokenCounts, past: TokenCounts, eta: float) -> Array:
    """Return rho of each topic, of some values the one that makes its new tokens likeliest.

    Beside what the window has: rho maximises sum_j n_kj log((c_kj + rho p_kj + eta) /
    sum_i (c_ki + rho p_ki + eta)) + 10 rho, its prior being a truncated exponential.
    """
    keys, n, topics = _keys(new), _weights(new), new.cells.indices
    held, more = (_looked_up(keys, counts) for counts in (window, past))
    total = window.sums + window.cells.shape[0] * eta
    best, rho = np.full(new.n_topics, -np.inf), np.ones(new.n_topics)
    for part in TRIED:
        of_words = np.bincount(topics, n * np.log(held + part * more + eta), new.n_topics)
        logs = of_words - new.sums * np.log(total + part * past.sums) + PRIOR * part
        better = logs > best
        rho[better], best[better] = part, logs[better]
    return rho


def _weights(counts: TokenCounts) -> Array:
    return np.ldexp(counts.cells.data.astype(np.float64), -counts.shift)


def _keys(counts: TokenCounts) -> NDArray[np.int64]:
    """Return the cells' numbers, ascending."""
    indptr, topics, _ = counts.arrays
    words = np.repeat(np.arange(len(indptr) - 1, dtype=np.int64), np.diff(indptr))
    keys: NDArray[np.int64] = words * counts.n_topics + topics
    return keys


def _looked_up(keys: NDArray[np.int64], counts: TokenCounts) -> Array:
    """Return the weights of some cells, 0 where there is none."""
    own = _keys(counts)
    if not len(own):
        return np.zeros(len(keys))
    at = np.minimum(np.searchsorted(own, keys), len(own) - 1)
    found: Array = np.where(own[at] == keys, _weights(counts)[at], 0.0)
    return found
