"""A collection whose every token has a topic, which sweeps draw, and the tokens' counts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._documents import Rows
from opelda.engines._keys import numbered

MOST_TOKENS = 16  # of one count: more would take time and tell little more
WHOLE_SHIFT = 4  # in sixteenths every whole count is exact, however many tokens it is
FRACTION_SHIFT = 16


@dataclass(frozen=True)
class Tokens:
    """A collection token by token, each with a topic, owned by an engine.

    A count of c is ceil(c) tokens of equal weight, at most 16.
    """

    rows: Rows
    keys: NDArray[np.uint64]  # of the documents' random numbers: content, number of the copy
    first: NDArray[np.int64]  # (n_docs + 1,): the offset of each document's tokens
    topics: NDArray[np.uint16]  # of each token; after an interrupted sweep, from both
    shift: int  # weights are whole multiples of 2**-shift, so that sums are exact in any order
    narrow: bool  # sums fit 32 bits

    @classmethod
    def of(
        cls,
        rows: Rows,
        content_keys: NDArray[np.uint64],
        n_words: int,
        copies: NDArray[np.integer] | None,
        shift: int | None,
    ) -> "Tokens":
        """Make tokens of documents; see `Engine.tokens`."""
        ends = np.concatenate(([0], np.cumsum(tokens_of(rows.counts))))
        first = ends[rows.indptr].astype(np.int64)
        usual, narrow = unit_of(rows, n_words)
        return cls(
            rows=rows,
            keys=numbered(content_keys, copies),
            first=first,
            topics=np.zeros(int(first[-1]), np.uint16),
            shift=usual if shift is None else shift,
            narrow=narrow and shift in (None, usual),
        )


@dataclass(frozen=True)
class TokenCounts:
    """The weights of all tokens, per word and topic, in whole multiples of 2**-shift.

    Counts of parts of a collection are added with ``+``, in any order, to the same result.
    """

    cells: NDArray[Any]  # int32 or int64 (V, at least K)
    n_topics: int
    shift: int

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        k = self.n_topics  # engines may pad their rows
        total = self.cells[:, :k].astype(np.int64) + other.cells[:, :k]
        return TokenCounts(total, self.n_topics, self.shift)


@dataclass(frozen=True)
class SizeHistogram:
    """How many documents have so many tokens of a topic, and so many tokens in all.

    `times` documents have `sizes` > 0 tokens of `topics`; `n_alike` have `lengths` tokens.
    """

    topics: NDArray[np.int64]
    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_alike: NDArray[np.int64]


def tokens_of(counts: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return how many tokens each count is: 1, 2, 3 and 16 for .5, 2, 2.5 and 17."""
    return np.minimum(np.ceil(counts), MOST_TOKENS).astype(np.int64)


def unit_of(rows: Rows, n_words: int) -> tuple[int, bool]:
    """Return the shift that keeps whole counts exact, fractions close, and sums below 2**62.

    And whether the sums even fit 32 bits.
    """
    if not len(rows.counts):
        return WHOLE_SHIFT, True
    whole = bool((rows.counts == np.rint(rows.counts)).all())
    of_words = np.bincount(rows.words, rows.counts, n_words)
    shift = min(WHOLE_SHIFT if whole else FRACTION_SHIFT, 62 - _bits(of_words.sum()))
    return shift, _bits(of_words.max()) + shift <= 31


def _bits(total: float) -> int:
    return int(np.ceil(np.log2(max(total, 1.0)))) + 1


def histogram(tokens: Tokens, n_topics: int, share: float) -> SizeHistogram:
    """Count the documents by their numbers of tokens per topic, on about a share of them.

    A document's key decides whether it is looked at, so that neither order nor split matters.
    """
    docs = np.flatnonzero(tokens.keys.astype(np.float64) < share * 2.0**64)
    lengths = tokens.first[docs + 1] - tokens.first[docs]
    before = np.cumsum(lengths) - lengths
    at = np.arange(lengths.sum()) + np.repeat(tokens.first[docs] - before, lengths)
    cells = np.repeat(np.arange(len(docs)), lengths) * n_topics + tokens.topics[at]
    cells, sizes = np.unique(cells, return_counts=True)  # the N_dk that are not 0
    # most are small numbers: a topic and a number that many documents share are one term
    longest = int(sizes.max(initial=0)) + 1
    kinds, times = np.unique(cells % n_topics * longest + sizes, return_counts=True)
    lengths, n_alike = np.unique(lengths, return_counts=True)
    return SizeHistogram(kinds // longest, kinds % longest, times, lengths, n_alike)
