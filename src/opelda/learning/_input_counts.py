"""Counts of the documents that a learner takes: a corpus, or any input of `opelda.corpus.read`."""

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np

from opelda._count_matrix import additive
from opelda._validation import on_device
from opelda.corpus import Corpus, Vocabulary
from opelda.corpus._kinds import are_documents, first_of, is_bag, is_mapping, is_record
from opelda.corpus._matrix import remap_columns
from opelda.errors import InputError


def as_corpus(X: Any, vocabulary: Vocabulary | None = None, n_jobs: int | None = None) -> Any:
    """Return documents as a corpus over the vocabulary, if given; return counts unchanged."""
    vocabulary = None if vocabulary is None else as_vocabulary(vocabulary)
    documents = _documents(X)
    if documents is None:
        return X if isinstance(X, Corpus) else additive(X)
    from opelda.corpus import read  # imports polars

    return read(documents, vocabulary=vocabulary, name_column=False, n_jobs=n_jobs)


def counts_of(X: Any, vocabulary: Vocabulary | None) -> Any:
    """Return documents as counts over the model's words; return counts unchanged.

    The model's tokenizer cuts texts into words. Word lists and word counts need no tokenizer.
    """
    if isinstance(X, Corpus):
        own = X.vocabulary
        if vocabulary is None or own is None or own is vocabulary or X.words == vocabulary.words:
            return X.X
        return remap_columns(X.X, vocabulary.columns(X.words or ()), len(vocabulary))[0]
    documents = _documents(X)
    if documents is None:
        return additive(X)
    if vocabulary is None:
        raise InputError(
            "X contains documents, but the model was fitted to counts without a vocabulary; fit it "
            "to documents or a corpus, or pass the vocabulary of the columns to fit."
        )
    if isinstance(documents, list) and not is_record(first_of(documents)):
        return vocabulary.count(documents)
    return as_corpus(documents, vocabulary).X


def _documents(X: Any) -> Any:
    """Return documents, an iterator or a vector of texts as a list; return None for counts."""
    if on_device(X):
        return None
    if isinstance(X, str | bytes | PathLike) or is_mapping(X):
        kind, what = ("mapping", "document") if is_mapping(X) else ("text", "text")
        raise InputError(
            f"X is one {kind}, not a collection of documents; pass [{what}], or "
            "opelda.corpus.read(path) for a file."
        )
    if isinstance(X, Corpus) or not are_documents(X):
        return None
    if isinstance(X, tuple | Iterator) or (isinstance(X, np.ndarray) and X.dtype.kind in "UT"):
        X = list(X)
    if isinstance(X, list | np.ndarray) and len(X) == 0:
        raise InputError("X has no documents; pass at least one document.")
    if isinstance(X, list) and is_bag(first_of(X)):
        raise InputError(
            "X contains lists of (id, count) without a number of words; read them with "
            "opelda.corpus.read(X, column_words=...)."
        )
    return X


def vocabulary_for(X: Any, given: Any, n_words: int) -> Vocabulary | None:
    """Return a copy of the given vocabulary, or of a corpus's own, checked against the columns."""
    if given is None and isinstance(X, Corpus):
        given = X.vocabulary
    if given is None:
        return None
    words = as_vocabulary(given)
    if isinstance(X, Corpus) and X.words is not None and tuple(X.words) != tuple(words.words):
        raise InputError(
            "does not match the vocabulary of the corpus; remove this argument.", "vocabulary"
        )
    if len(words) != n_words:
        raise InputError(
            f"The vocabulary has {len(words)} words but X has {n_words} columns; pass the "
            "vocabulary that the documents were counted with."
        )
    return words.copy()


def as_vocabulary(vocabulary: Any) -> Vocabulary:
    """Return a vocabulary; raise `InputError` for other types."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary
    raise InputError(f"must be a Vocabulary, got {type(vocabulary).__name__}.", "vocabulary")
