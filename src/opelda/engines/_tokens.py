"""Tokens of a collection, whose topics sweeps draw, and their counts."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import SMALLEST_COUNT
from opelda.engines._documents import Documents, Rows, numbered

MOST_TOKENS = 16  # per count; more tokens cost time with little gain
FRACTION_SHIFT = 16


@dataclass(frozen=True)
class Tokens:
    """A collection token by token, in the order of words; each engine adds its own parts.

    A count of c is ceil(c) tokens of equal weight, at most 16.
    """

    rows: Rows
    n_words: int
    n_topics: int
    keys: NDArray[np.uint64]  # of the documents' random numbers: by content and copy
    first: NDArray[np.int64]  # (n_docs + 1,): the offset of each document's tokens
    shift: int  # weights are whole multiples of 2**-shift, so that sums are exact in any order
    prior_rows: NDArray[np.uint16] | None  # of documents in alphas (rows, K); None: all the first

    @classmethod
    def of(
        cls,
        documents: Documents,
        n_topics: int,
        copies: NDArray[np.integer] | None = None,
        shift: int | None = None,
        prior_rows: NDArray[np.uint16] | None = None,
    ) -> "Tokens":
        """Make tokens of documents; see `Engine.tokens`."""
        rows, n_words = documents.part(), documents.n_words
        keys = documents.keys if copies is None else numbered(documents.content_keys(), copies)
        ends = np.concatenate(([0], np.cumsum(tokens_of(rows.counts))))
        first = ends[rows.indptr].astype(np.int64)
        if shift is None:
            whole = bool((rows.counts == np.rint(rows.counts)).all())
            shift = unit_of(whole, float(rows.counts.sum(dtype=np.float64)))
        return cls(rows, n_words, n_topics, keys, first, shift, prior_rows)

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        return self.rows.tokens()

    @cached_property
    def total(self) -> float:
        """The weight of all documents, in multiples of 2**-shift: an exact sum, in any order."""
        units = np.rint(np.ldexp(self.rows.counts.astype(np.float64), self.shift))
        return float(np.ldexp(float(units.astype(np.int64).sum()), -self.shift))

    def looked_at(self, share: float, row: int | None) -> NDArray[np.int64]:
        """Return about a share of the documents, or of those with a prior's row."""
        if (share, None) not in self._looked_at:
            self._looked_at[share, None] = looked_at(self.keys, share)
        if (share, row) not in self._looked_at and self.prior_rows is not None:
            docs = self._looked_at[share, None]
            rows = self.prior_rows[docs]
            order = np.argsort(rows, kind="stable")
            numbers, first = np.unique(rows[order], return_index=True)
            parts = np.split(docs[order], first[1:])
            self._looked_at.update(
                {(share, n): p for n, p in zip(numbers.tolist(), parts, strict=False)}
            )
        return self._looked_at.get((share, row), np.zeros(0, np.int64))

    @cached_property
    def _looked_at(self) -> dict[tuple[float, int | None], NDArray[np.int64]]:
        return {}

    def token_units(self) -> NDArray[np.int64]:
        """Return the weight of each token in units of 2**-shift."""
        return np.floor(np.ldexp(self.token_weights(), self.shift) + 0.5).astype(np.int64)

    def token_sizes(self) -> NDArray[np.float32]:
        """Return the weight of each token in its document.

        A fraction is rounded to less than single precision of the document, so that sums of its
        tokens are exact.
        """
        totals = np.repeat(self.lengths, np.diff(self.first))
        grain = np.exp2(np.ceil(np.log2(np.maximum(totals, 1.0))) - 22)
        each: NDArray[np.float64] = np.maximum(np.rint(self.token_weights() / grain), 1.0) * grain
        return each.astype(np.float32)

    def token_weights(self) -> NDArray[np.float64]:
        counts = self.rows.counts
        each = tokens_of(counts)
        return np.repeat(counts / each.astype(np.float64), each)


@dataclass(frozen=True)
class TokenCounts:
    """The weights of all tokens, per word and topic, in whole multiples of 2**-shift.

    Counts of parts of a collection are added with ``+``, in any order, to the same result.
    """

    cells: sparse.csr_array  # int64 (V, K), topics ascending
    shift: int

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        return TokenCounts(sparse.csr_array(self.cells + other.cells), self.shift)

    def __sub__(self, other: "TokenCounts") -> "TokenCounts":
        cells = sparse.csr_array(self.cells - other.cells)
        cells.eliminate_zeros()
        return TokenCounts(cells, self.shift)

    @property
    def n_words(self) -> int:
        return int(self.cells.shape[0])

    @property
    def n_topics(self) -> int:
        return int(self.cells.shape[1])

    @property
    def sums(self) -> NDArray[np.float64]:
        """The tokens of each topic."""
        whole = self.cells.sum(axis=0, dtype=np.int64)
        return np.ldexp(np.asarray(whole, np.float64).ravel(), -self.shift)

    @property
    def word_sums(self) -> NDArray[np.int64]:
        """The weight of each word, in multiples of 2**-shift."""
        sums: NDArray[np.int64] = self.cells.sum(axis=1)
        return sums

    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the distinct weights of cells, ascending, and how many cells have each."""
        cells, times = np.unique(self.cells.data, return_counts=True)
        return cells, times

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
        """The offsets of the words, their topics, and the topics' weights."""
        starts = self.cells.indptr.astype(np.int64, copy=False)
        return starts, self.cells.indices.astype(np.int32, copy=False), self.cells.data


@dataclass(frozen=True)
class SizeHistogram:
    """Numbers of documents by their tokens per topic and by their length.

    `times` documents have `sizes` > 0 of `topics`; `n_alike` have `lengths` tokens. Histograms of
    parts of a collection are added with ``+``, in any order, to the same result.
    """

    topics: NDArray[np.int64]
    sizes: NDArray[np.float64]
    times: NDArray[np.int64]
    lengths: NDArray[np.float64]
    n_alike: NDArray[np.int64]

    @classmethod
    def of(
        cls, topics: NDArray[np.integer], sizes: NDArray[Any], lengths: NDArray[Any]
    ) -> "SizeHistogram":
        """Count documents by the sizes of their topics, one by one, and by their lengths."""
        # most are small numbers: a topic and a size that many documents share are one term
        different, which = np.unique(sizes.astype(np.float64), return_inverse=True)
        n_different = max(len(different), 1)
        kinds, times = np.unique(topics.astype(np.int64) * n_different + which, return_counts=True)
        of, at = np.divmod(kinds, n_different)
        lengths, n_alike = np.unique(lengths.astype(np.float64), return_counts=True)
        return cls(of, different[at], times, lengths, n_alike)

    def __add__(self, other: "SizeHistogram") -> "SizeHistogram":
        topics, sizes, lengths = (
            np.concatenate((getattr(self, name), getattr(other, name)))
            for name in ("topics", "sizes", "lengths")
        )
        kinds, which = np.unique(np.stack((topics, sizes)), axis=1, return_inverse=True)
        lengths, length = np.unique(lengths, return_inverse=True)
        times, n_alike = np.zeros(kinds.shape[1], np.int64), np.zeros(len(lengths), np.int64)
        np.add.at(times, which.ravel(), np.concatenate((self.times, other.times)))
        np.add.at(n_alike, length, np.concatenate((self.n_alike, other.n_alike)))
        return SizeHistogram(kinds[0].astype(np.int64), kinds[1], times, lengths, n_alike)


def looked_at(keys: NDArray[np.uint64], share: float) -> NDArray[np.int64]:
    """Return about a share of the documents, chosen by key."""
    return np.flatnonzero(keys.astype(np.float64) < share * 2.0**64)


def tokens_of(counts: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the tokens of each count: 1, 2, 3 and 16 for .5, 2, 2.5 and 17."""
    return np.minimum(np.ceil(counts), MOST_TOKENS).astype(np.int64)


def unit_of(whole: bool, total: float) -> int:
    """Return the shift that keeps whole counts exact, fractions close, and sums below 2**62.

    In sixteenths every whole count is exact, for it has at most 16 tokens.
    """
    bits = int(np.ceil(np.log2(max(total, 1.0)))) + 1
    return min(4 if whole else FRACTION_SHIFT, 62 - bits)


def enlarged(X: sparse.csr_array) -> sparse.csr_array:
    """Return tiny counts times a power of 2: their median is above 1/2, at most 1.

    Other collections are returned as they are. The order of the documents does not matter.
    """
    # below 2**-4 the unit of 2**-16 is too coarse
    if X.dtype.kind != "f" or not SMALLEST_COUNT < X.data.max(initial=0.0) < 2.0**-4:
        return X
    data = np.where(X.data > SMALLEST_COUNT, X.data, 0.0).astype(np.float64)
    positive = np.sort(data[data > 0])
    middle, largest = np.nextafter(positive[[len(positive) // 2, -1]], 0.0)
    power = min(-np.frexp(middle)[1], FRACTION_SHIFT - np.frexp(largest)[1])
    return sparse.csr_array((np.ldexp(data, power), X.indices, X.indptr), shape=X.shape)
