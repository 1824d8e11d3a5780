"""What a model is given: a matrix, a corpus that was read, or plain documents."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from opelda.corpus import Corpus, Vocabulary
from opelda.corpus._counting import place
from opelda.errors import InputError


def counts_of(X: Any, vocabulary: Vocabulary | None) -> Any:
    """Return a corpus and documents as counts over the model's words; anything else as it is.

    Texts are made into words as those were that the model learned from. Word lists, and mappings
    from word to count, are taken as they are.
    """
    if isinstance(X, Corpus):
        if vocabulary is None or X.vocabulary is None or X.vocabulary is vocabulary:
            return X.X
        if X.words == vocabulary.words:
            return X.X
        return place(X.X, vocabulary.columns(X.words or ()), len(vocabulary))[0]
    if vocabulary is None:
        return X
    documents = _documents(X)
    return X if documents is None else vocabulary.count(documents)


def _documents(X: Any) -> list[Any] | None:
    """Return texts, word lists and mappings from word to count; None for what holds numbers."""
    if isinstance(X, str | Mapping):
        kind, what = ("text", "text") if isinstance(X, str) else ("mapping", "document")
        raise InputError(f"X is one {kind}, not a collection of documents; give [{what}].")
    values = _values(X)
    if values is None:
        return None
    if not values:
        raise InputError("X holds no documents; give at least one.")
    if any(map(_is_document, values)) or all(value is None for value in values):
        return values
    return values if isinstance(X, Iterator) else None  # an iterator is used up by now


def _values(X: Any) -> list[Any] | None:
    """Return the items of a list, an iterator, or a column of polars, pandas, Arrow or NumPy."""
    if isinstance(X, list | tuple | Iterator):
        return list(X)
    if hasattr(X, "to_pylist") and not hasattr(X, "column_names"):
        return list(X.to_pylist())
    if len(getattr(X, "shape", ())) != 1 or isinstance(X, sparse.sparray):
        return None
    return list(X.tolist() if hasattr(X, "tolist") else X)


def _is_document(item: Any) -> bool:
    """Whether this is a document and no row of numbers, for which an empty one would be too few."""
    if isinstance(item, np.ndarray):
        return item.dtype.kind in "OUT" and item.ndim == 1
    if isinstance(item, list | tuple):
        return not item or any(isinstance(word, str) for word in item)
    return isinstance(item, str | Mapping)


def vocabulary_for(X: Any, given: Any, n_words: int) -> Vocabulary | None:
    """Return a copy of the vocabulary of the columns: the one given, or that of a corpus."""
    if given is None and isinstance(X, Corpus):
        given = X.vocabulary
    if given is None:
        return None
    if not isinstance(given, Vocabulary):
        raise InputError(
            f"vocabulary must be a Vocabulary, got {type(given).__name__}; make one of words "
            "with opelda.corpus.Vocabulary(words)."
        )
    if len(given) != n_words:
        raise InputError(
            f"The vocabulary has {len(given)} words but X has {n_words} columns; give the "
            "vocabulary that the documents were counted with."
        )
    return given.copy()
