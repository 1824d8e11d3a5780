"""Random splits of documents, token by token."""

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._count_matrix import counts
from opelda._validation import seed
from opelda.corpus import Corpus
from opelda.engines.seam import GOLDEN, content_keys, mix, numbered, seeded
from opelda.errors import InputError

TOKENS_AT_ONCE = 2**21
MOST_TOKENS = 2**24  # single precision counts whole tokens up to here


def split_tokens(
    X: Any, *, held_out: float = 0.3, random_state: Any = None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split every document's tokens at random into an observed and a held-out part.

    Of a document's N tokens, ``round(held_out * N)``, but at least 1 and at most N - 1, are held
    out, chosen uniformly without replacement. A document of fewer than 2 tokens is all observed. A
    count of 2.5 is three tokens of weights 1, 1 and 0.5. The choice depends on the document's words
    and counts, its number among equal documents and the seed, never on its row or other documents.

    Parameters
    ----------
    X : array or sparse matrix (D, V), or Corpus
        Word counts, up to 2**24 tokens a document.
    held_out : float
        Share of the tokens, above 0 and below 1.
    random_state : int, RandomState, Generator or None

    Returns
    -------
    observed, held_out : CSR arrays (D, V), float32
        They add up to X exactly (in single precision).

    Examples
    --------
    >>> observed, held_out = split_tokens([[6, 4, 0], [0, 0, 1]], random_state=0)
    >>> held_out.sum(axis=1)
    array([3., 0.], dtype=float32)
    """
    return split_numbered(X, as_share(held_out), seed(random_state))


def split_numbered(
    X: Any, share: float, seed: int, copies: NDArray[np.integer] | None = None
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Split as `split_tokens` does; `copies` numbers equal documents, if given."""
    matrix = positive_counts(X)
    n_tokens = tokens_per_document(matrix)
    n_held = np.clip(np.rint(share * n_tokens), 1, np.maximum(n_tokens - 1, 1)).astype(np.int64)
    n_held[n_tokens < 2] = 0
    # A document's draws are a function of its content and the seed; equal ones are numbered, or
    # a title that occurs a thousand times would be split one way a thousand times.
    content = content_keys(matrix.indptr.astype(np.int64), matrix.indices, matrix.data)
    keys = seeded(numbered(content, copies), seed)
    held = np.zeros(matrix.nnz)
    for first, last in _ranges(n_tokens):
        entries = slice(int(matrix.indptr[first]), int(matrix.indptr[last]))
        some = slice(first, last)
        held[entries] = _held_mass(matrix.data[entries], keys[some], n_tokens[some], n_held[some])
    return _with_data(matrix, matrix.data - held), _with_data(matrix, held)


def can_be_split(X: Any) -> bool:
    """Whether a document has at least two tokens."""
    return bool((tokens_per_document(positive_counts(X)) >= 2).any())


def as_share(held_out: Any) -> float:
    """Return a share above 0 and below 1."""
    if isinstance(held_out, float | np.floating) and 0 < held_out < 1:
        return float(held_out)
    raise InputError(
        f"must be a share of the tokens, above 0, below 1, got {held_out!r}.", "held_out"
    )


def positive_counts(X: Any) -> sparse.csr_array:
    """Return documents as CSR in single precision and without explicit zeros."""
    matrix = counts(X.X if isinstance(X, Corpus) else X).astype(np.float32)
    matrix.eliminate_zeros()
    return matrix


def tokens_per_document(matrix: sparse.csr_array) -> NDArray[np.int64]:
    """Return each document's number of tokens; a fraction counts 1."""
    before = np.zeros(matrix.nnz + 1)
    np.cumsum(np.ceil(matrix.data), dtype=np.float64, out=before[1:])
    tokens: NDArray[np.int64] = np.diff(before[matrix.indptr]).astype(np.int64)
    if len(tokens) and tokens.max() > MOST_TOKENS:
        raise InputError(
            f"Document {tokens.argmax()} has {tokens.max()} tokens, too many to split one by one "
            f"(at most {MOST_TOKENS}); scale its counts down."
        )
    return tokens


def _ranges(n_tokens: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut the documents into ranges of bounded memory, a long document alone."""
    part = np.cumsum(n_tokens) // TOKENS_AT_ONCE
    cuts = np.flatnonzero(np.diff(part)) + 1
    return list(pairwise([0, *cuts.tolist(), len(n_tokens)]))


def _held_mass(
    counted: NDArray[np.float32],
    keys: NDArray[np.uint64],
    n_tokens: NDArray[np.int64],
    n_held: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the held-out part of each entry."""
    pieces = np.ceil(counted).astype(np.int64)
    entry = np.repeat(np.arange(len(counted)), pieces)
    document = np.repeat(np.arange(len(n_tokens)), n_tokens)
    weight = np.ones(len(entry))
    last = np.cumsum(pieces) - 1  # an entry's last token carries its fraction
    weight[last] = counted - (pieces - 1)
    rank = np.arange(len(entry)) - np.repeat(np.cumsum(n_tokens) - n_tokens, n_tokens)
    # Tokens in the order of their draws, document by document: the first n_held are held out. Where
    # there are several documents, their numbers take the highest bits; a long one, which comes
    # alone, has all 64 for its draws, for of 24 it would have many ties.
    draws = mix(keys[document] + (rank.astype(np.uint64) + np.uint64(1)) * GOLDEN)
    n_bits = (len(n_tokens) - 1).bit_length()
    if n_bits:
        draws = document.astype(np.uint64) << np.uint64(64 - n_bits) | draws >> np.uint64(n_bits)
    order = np.argsort(draws, kind="stable")
    chosen = order[rank < n_held[document]]
    held = np.bincount(entry[chosen], weights=weight[chosen], minlength=len(counted))
    return held.astype(np.float64)


def _with_data(matrix: sparse.csr_array, data: NDArray[np.float64]) -> sparse.csr_array:
    part = matrix.copy()
    part.data = data.astype(np.float32)
    part.eliminate_zeros()
    return part
