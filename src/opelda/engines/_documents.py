"""Documents as engines hold them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import SMALLEST_COUNT
from opelda.engines._keys import content_keys, numbered, ordering, ranked

HASHED_AT_ONCE = 16_384  # documents: their counts may have to be converted

# Numbers of documents, or None for all of them.
Chosen: TypeAlias = NDArray[np.int64] | None


class Documents:
    """A collection that an engine owns: checked counts, CSR with sorted, distinct words.

    An engine may have its own way to hash, with the same results as `content_keys`.
    """

    def __init__(
        self, X: sparse.csr_array, hashed: Callable[["Rows"], NDArray[np.uint64]] | None = None
    ) -> None:
        self.matrix = X
        self._hashed = hashed or Rows.content_keys

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the counts that were given."""
        return self.matrix.dtype

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.matrix.shape[0])

    @property
    def n_words(self) -> int:
        """One more than the largest word that may occur."""
        return int(self.matrix.shape[1])

    def content_keys(self) -> NDArray[np.uint64]:
        """Return a key per document, of its words and counts alone."""
        ends = [*range(0, self.n_docs, HASHED_AT_ONCE), self.n_docs]
        parts = [self._hashed(self.part(first, last)) for first, last in pairwise(ends)]
        return np.concatenate((np.zeros(0, np.uint64), *parts))

    @cached_property
    def keys(self) -> NDArray[np.uint64]:
        """A key per document, of its content and its number among the documents of that content."""
        return numbered(self.content_keys(), None)

    def order(self, seed: int, which: int, n: int | None = None) -> NDArray[np.int64]:
        """Return the numbers of the documents, or of the first n, sorted by `ordering`.

        The order of the rows does not matter. Pass after pass of learning is in another order; 0 is
        that of the documents it starts from.
        """
        return ranked(ordering(self.keys, seed, which), n)

    def part(self, first: int = 0, last: int | None = None) -> "Rows":
        """Return consecutive documents, without a copy where the types agree."""
        X = self.matrix
        ends = X.indptr[first : (X.shape[0] if last is None else last) + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        return Rows.positive(
            ends.astype(np.int64) - here.start if here.start else ends.astype(np.int64, copy=False),
            np.ascontiguousarray(X.indices[here], np.int32),
            np.ascontiguousarray(X.data[here], np.float32),
        )


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
        """Make rows without zeros that are stored, which are no words of the document."""
        if len(counts) and counts.min() <= SMALLEST_COUNT:
            return cls(indptr, words, counts).where(counts > SMALLEST_COUNT)
        return cls(indptr, words, counts)

    def content_keys(self) -> NDArray[np.uint64]:
        """Return a key per document, of its words and counts alone."""
        return content_keys(self.indptr, self.words, self.counts)

    def where(self, keep: NDArray[np.bool_]) -> "Rows":
        """Return the same documents without the entries that are not to be kept."""
        before = np.concatenate(([0], np.cumsum(keep, dtype=np.int64)))
        return Rows(before[self.indptr], self.words[keep], self.counts[keep])

    def take(self, chosen: NDArray[np.intp]) -> "Rows":
        """Return some of the documents."""
        lengths = np.diff(self.indptr)[chosen]
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        at = np.repeat(self.indptr[chosen] - ends[:-1], lengths) + np.arange(ends[-1])
        taken = Rows(ends, self.words[at], self.counts[at])
        if "_tokens" in vars(self):
            vars(taken)["_tokens"] = self._tokens[chosen]
        return taken

    def between(self, first: int, last: int) -> "Rows":
        """Return consecutive documents, without a copy of their words."""
        ends = self.indptr[first : last + 1]
        here = slice(int(ends[0]), int(ends[-1]))
        return Rows(ends - ends[0], self.words[here], self.counts[here])

    @property
    def n_docs(self) -> int:
        """Number of documents."""
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
        tokens = np.zeros(self.n_docs)
        full = ~self.empty
        if full.any():
            tokens[full] = np.add.reduceat(self.counts, self.indptr[:-1][full], dtype=np.float64)
        return tokens
