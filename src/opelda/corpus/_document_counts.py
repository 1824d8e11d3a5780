"""Documents in any of their forms as counts over the words that they themselves hold."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import LARGEST_COUNT
from opelda.corpus._matrix import Counted, by_appearance
from opelda.corpus.text import Tokenizer
from opelda.errors import InputError


def count_words(
    documents: Iterable[Any], where: Callable[[int], str], tokenizer: Tokenizer
) -> Counted:
    """Count the words of texts, token sequences and mappings from word to count.

    `where` names a document by its number, for errors.
    """
    documents = as_list(documents)
    if documents and all(isinstance(document, str) for document in documents):
        return tokenizer.count(documents)
    # one dictionary lookup per token, and all else on arrays
    table: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    code_of = table.__getitem__
    codes: list[int] = []
    weights: list[Any] = []
    ends = [0]
    for number, document in enumerate(documents):
        if isinstance(document, str):
            counted = tokenizer.count([document])
            document = dict(zip(counted.words, counted.counts.data.tolist(), strict=True))
        try:
            if isinstance(document, Mapping):
                codes.extend(map(code_of, document.keys()))
                weights.extend(document.values())
            else:
                codes.extend(map(code_of, _tokens(document)))
                weights.extend([1] * (len(codes) - len(weights)))
        except TypeError as error:  # not a document, or a token without a hash
            raise InputError(
                f"{where(number)} is not a document ({error}); pass a text, a sequence of "
                "words or a mapping from word to count."
            ) from None
        ends.append(len(codes))

    def at(entry: int) -> str:
        return where(int(np.searchsorted(ends, entry, side="right")) - 1)

    words = list(table)
    if not all(isinstance(word, str) for word in words):
        odd = next(code for code, word in enumerate(words) if not isinstance(word, str))
        raise InputError(f"{at(codes.index(odd))} holds {words[odd]!r} instead of a word.")
    values = _as_numbers(weights)
    good = (values >= 0) & (values <= LARGEST_COUNT)  # NaN is neither
    if not good.all():
        bad = int(np.argmin(good))
        raise InputError(
            f"{at(bad)} counts the word {words[codes[bad]]!r} as {weights[bad]!r}; "
            f"counts must be numbers from 0 to {LARGEST_COUNT:g}."
        )
    coded, live = np.array(codes, np.int32), values.astype(np.float32) > 0
    if not live.all():  # a word counted zero times has not appeared
        held, places = by_appearance(coded[live], len(words))
        coded, values, words = places[coded[live]], values[live], [words[code] for code in held]
        ends = np.append(0, np.cumsum(live))[ends].tolist()
    counts = sparse.csr_array((values, coded, ends), shape=(len(ends) - 1, len(words)))
    counts.sum_duplicates()
    return Counted(words, counts.astype(np.float32))


def as_list(documents: Iterable[Any]) -> list[Any]:
    """Return documents as a list; refuse a single document."""
    if isinstance(documents, str | bytes | Mapping):
        raise InputError(
            f"must be a sequence of documents, got one {type(documents).__name__}; pass a "
            "single document as [document].",
            "documents",
        )
    return list(documents)


def _tokens(document: Any) -> Any:
    if isinstance(document, np.ndarray) and document.ndim == 1:
        return document.tolist()
    if isinstance(document, bytes | bytearray | memoryview):
        raise TypeError("bytes; decode the bytes first, for example with .decode('utf-8')")
    # a set has no order: ties between new words would fall differently in every run
    if not isinstance(document, Sequence):
        raise TypeError(f"of type {type(document).__name__}")
    return document


def _as_numbers(weights: list[Any]) -> NDArray[np.float64]:
    """Return the counts in double precision, NaN for anything but numbers."""
    try:
        array = np.array(weights)
        if array.ndim == 1 and (array.dtype.kind in "biuf" or not len(weights)):
            return array.astype(np.float64)
    except (ValueError, OverflowError):  # lists among them, or whole numbers beyond every type
        pass
    numbers = np.full(len(weights), np.nan)
    for i, weight in enumerate(weights):
        with suppress(OverflowError, ValueError):
            if isinstance(weight, Real | Decimal | np.bool_):
                numbers[i] = float(weight)
    return numbers
