"""Documents as the windows that slide over their words."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import whole
from opelda.corpus import Vocabulary
from opelda.errors import InputError

TOKENS_AT_ONCE = 2**19  # windows times their size, made together


def windows(
    documents: Iterable[Iterable[str]],
    vocabulary: Vocabulary | Mapping[str, int] | Iterable[str],
    *,
    size: int = 110,
) -> Iterator[sparse.csr_array]:
    """Yield matrices whose rows are the windows of `size` tokens in each document.

    ``coherence(topics, windows(documents, vocabulary), measure="c_v")`` is the C_V of Röder et al.;
    their NPMI and C_UCI have windows of 10. A document of N tokens has N - size + 1 windows, at
    least one. Words without a column keep their positions. These are gensim's windows as long as no
    window holds a word twice; gensim forgets such a word as soon as the first of the two leaves the
    window.

    Parameters
    ----------
    documents : iterable of sequences of words
        Taken one after the other, some thousand windows at a time.
    vocabulary : Vocabulary, mapping from word to column, or words in the order of their columns
        A mapping of the topics' top words alone is enough, and the fastest.
    size : int
        Tokens per window, at least 1.

    Yields
    ------
    CSR array (windows, words), float32
        1 where a window holds a word.

    Examples
    --------
    >>> [part.toarray() for part in windows([["a", "b", "x", "a"], ["b"]], ["a", "b"], size=3)]
    [array([[1., 1.],
           [1., 1.],
           [0., 1.]], dtype=float32)]
    """
    size = whole("size", size)
    columns = _columns(vocabulary)
    return _matrices(_numbered(documents, columns), max(columns.values()) + 1, size)


def _columns(vocabulary: Any) -> dict[str, int]:
    if isinstance(vocabulary, Vocabulary):
        vocabulary = vocabulary.words
    if isinstance(vocabulary, str | bytes) or not isinstance(vocabulary, Iterable):
        raise InputError(
            "must be a Vocabulary, a mapping from word to column, or the words in the order of "
            f"their columns, got {type(vocabulary).__name__}.",
            "vocabulary",
        )
    if not isinstance(vocabulary, Mapping):
        vocabulary = {word: column for column, word in enumerate(vocabulary)}
    if not vocabulary:
        raise InputError("has no words; give at least the top words of the topics.", "vocabulary")
    for word, column in vocabulary.items():
        if not isinstance(column, int | np.integer) or not 0 <= column < 2**31 - 1:
            raise InputError(
                f"must give each word its column, a whole number from 0 on, but gives {word!r} "
                f"{column!r}.",
                "vocabulary",
            )
    return dict(vocabulary)


def _numbered(documents: Any, columns: dict[str, int]) -> Iterator[NDArray[np.int64]]:
    """Yield each document as the columns of its words, -1 for those that have none."""
    if isinstance(documents, str | bytes) or not isinstance(documents, Iterable):
        raise InputError(
            f"must be an iterable of word lists, got {type(documents).__name__}.", "documents"
        )
    for number, document in enumerate(documents):
        try:
            if isinstance(document, str | bytes):
                raise TypeError
            words = [columns.get(word, -1) for word in document]
        except TypeError:
            raise InputError(
                f"Document {number} must be a sequence of words, got {type(document).__name__}; "
                "split texts into words, for example with text.split()."
            ) from None
        yield np.array(words, np.int64)


def _matrices(
    documents: Iterator[NDArray[np.int64]], n_words: int, size: int
) -> Iterator[sparse.csr_array]:
    n_at_once = max(1, TOKENS_AT_ONCE // size)
    parts: list[tuple[NDArray[np.int64], ...]] = []
    n_rows = 0
    for words in documents:
        n_windows = max(1, len(words) - size + 1)
        for first in range(0, n_windows, n_at_once):  # a long document is cut, too
            n_new = min(n_at_once, n_windows - first)
            stretch = words[first : first + n_new + size - 1]
            position = np.arange(len(stretch))
            oldest = n_rows + np.maximum(position - size + 1, 0)
            newest = n_rows + np.minimum(position, n_new - 1)
            parts.append((stretch, oldest, newest))
            n_rows += n_new
            if n_rows >= n_at_once:
                yield _matrix(parts, n_rows, n_words)
                parts, n_rows = [], 0
    if n_rows:
        yield _matrix(parts, n_rows, n_words)


def _matrix(
    parts: list[tuple[NDArray[np.int64], ...]], n_rows: int, n_words: int
) -> sparse.csr_array:
    """Return windows from the tokens' words and the oldest and newest window each token is in."""
    words, oldest, newest = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(words, kind="stable")
    order = order[words[order] >= 0]
    words, oldest, newest = words[order], oldest[order], newest[order]
    # windows that hold an earlier token of the same word are that one's
    again = np.flatnonzero(np.diff(words) == 0) + 1
    oldest[again] = np.maximum(oldest[again], newest[again - 1] + 1)
    n_own = newest - oldest + 1
    rows = np.arange(n_own.sum()) + np.repeat(oldest - np.cumsum(n_own) + n_own, n_own)
    ones = np.ones(len(rows), np.float32)
    matrix = sparse.coo_array((ones, (rows, np.repeat(words, n_own))), shape=(n_rows, n_words))
    return matrix.tocsr()
