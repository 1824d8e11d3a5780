"""Collections of the paper's shapes, drawn from topics and known by a name.

They stand in for collections that are not at hand, to measure speed on; a block of documents
depends only on the shape, the seed and its number.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.errors import InputError

PREFIX = "generated:"
BLOCK = 8192  # documents
MOST_DOCUMENTS = 2**31 - 1
# The n-th word's weight is (OFFSET + n) ** -exponent, as Zipf and Mandelbrot found it in texts.
OFFSET = 10
OWN_SHARE = 0.9  # of a topic's mass on the words that it owns


class Shape(NamedTuple):
    """A collection in numbers."""

    n_docs: int
    n_words: int
    n_topics: int
    n_tokens: float  # mean length of a document
    n_distinct: float  # mean number of distinct words
    alpha: float  # prior of the mixtures
    exponent: float  # how fast words become rare: with `alpha` so that there are `n_distinct`


SHAPES = {
    "nyt": Shape(300_000, 102_660, 100, 332, 232, 0.05, 0.99),
    "pubmed": Shape(8_200_000, 141_043, 100, 90, 59, 0.02, 1.13),
    "small": Shape(3_000, 600, 10, 60, 39, 0.1, 1.0),
}


def parse(name: str) -> tuple[str, int]:
    """Return the shape and the number of documents that a name asks for.

    >>> parse("generated:nyt:20000"), parse("generated:small")
    (('nyt', 20000), ('small', 3000))
    """
    shape, colon, n_docs = name.removeprefix(PREFIX).partition(":")
    if shape not in SHAPES:
        known = ", ".join(f"{PREFIX}{shape}" for shape in SHAPES)
        raise InputError(f"There are no documents called {name!r}; choose one of {known}.")
    if not colon:
        return shape, SHAPES[shape].n_docs
    digits = n_docs.isascii() and n_docs.isdecimal() and len(n_docs) <= len(str(MOST_DOCUMENTS))
    if not (digits and 0 < int(n_docs) <= MOST_DOCUMENTS):
        raise InputError(
            f"{name!r} does not say how many documents; give a whole number after the last colon, "
            f"as in {PREFIX}{shape}:20000."
        )
    return shape, int(n_docs)


def generated(shape: str, n_docs: int | None = None, seed: int = 0) -> sparse.csr_array:
    """Draw documents from topics, with as many words and tokens as a collection of the paper has.

    Fewer documents of a shape are the first ones of more. "small" are 3,000 short documents of ten
    topics that are easily told apart. Counts are float32.

    >>> generated("small", 500).shape
    (500, 600)
    """
    n_docs = SHAPES[shape].n_docs if n_docs is None else n_docs
    return next(drawn(shape, n_docs, seed, n_docs))


def drawn(
    shape: str, n_docs: int, seed: int = 0, at_once: int = 65_536
) -> Iterator[sparse.csr_array]:
    """Yield what `generated` returns in parts, each drawn when it is asked for: a stream.

    >>> [part.shape for part in drawn("small", 20000, at_once=15000)]
    [(15000, 600), (5000, 600)]
    """
    kind = SHAPES[shape]
    left = sparse.csr_array((0, kind.n_words), dtype=np.float32)
    draw = partial(_block, kind, np.cumsum(_topics(kind), axis=1), seed)
    first = 0
    for size in [at_once] * (n_docs // at_once) + [n_docs % at_once] * (n_docs % at_once > 0):
        last = first - (left.shape[0] - size) // BLOCK
        with ThreadPoolExecutor() as pool:  # all cores draw; the order is that of the numbers
            left = sparse.vstack([left, *pool.map(draw, range(first, last))], format="csr")
        yield left[:size]
        left, first = left[size:], last


def _topics(kind: Shape) -> NDArray[np.float64]:
    """Return topics with most of their mass on words of their own."""
    weight = (OFFSET + np.arange(kind.n_words, dtype=np.float64)) ** -kind.exponent
    # topics take turns, in an order that changes each turn: no topic has all frequent words
    turns = np.random.default_rng(0).permuted(
        np.tile(np.arange(kind.n_topics), (-(-kind.n_words // kind.n_topics), 1)), axis=1
    )
    owner = turns.ravel()[: kind.n_words]
    own = np.where(owner == np.arange(kind.n_topics)[:, None], weight, 0.0)
    own /= own.sum(axis=1, keepdims=True)
    topics: NDArray[np.float64] = OWN_SHARE * own + (1 - OWN_SHARE) * weight / weight.sum()
    return topics


def _block(
    kind: Shape, cumulative: NDArray[np.float64], seed: int, number: int
) -> sparse.csr_array:
    """Draw for each document how many tokens it has, how many of each topic, and their words."""
    rng = np.random.default_rng([seed, number])
    mixtures = rng.dirichlet(np.full(kind.n_topics, kind.alpha), BLOCK)
    lengths = np.maximum(rng.poisson(kind.n_tokens, BLOCK), 1)
    per_topic = rng.multinomial(lengths, mixtures)
    documents = np.arange(BLOCK, dtype=np.int32)
    rows: list[NDArray[Any]] = []
    words: list[NDArray[Any]] = []
    for sums, n_tokens in zip(cumulative, per_topic.T, strict=True):
        rows.append(np.repeat(documents, n_tokens))
        draws = rng.random(len(rows[-1])) * sums[-1]
        # the first word whose sum exceeds the draw: words of probability zero are never it
        words.append(np.searchsorted(sums, draws, side="right").astype(np.int32))
    tokens = (np.concatenate(rows), np.concatenate(words))
    ones = np.ones(len(tokens[0]), np.float32)
    return sparse.csr_array((ones, tokens), shape=(BLOCK, kind.n_words))
