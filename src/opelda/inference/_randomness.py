"""Random numbers that depend on the seed and on a document's content, never on its neighbours.

Both parts are plain 64-bit arithmetic, so that kernels and references draw the same numbers.
"""

import numpy as np
from numpy.typing import NDArray

from opelda.engines import Batch

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def document_keys(batch: Batch, seed: int) -> NDArray[np.uint64]:
    """Return one 64-bit key per document from its words, its counts and the seed.

    The words' contributions are added, so their order does not matter.
    """
    bits = np.ascontiguousarray(batch.counts, np.float32).view(np.uint32).astype(np.uint64)
    words = batch.words if batch.ids is None else batch.ids[batch.words]
    terms = mix((words.astype(np.uint64) << np.uint64(32) | bits) + GOLDEN)
    totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))
    sums = totals[batch.indptr[1:]] - totals[batch.indptr[:-1]]
    return mix(sums + mix(np.array([seed], np.uint64) + GOLDEN))


def uniforms(key: int, first: int, n: int) -> NDArray[np.float64]:
    """Return numbers first, first + 1, ... of the stream of a key, uniform in (0, 1)."""
    counter = np.arange(first + 1, first + n + 1, dtype=np.uint64)
    bits = mix(np.uint64(key) + counter * GOLDEN) >> np.uint64(40)
    return (bits.astype(np.float64) + 0.5) / 2.0**24
