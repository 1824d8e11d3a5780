"""A vocabulary as plain arrays and numbers, which a model file can hold without pickle.

Nothing that comes back from a file is trusted: whatever it holds, the answer is a vocabulary or an
`InputError`.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError


def encodable(word: str) -> bool:
    """Whether the word has a UTF-8 form; lone surrogates have none."""
    try:
        return word.isascii() or bool(word.encode())
    except UnicodeEncodeError:
        return False


def checked_words(words: Iterable[Any]) -> list[str]:
    """Return words that can be columns: strings, encodable, all different."""
    if isinstance(words, str | bytes):
        raise InputError("must be a sequence of words, got one text; give [word].", "words")
    seen: dict[str, None] = {}
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"must be strings, but number {number} is {word!r}.", "words")
        if not encodable(word):
            raise InputError(f"Word {number}, {word!r}, cannot be written as UTF-8; leave it out.")
        if word in seen:
            raise InputError(f"must differ, but {word!r} comes again as number {number}.", "words")
        seen[str(word)] = None
    return list(seen)


def pack_words(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words' UTF-8 bytes end to end, and where each begins and ends."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8).copy(), offsets


def unpack_words(arrays: Mapping[str, Any]) -> list[str]:
    """Return the words again."""
    letters = stored_array(arrays, "bytes", np.uint8)
    offsets = stored_array(arrays, "offsets", np.int64)
    rising = len(offsets) and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
    if not rising or offsets[-1] != len(letters):
        raise damaged("offsets do not rise from 0 to the number of its bytes")
    raw, ends = letters.tobytes(), offsets.tolist()
    try:
        return [raw[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise damaged(f"bytes are not UTF-8 ({error.reason})") from None


def stored_array(
    arrays: Mapping[str, Any], name: str, dtype: type[np.generic], length: int | None = None
) -> NDArray[Any]:
    """Return a copy of a stored vector of numbers that are not negative."""
    if name not in arrays:
        raise damaged(f"array {name!r} is missing")
    array = np.array(arrays[name])
    if array.ndim != 1 or array.dtype != dtype:
        kind = np.dtype(dtype).name
        raise damaged(
            f"{name} should be a vector of {kind}, not {array.dtype} of shape {array.shape}"
        )
    if length is not None and len(array) != length:
        raise damaged(f"{name} has {len(array)} entries for {length} words")
    if len(array) and array.min() < 0:
        raise damaged(f"{name} holds negative numbers")
    return array


def stored_value(header: Mapping[str, Any], name: str) -> Any:
    """Return a stored parameter, whatever it is."""
    if name not in header:
        raise damaged(f"parameter {name!r} is missing")
    return header[name]


def stored_number(header: Mapping[str, Any], name: str, kind: type[float] = int) -> Any:
    """Return a stored number that is not negative: a whole one, or with ``kind=float`` any."""
    value = stored_value(header, name)
    whole = isinstance(value, int) and not isinstance(value, bool) and value < 2**63
    good = whole or (kind is float and isinstance(value, float) and value < 1e300)
    if not good or value < 0:
        what = "whole number" if kind is int else "number from 0 on"
        raise damaged(f"{name} should be a {what}, not {value!r}")
    return kind(value)


def damaged(what: str) -> InputError:
    """Return the error for a stored vocabulary with something wrong."""
    return InputError(f"The stored vocabulary is damaged (its {what}); make the file again.")
