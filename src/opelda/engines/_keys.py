"""Random numbers that depend on the seed and on a document's content, never on its neighbours.

Plain 64-bit arithmetic, the same as in native/mixing.hpp, so that every engine draws the same
numbers.
"""

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def content_keys(
    indptr: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    ids: NDArray[np.int32] | None = None,
) -> NDArray[np.uint64]:
    """Return one 64-bit key per document from its words and counts alone.

    The words' contributions are added, so their order does not matter. `ids` are the words'
    numbers in the vocabulary where `words` has others.
    """
    bits = np.ascontiguousarray(counts, np.float32).view(np.uint32).astype(np.uint64)
    numbers = words if ids is None else ids[words]
    terms = mix((numbers.astype(np.uint64) << np.uint64(32) | bits) + GOLDEN)
    totals = np.concatenate((np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)))
    return totals[indptr[1:]] - totals[indptr[:-1]]


def seeded(keys: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Return the keys of the documents' random numbers for a seed of 64 bits."""
    return mix(keys + mix(np.array([seed], np.uint64) + GOLDEN))


def numbered(keys: NDArray[np.uint64], copies: NDArray[np.integer] | None) -> NDArray[np.uint64]:
    """Return keys that tell the copies of a document apart, so that they do not move in step.

    `copies` numbers the documents of equal content 0, 1, 2, ...; where it is None, in their order.
    Which of them has which number changes nothing, for they are the same document.
    """
    copies = copy_numbers(keys) if copies is None else copies
    return mix(keys + mix(np.asarray(copies).astype(np.uint64) + GOLDEN))


def copy_numbers(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number, from 0, of each document among those of its key, in their order."""
    order = ranked(keys)
    ordered = keys[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(keys)]
    at = np.arange(len(keys))
    copies = np.empty(len(keys), np.int64)
    copies[order] = at - np.maximum.accumulate(np.where(first, at, 0))
    return copies


def ordering(keys: NDArray[np.uint64], seed: int, which: int) -> NDArray[np.uint64]:
    """Return other keys, to sort documents by: one pseudorandom order of many, named by `which`.

    A document's depends on its own key alone, so that parts of a collection, sorted and merged, are
    the collection sorted.
    """
    return seeded(seeded(keys, seed), which)


def ranked(keys: NDArray[np.uint64], n: int | None = None) -> NDArray[np.int64]:
    """Return the numbers of the n smallest keys, or of all, in ascending order of the keys."""
    if n is not None and n < len(keys):
        least = np.argpartition(keys, n)[:n]
        return least[ranked(keys[least])]
    # NumPy sorts 16 bits in linear time, and what is nearly sorted fast: half the time of one sort
    nearly = np.argsort((keys >> np.uint64(48)).astype(np.uint16), kind="stable")
    return nearly[np.argsort(keys[nearly], kind="stable")]


def uniforms(key: int, first: int, n: int) -> NDArray[np.float64]:
    """Return numbers first, first + 1, ... of the stream of a key, uniform in (0, 1)."""
    counter = np.arange(first + 1, first + n + 1, dtype=np.uint64)
    bits = mix(np.uint64(key) + counter * GOLDEN) >> np.uint64(40)
    return (bits.astype(np.float64) + 0.5) / 2.0**24
