"""Collections known by a name: documents of the paper's shapes, drawn from topics.

They stand in for collections that are not at hand, to measure speed on; a block of documents
depends on nothing but the shape, the seed and its number.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import threads, whole
from opelda.corpus._synthetic import draw_counts, owned_topics
from opelda.errors import InputError

PREFIX = "generated:"
DOCUMENTS_AT_ONCE = 8192
MOST_DOCUMENTS = 2**31 - 1
# The n-th word's weight is (OFFSET + n) ** -exponent, as Zipf and Mandelbrot found it in texts.
OFFSET = 10


class Shape(NamedTuple):
    """What a collection is like.

    Attributes
    ----------
    n_docs, n_words, n_topics : int
    n_tokens : float
        Mean length of a document.
    n_distinct : float
        Mean number of its distinct words.
    alpha : float
        Prior of the mixtures.
    exponent : float
        How fast words become rare: chosen with `alpha` so that there are `n_distinct`.
    """

    n_docs: int
    n_words: int
    n_topics: int
    n_tokens: float
    n_distinct: float
    alpha: float
    exponent: float


SHAPES = {
    "nyt": Shape(300_000, 102_660, 100, 332, 232, 0.05, 0.99),
    "pubmed": Shape(8_200_000, 141_043, 100, 90, 59, 0.02, 1.13),
    "small": Shape(3_000, 600, 10, 60, 39, 0.1, 1.0),
}


def is_generated(name: str) -> bool:
    """Whether this names generated documents and no file.

    >>> is_generated("generated:nyt"), is_generated("texts.txt")
    (True, False)
    """
    return name.startswith(PREFIX)


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

    Fewer documents of a shape are the first ones of more.

    Parameters
    ----------
    shape : {"nyt", "pubmed", "small"}
        "small" are 3,000 short documents of ten topics that are easily told apart.
    n_docs : int, optional
        As many as the collection has, if left out.
    seed : int

    Returns
    -------
    CSR array (documents, words), float32

    Examples
    --------
    >>> generated("small", 500).shape
    (500, 600)
    """
    kind = SHAPES.get(shape)
    if kind is None:
        raise InputError(f"There is no shape {shape!r}; choose one of {', '.join(SHAPES)}.")
    n_docs = kind.n_docs if n_docs is None else whole("n_docs", n_docs)
    seed = whole("seed", seed, 0)
    ends: list[NDArray[Any]] = [np.zeros(1, np.int64)]
    words: list[NDArray[np.int32]] = []
    counts: list[NDArray[np.float32]] = []
    numbers = range(-(-n_docs // DOCUMENTS_AT_ONCE))
    for number, block in enumerate(_blocks(kind, np.cumsum(_topics(kind), axis=1), seed, numbers)):
        block = block[: n_docs - number * DOCUMENTS_AT_ONCE]
        ends.append(ends[-1][-1] + block.indptr[1:].astype(np.int64))
        words.append(block.indices)
        counts.append(block.data)
    # one array after the other, and nothing is kept twice: there may be half a billion entries
    indptr = np.concatenate(ends)
    if indptr[-1] < 2**31:  # SciPy would widen the columns' numbers to the type of these
        indptr = indptr.astype(np.int32)
    indices = np.concatenate(words)
    words.clear()
    data = np.concatenate(counts)
    X = sparse.csr_array((data, indices, indptr), shape=(n_docs, kind.n_words))
    X.has_canonical_format = True
    return X


def drawn(
    shape: str, n_docs: int, seed: int = 0, at_once: int = 65_536
) -> Iterator[sparse.csr_array]:
    """Yield what `generated` returns in parts, each drawn when it is asked for: a stream.

    >>> [part.shape for part in drawn("small", 20000, at_once=15000)]
    [(15000, 600), (5000, 600)]
    """
    kind = SHAPES[shape]
    left = sparse.csr_array((0, kind.n_words), dtype=np.float32)
    cumulative = np.cumsum(_topics(kind), axis=1)
    first = 0
    for size in [at_once] * (n_docs // at_once) + [n_docs % at_once] * (n_docs % at_once > 0):
        last = first - (left.shape[0] - size) // DOCUMENTS_AT_ONCE
        blocks = _blocks(kind, cumulative, seed, range(first, last))
        left = sparse.vstack([left, *blocks], format="csr")
        yield left[:size]
        left, first = left[size:], last


def _blocks(
    kind: Shape, cumulative: NDArray[np.float64], seed: int, numbers: range
) -> Iterator[sparse.csr_array]:
    """Yield the blocks in their order; all cores draw."""
    pool = ThreadPoolExecutor(threads(-1))
    try:
        yield from pool.map(partial(_block, kind, cumulative, seed), numbers)
    finally:
        pool.shutdown(cancel_futures=True)


def _topics(kind: Shape) -> NDArray[np.float64]:
    weight = (OFFSET + np.arange(kind.n_words, dtype=np.float64)) ** -kind.exponent
    # topics take turns, in an order that changes from turn to turn: none has all the frequent words
    turns = np.random.default_rng(0).permuted(
        np.tile(np.arange(kind.n_topics), (-(-kind.n_words // kind.n_topics), 1)), axis=1
    )
    return owned_topics(weight, turns.ravel()[: kind.n_words], kind.n_topics)


def _block(
    kind: Shape, cumulative: NDArray[np.float64], seed: int, number: int
) -> sparse.csr_array:
    rng = np.random.default_rng([seed, number])
    mixtures = rng.dirichlet(np.full(kind.n_topics, kind.alpha), DOCUMENTS_AT_ONCE)
    return draw_counts(rng, mixtures, cumulative, kind.n_tokens)
