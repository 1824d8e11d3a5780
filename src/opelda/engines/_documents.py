"""Documents as engines hold them, and random numbers that depend on their content and the seed.

Keys are plain 64-bit arithmetic, the same as in native/mixing.hpp, so that every engine draws the
same numbers, and a document's never depend on its neighbours.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import SMALLEST_COUNT

GOLDEN = np.uint64(0x9E3779B97F4A7C15)

# Numbers of documents; None for all documents.
Chosen: TypeAlias = NDArray[np.int64] | None


class Documents:
    """A collection that an engine owns: checked counts, CSR with sorted, distinct words.

    An engine may have its own way to hash, with the same results as `content_keys`.
    """

    def __init__(
        self, X: sparse.csr_array, hashed: Callable[["Rows"], NDArray[np.uint64]] | None = None
    ) -> None:
        self.matrix = X
        self.dtype: np.dtype[Any] = X.dtype  # of the counts that were given
        self.n_docs, self.n_words = X.shape
        self._hashed = hashed or Rows.content_keys

    def content_keys(self) -> NDArray[np.uint64]:
        """Return a key per document, from its words and counts."""
        return self._hashed(self.part())

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A key per document, of its content and its number among the documents of that content."""
        return numbered(self.content_keys(), None)

    def order(self, seed: int, which: int, n: int | None = None) -> NDArray[np.int64]:
        """Return the numbers of the documents, or of the first n, in the order `which` by key.

        The order of the rows does not matter. Pass after pass of learning is in another order; 0 is
        that of the documents it starts from.
        """
        return ranked(ordering(self.keys, seed, which), n)

    def part(self, first: int = 0, last: int | None = None) -> "Rows":
        """Return consecutive documents, without a copy where the types agree."""
        X = self.matrix
        ends = X.indptr[first : (X.shape[0] if last is None else last) + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        before = (ends - here.start if here.start else ends).astype(np.int64, copy=False)
        words = np.ascontiguousarray(X.indices[here], np.int32)
        return Rows.positive(before, words, np.ascontiguousarray(X.data[here], np.float32))


@dataclass(frozen=True)
class Rows:
    """Some documents in the types that kernels take: int64, int32 and float32 arrays."""

    indptr: NDArray[np.int64]
    words: NDArray[np.int32]
    counts: NDArray[np.float32]

    @classmethod
    def positive(
        cls, indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32]
    ) -> "Rows":
        """Make rows without stored zeros."""
        if len(counts) and counts.min() <= SMALLEST_COUNT:
            return cls(indptr, words, counts).where(counts > SMALLEST_COUNT)
        return cls(indptr, words, counts)

    def content_keys(self) -> NDArray[np.uint64]:
        """Return a key per document, from its words and counts."""
        return content_keys(self.indptr, self.words, self.counts)

    def where(self, keep: NDArray[np.bool_]) -> "Rows":
        """Return the documents with the entries to `keep`."""
        before = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        return Rows(before[self.indptr], self.words[keep], self.counts[keep])

    def take(self, chosen: NDArray[np.intp]) -> "Rows":
        """Return some of the documents."""
        lengths = np.diff(self.indptr)[chosen]
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        at = np.repeat(self.indptr[chosen] - ends[:-1], lengths) + np.arange(ends[-1])
        return Rows(ends, self.words[at], self.counts[at])

    def between(self, first: int, last: int) -> "Rows":
        """Return consecutive documents, without a copy of their words."""
        ends = self.indptr[first : last + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        return Rows(ends - ends[0], self.words[here], self.counts[here])

    @property
    def n_docs(self) -> int:
        return len(self.indptr) - 1

    @property
    def empty(self) -> NDArray[np.bool_]:
        """Which documents hold no words."""
        empty: NDArray[np.bool_] = self.indptr[1:] == self.indptr[:-1]
        return empty

    def tokens(self) -> NDArray[np.float64]:
        """Return the documents' lengths."""
        return self._tokens.copy()

    @cached_property
    def _tokens(self) -> NDArray[np.float64]:
        tokens, full = np.zeros(self.n_docs), ~self.empty
        if full.any():
            tokens[full] = np.add.reduceat(self.counts, self.indptr[:-1][full], dtype=np.float64)
        return tokens


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
    """Return one 64-bit key per document from its words and counts alone, in any order.

    `ids` are the words' numbers in the vocabulary where `words` has others.
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
    """Return different keys for the copies of a document, so that they do not move in step.

    `copies` numbers the documents of equal content 0, 1, 2, ..., by default in their order.
    """
    copies = copy_numbers(keys) if copies is None else copies
    return mix(keys + mix(np.asarray(copies).astype(np.uint64) + GOLDEN))


def copy_numbers(keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Number the documents of equal keys 0, 1, 2, ... in their order."""
    order = ranked(keys)
    ordered = keys[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(keys)]
    at = np.arange(len(keys))
    copies = np.empty(len(keys), np.int64)
    copies[order] = at - np.maximum.accumulate(np.where(first, at, 0))
    return copies


def copies_by_row(keys: NDArray[np.uint64], rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Number the documents of equal content in a row from row * 2**32 on, in any order of rows."""
    return copy_numbers(numbered(keys, rows)) + (rows.astype(np.int64) << 32)


def ordering(keys: NDArray[np.uint64], seed: int, which: int) -> NDArray[np.uint64]:
    """Return other keys, to sort documents by: one pseudorandom order of many, named by `which`.

    Parts of a collection, sorted and merged, are the collection sorted.
    """
    return seeded(seeded(keys, seed), which)


def ranked(keys: NDArray[np.uint64], n: int | None = None) -> NDArray[np.int64]:
    """Return the numbers of the n smallest keys, or of all, in ascending order of the keys."""
    if n is not None and n < len(keys):
        least = np.argpartition(keys, n)[:n]
        return least[ranked(keys[least])]
    # NumPy sorts 16 bits in linear time and nearly sorted keys fast: half the time of one sort
    nearly = np.argsort((keys >> np.uint64(48)).astype(np.uint16), kind="stable")
    return nearly[np.argsort(keys[nearly], kind="stable")]


def uniforms(key: int, first: int, n: int) -> NDArray[np.float64]:
    """Return numbers first, first + 1, ... of the stream of a key, uniform in (0, 1)."""
    counter = np.arange(first + 1, first + n + 1, dtype=np.uint64)
    bits = mix(np.uint64(key) + counter * GOLDEN) >> np.uint64(40)
    return (bits.astype(np.float64) + 0.5) / 2.0**24
