"""What the formats of counts share: matrices in one form, checked against their words."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._matrix import as_counts
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._files import Input, write_in_one_step
from opelda.corpus.formats._format import Options
from opelda.errors import InputError

MOST_WORDS = 2**31 - 1
# Empty documents cost no bytes in a file, but memory here: so many more than it has bytes.
SLACK = 100_000
ENTRIES_AT_ONCE = 2**20


def words_of(input: Input, options: Options) -> list[str] | None:
    """Return the words of the columns, from the file that lies beside."""
    return _vocab.find(input, options, counts=True)


def check_width(width: int, input: Input, options: Options) -> None:
    """Refuse a file whose columns are more or fewer than the words beside it.

    Raises
    ------
    InputError
    """
    found = _vocab.locate(input, options, counts=True)
    if found is None:
        return
    n_words = len(_vocab.read(found, options.encoding))
    if n_words != width:
        raise InputError(
            f"{input.label} has {width} columns, but {found.label} has {n_words} words; "
            "give the vocabulary that belongs to it with {column_words}.",
            column_words=...,
        )


def check_documents(n_documents: int, n_bytes: int, label: str) -> None:
    """Refuse more documents than a file of that size can be meant to have.

    Raises
    ------
    InputError
    """
    if n_documents > n_bytes + SLACK:
        raise InputError(
            f"{label} announces {n_documents} documents in {n_bytes} bytes; "
            "check that it is complete and of this format."
        )


def rows_in_blocks(X: sparse.csr_array, options: Options, position: Any) -> Iterator[Block]:
    """Yield the rows of a matrix from a position on, which is a number of rows."""
    first = 0 if position is None else position
    if type(first) is not int or not 0 <= first <= X.shape[0]:
        raise InputError(
            f"The position {position!r} is none of this file with {X.shape[0]} documents; "
            "give one that a block had."
        )
    while first < X.shape[0]:
        last = min(first + options.block_size, X.shape[0])
        yield Block(X[first:last], last)
        first = last


def checked(item: Any, input: Input, options: Options) -> sparse.csr_array:
    """Return a matrix from a file in the form that blocks have.

    Raises
    ------
    InputError
        When it holds what are no counts, or has not a column for each word.
    """
    check_width(item.shape[1], input, options)
    return as_counts(item, None, input.label)[0]


def ready(corpus: Corpus) -> sparse.csr_array:
    """Return a corpus's counts in the form that is written: sorted, without zeros."""
    X = corpus.X
    good = (
        X.data.dtype == np.float32
        and X.indices.dtype == np.int32
        and X.has_canonical_format
        and bool((X.data > 0).all())
    )
    return X if good else as_counts(X, None, "The corpus")[0]


def write_lines(
    corpus: Corpus,
    path: str,
    *,
    vocab: str | None,
    header: bytes,
    lines: Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int], bytes],
) -> None:
    """Write whole counts as lines, and the words beside them.

    `lines` is given the ends of some documents' entries, all words and counts, and the number of
    the first of these documents.
    """
    X = ready(corpus)
    ends = X.indptr.astype(np.int64)
    with write_in_one_step(path, _vocab.as_file(corpus.words, vocab)) as file:
        file.write(header)
        first = 0
        while first < X.shape[0]:
            last = int(np.searchsorted(ends, ends[first] + ENTRIES_AT_ONCE, side="right")) - 1
            last = max(last, first + 1)
            file.write(lines(ends[first : last + 1], X.indices, X.data, first))
            first = last


def triples(
    ends: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32], first: int
) -> bytes:
    """Return documents as lines of numbers from 1, as UCI and Matrix Market have them."""
    return _text.write_triples(ends, words, counts, first + 1)
