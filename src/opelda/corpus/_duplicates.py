"""Documents that are nearly the same, found by hashes of their words and counted out."""

from dataclasses import replace
from itertools import compress
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._corpus import Corpus
from opelda.corpus._counting import found_words
from opelda.corpus._matrix import keep_columns
from opelda.corpus._vocabulary import Vocabulary

NEARLY_THE_SAME = 0.8
LEAST_WORDS = 5  # documents of fewer distinct words can be alike by chance: never copies
# Two documents are compared if the smallest hashes of their words agree for all hash functions of a
# band: at a similarity of .8 with a probability of .9998.
BANDS, HASHES = 16, 4


def without_copies(corpus: Corpus, bounds: tuple[Any, Any] | None) -> Corpus:
    """Return a corpus without near copies; `bounds` are min_df and max_df of words that stay."""
    stay = np.flatnonzero(copies(corpus.X) < 0)
    X, words = corpus.X[stay], corpus.vocabulary
    if bounds is not None and words is not None:
        df = np.bincount(X.indices, minlength=X.shape[1])
        keep = found_words(df, df.astype(np.float64), len(stay), *bounds, None)
        X = keep_columns(X, keep)
        kept = compress(words.words, keep)
        words = Vocabulary.known(kept, df[keep], tokenizer=words.tokenizer)
    columns = [] if corpus.metadata is None else [column[stay] for column in corpus.metadata]
    return replace(
        corpus,
        X=X,
        vocabulary=words,
        names=None if corpus.names is None else [corpus.names[i] for i in stay.tolist()],
        metadata=pl.DataFrame(columns) if columns else None,
        n_duplicates=len(corpus) - len(stay),
    )


def copies(
    counts: sparse.csr_array, least: float = NEARLY_THE_SAME, n_bands: int = BANDS
) -> NDArray[np.int64]:
    """Return the earlier document that each document nearly copies, or -1."""
    ones = (counts.data > 0).astype(np.int32)
    words = sparse.csr_array((ones, counts.indices, counts.indptr), shape=counts.shape)
    words.eliminate_zeros()
    sizes = np.diff(words.indptr)
    found = np.full(words.shape[0], -1, np.int64)
    left = np.flatnonzero(sizes >= LEAST_WORDS)
    for band in range(n_bands):
        if len(left) < 2:
            break
        keys = _band(words, left, band)
        order = np.argsort(keys, kind="stable")  # in a bucket the earlier documents first
        ordered, documents = keys[order], left[order]
        begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
        # compare each document with the first of its bucket and with its predecessor
        first = documents[np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))]
        before = np.concatenate((documents[:1], documents[:-1]))
        for other in (first, before):
            here = np.flatnonzero(~begins & (found[documents] < 0))
            near = here[_alike(words, sizes, documents[here], other[here]) >= least]
            found[documents[near]] = other[near]
        left = left[found[left] < 0]
    while True:  # copies of copies
        root = np.where(found >= 0, found[found], -1)
        if not (root >= 0).any():
            return found
        found = np.where(root >= 0, root, found)


def _band(words: sparse.csr_array, documents: NDArray[np.int64], band: int) -> NDArray[np.uint64]:
    """Return a key of each document: its words' smallest hashes by the band's functions."""
    some = words if len(documents) == words.shape[0] else words[documents]
    keys = np.zeros(len(documents), np.uint64)
    for which in range(HASHES):
        hashes = np.random.PCG64([band, which]).random_raw(words.shape[1])
        smallest = np.minimum.reduceat(hashes[some.indices], some.indptr[:-1])
        keys = (keys ^ smallest) * np.uint64(0x9E3779B97F4A7C15)
    return keys


def _alike(
    words: sparse.csr_array,
    sizes: NDArray[np.integer],
    some: NDArray[np.int64],
    others: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return Jaccard's coefficients of pairs of documents."""
    at_once = 100_000
    found = np.zeros(len(some))
    for first in range(0, len(some), at_once):
        a, b = (part[first : first + at_once] for part in (some, others))
        common = words[a].multiply(words[b]).sum(axis=1)
        found[first : first + at_once] = common / (sizes[a] + sizes[b] - common)
    return found
