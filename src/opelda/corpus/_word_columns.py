"""Words that can be columns, as plain arrays and back; changes of a vocabulary.

Files are not trusted: any content gives a vocabulary or an `InputError`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError

FEW = 50  # documents that say little about which words are rare, or common


def encodable(word: str) -> bool:
    """Whether the word has a UTF-8 form, unlike lone surrogates."""
    try:
        return word.isascii() or bool(word.encode())
    except UnicodeEncodeError:
        return False


def checked_words(words: Iterable[Any]) -> list[str]:
    """Return words that can be columns: unique, encodable strings."""
    if isinstance(words, str | bytes):
        raise InputError("must be a sequence of words, got one text; pass [word].", "words")
    seen: dict[str, None] = {}
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"must be strings, but number {number} is {word!r}.", "words")
        if not encodable(word):
            raise InputError(
                f"Word {number}, {word!r}, cannot be encoded as UTF-8; remove the word."
            )
        if word in seen:
            raise InputError(
                f"must be unique, but number {number}, {word!r}, is a duplicate.", "words"
            )
        seen[str(word)] = None
    return list(seen)


def pack_words(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words' UTF-8 bytes end to end, and where each begins and ends."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8).copy(), offsets


def unpack_words(arrays: Mapping[str, Any]) -> list[str]:
    """Return the unpacked words."""
    letters = stored_array(arrays, "bytes", np.uint8)
    offsets = stored_array(arrays, "offsets", np.int64)
    rising = len(offsets) and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
    if not rising or offsets[-1] != len(letters):
        raise damaged("word offsets must increase from 0 to the number of bytes")
    raw, ends = letters.tobytes(), offsets.tolist()
    try:
        return [raw[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise damaged(f"words are not valid UTF-8 ({error.reason})") from None


def stored_array(
    arrays: Mapping[str, Any], name: str, dtype: type[np.generic], length: int | None = None
) -> NDArray[Any]:
    """Return a copy of a stored vector of non-negative numbers."""
    array = np.array(arrays.get(name, 0))
    good = array.ndim == 1 and array.dtype == dtype and length in (None, len(array))
    if not good or array.min(initial=0) < 0:
        entries = "" if length is None else f"{length} "
        kind = np.dtype(dtype).name
        raise damaged(
            f"array {name!r} should be a vector of {entries}{kind}, without negative values"
        )
    return array


def stored_number(header: Mapping[str, Any], name: str, kind: type[float] = int) -> Any:
    """Return a stored non-negative number: an integer, or with ``kind=float`` any number."""
    value = header[name]
    good = isinstance(value, int | kind) and not isinstance(value, bool)
    if not good or not 0 <= value < (2**63 if kind is int else 1e300):
        what = "whole number" if kind is int else "number"
        raise damaged(f"{name} should be a {what} from 0 on, not {value!r}")
    return kind(value)


def damaged(what: str) -> InputError:
    """Return the error for a corrupted stored vocabulary."""
    return InputError(
        f"The stored vocabulary is corrupted ({what}); restore the file from a "
        "backup or train again."
    )


def usual_min_df(n_docs: int) -> int:
    """Return the default of min_df for a number of documents.

    In thousands of documents, words of one or two documents are misspellings and names.
    """
    return 1 if n_docs < FEW else 2 if n_docs < 1_000 else 5


@dataclass(frozen=True)
class VocabularyChange:
    """Change of a vocabulary by a mini-batch."""

    n_words_before: int
    n_words: int
    reused: NDArray[np.int32]  # columns given to another word, ascending: their weights are void
    n_added: int  # words that got a column, new or reused
    n_evicted: int  # words that lost their column
    n_dropped: int  # distinct words of the mini-batch left without a column
    n_unknown_tokens: float  # tokens of the dropped words
