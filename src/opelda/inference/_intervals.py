"""Credible intervals of shares, by draws from the posterior of each document's mixture.

Given the topics of all tokens, theta_k ~ Beta(N_k + alpha_k, N - N_k + sum(alpha) - alpha_k). The
kernel draws the tokens' topics by collapsed Gibbs sampling (`native/posterior.hpp`), and an
interval has its level under the mean of these Beta distributions. It starts at 0, or ends at 1, if
the topic may have no token, or all. Intervals hold on average over documents of the model.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import number, on_device
from opelda.engines import get_engine
from opelda.engines.seam import Intervals

AT_ONCE = 16_384  # documents, whose words alone need topics
LEAST_BOUND = 0.005  # of a sparse upper bound

Read = Callable[[NDArray[np.int32]], NDArray[Any]]


def as_level(interval: float | None) -> float | None:
    """Return the level of intervals, checked."""
    return None if interval is None else number("interval", interval, 0.0, 0.999, above=True)


def share_intervals(
    X: sparse.csr_array,
    theta: Any,
    readers: list[Read],
    alphas: NDArray[np.float64],
    member: NDArray[np.int64],
    *,
    level: float,
    seed: int,
    n_jobs: int | None,
    n_tables: int = 1,
) -> Intervals:
    """Return the intervals of documents of groups.

    The documents of group g have the prior `alphas[g]`, and `readers[g]` returns the topics of
    words: (K, n), or those of `n_tables` runs one after another.
    """
    theta = np.asarray(theta.get() if on_device(theta) else theta)
    lower, upper = np.zeros(theta.shape, np.float32), np.ones(theta.shape, np.float32)
    probability, main = np.zeros(len(theta), np.float32), theta.argmax(axis=1)
    engine = get_engine("cpu", n_jobs)
    for group in np.unique(member).tolist():
        rows = np.flatnonzero(member == group)
        for first in range(0, len(rows), AT_ONCE):
            some = rows[first : first + AT_ONCE]
            part = X if len(some) == X.shape[0] else X[some]
            words, slots = np.unique(part.indices, return_inverse=True)
            shape = part.shape[0], len(words)
            counts = sparse.csr_array((part.data, slots, part.indptr), shape=shape)
            words = words.astype(np.int32)
            found = engine.intervals(
                engine.topics(readers[group](words), words),
                engine.documents(counts),
                main[some],
                alphas[group],
                level=level,
                seed=seed,
                n_tables=n_tables,
            )
            # a share is within its interval
            lower[some] = np.minimum(found.lower, theta[some])
            upper[some] = np.maximum(found.upper, theta[some])
            probability[some] = found.main_topic_probability
    return Intervals(lower, upper, probability)


def sparse_bounds(bounds: NDArray[np.float32]) -> sparse.csr_array:
    """Return bounds of shares without those below `LEAST_BOUND`."""
    return sparse.csr_array(np.where(bounds < LEAST_BOUND, np.float32(0.0), bounds))
