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
        raise _damaged("offsets do not rise from 0 to the number of its bytes")
    raw, ends = letters.tobytes(), offsets.tolist()
    try:
        return [raw[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise _damaged(f"bytes are not UTF-8 ({error.reason})") from None


def stored_array(
    arrays: Mapping[str, Any], name: str, dtype: type[np.generic], length: int | None = None
) -> NDArray[Any]:
    """Return a copy of a stored vector of numbers that are not negative."""
    if name not in arrays:
        raise _damaged(f"array {name!r} is missing")
    array = np.array(arrays[name])
    if array.ndim != 1 or array.dtype != dtype:
        kind = np.dtype(dtype).name
        raise _damaged(
            f"{name} should be a vector of {kind}, not {array.dtype} of shape {array.shape}"
        )
    if length is not None and len(array) != length:
        raise _damaged(f"{name} has {len(array)} entries for {length} words")
    if len(array) and array.min() < 0:
        raise _damaged(f"{name} holds negative numbers")
    return array


def stored_value(header: Mapping[str, Any], name: str) -> Any:
    """Return a stored parameter, whatever it is."""
    if name not in header:
        raise _damaged(f"parameter {name!r} is missing")
    return header[name]


def stored_count(header: Mapping[str, Any], name: str) -> int:
    """Return a stored whole number that is not negative."""
    value = stored_value(header, name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise _damaged(f"{name} should be a whole number, not {value!r}")
    return value


def stored_mass(header: Mapping[str, Any], name: str) -> float:
    """Return a stored number that is finite and not negative."""
    value = stored_value(header, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e300:
        raise _damaged(f"{name} should be a number from 0 on, not {value!r}")
    return float(value)


def check_past(last_seen: NDArray[np.int64], n_updates: int) -> None:
    """No word may have been seen in an update that is still to come."""
    if len(last_seen) and last_seen.max() > n_updates:
        raise _damaged(f"words were last seen after update {n_updates}, the last")


def _damaged(what: str) -> InputError:
    return InputError(f"The stored vocabulary is damaged (its {what}); make the file again.")
