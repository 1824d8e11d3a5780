"""What a model is given: a matrix, a corpus that was read, or plain texts."""

from typing import Any

import numpy as np

from opelda.corpus import Corpus, Vocabulary
from opelda.corpus._counting import place
from opelda.errors import InputError


def counts_of(X: Any, vocabulary: Vocabulary | None) -> Any:
    """Return a corpus and texts as counts over the model's words; anything else as it is.

    Texts are made into words as those were that the model learned from.
    """
    if isinstance(X, Corpus):
        if vocabulary is None or X.vocabulary is None or X.vocabulary is vocabulary:
            return X.X
        if X.words == vocabulary.words:
            return X.X
        return place(X.X, vocabulary.columns(X.words or ()), len(vocabulary))[0]
    if vocabulary is None or not is_texts(X):
        return X
    return vocabulary.count(X.tolist() if isinstance(X, np.ndarray) else list(X))


def is_texts(X: Any) -> bool:
    """Whether this is a list, an array or a column of texts."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(text, str) for text in X)
    if getattr(X, "ndim", None) != 1 and type(X).__module__.partition(".")[0] != "polars":
        return False
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__iter__"):
        return False
    return len(X) > 0 and all(isinstance(text, str) for text in X)


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
