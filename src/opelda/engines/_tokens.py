"""A collection whose every token has a topic, and its counts: what sweeps draw and add up."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.engines._documents import Rows

MOST_TOKENS = 16  # of one count: more would take time and tell little more
WHOLE_SHIFT = 4  # in sixteenths every whole count is exact, however many tokens it is
FRACTION_SHIFT = 16


@dataclass(frozen=True)
class Tokens:
    """A collection token by token, each with a topic, owned by an engine.

    A count of c is ceil(c) tokens of equal weight, at most 16.

    Attributes
    ----------
    rows : Rows
    keys : uint64 array (n_docs,)
        Of the documents' random numbers: content, and the number of the copy.
    first : int64 array (n_docs + 1,)
        The offset of each document's tokens.
    topics : uint16 array
        Of each token.
    shift : int
        Weights are whole multiples of 2**-shift, so that sums are exact in any order.
    narrow : bool
        Sums fit 32 bits.
    """

    rows: Rows
    keys: NDArray[np.uint64]
    first: NDArray[np.int64]
    topics: NDArray[np.uint16]
    shift: int
    narrow: bool


@dataclass(frozen=True)
class Unit:
    """The unit of token weights, 2**-shift, and whether their sums fit 32 bits."""

    shift: int
    narrow: bool


@dataclass(frozen=True)
class TokenCounts:
    """The weights of all tokens, per word and topic, in whole multiples of 2**-shift.

    Counts of parts of a collection are added with ``+``, in any order, to the same result.

    Attributes
    ----------
    cells : int32 or int64 array (V, at least K)
    n_topics, shift : int
    """

    cells: NDArray[Any]
    n_topics: int
    shift: int

    def __add__(self, other: "TokenCounts") -> "TokenCounts":
        k = self.n_topics  # engines may pad their rows
        total = self.cells[:, :k].astype(np.int64) + other.cells[:, :k]
        return TokenCounts(total, self.n_topics, self.shift)


@dataclass(frozen=True)
class SizeHistogram:
    """How many documents have so many tokens of a topic, and so many tokens in all.

    Attributes
    ----------
    topics, sizes, times : int64 arrays
        `times` documents have `sizes` > 0 tokens of `topics`.
    lengths, n_alike : int64 arrays
        `n_alike` documents have `lengths` tokens.
    """

    topics: NDArray[np.int64]
    sizes: NDArray[np.int64]
    times: NDArray[np.int64]
    lengths: NDArray[np.int64]
    n_alike: NDArray[np.int64]


def tokens_of(counts: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return how many tokens each count is.

    >>> tokens_of(np.array([0.5, 2, 2.5, 17], np.float32))
    array([ 1,  2,  3, 16])
    """
    return np.minimum(np.ceil(counts), MOST_TOKENS).astype(np.int64)


def unit_of(rows: Rows, n_words: int) -> Unit:
    """Return the unit that keeps whole counts exact, fractions close, and sums below 2**62."""
    if not len(rows.counts):
        return Unit(WHOLE_SHIFT, True)
    whole = bool((rows.counts == np.rint(rows.counts)).all())
    of_words = np.bincount(rows.words, rows.counts, n_words)
    shift = min(WHOLE_SHIFT if whole else FRACTION_SHIFT, 62 - _bits(of_words.sum()))
    return Unit(shift, _bits(of_words.max()) + shift <= 31)


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
