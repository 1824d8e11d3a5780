"""Arrays in a page: little-endian, compressed, as base64."""

import base64
import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

ALIGNED = 8  # bytes: a typed array in a page must begin at a multiple of its items' size


def as_base64(values: Any, dtype: Any) -> str:
    """Return an array's bytes as base64.

    >>> as_base64([1, 2], np.uint8)
    'AQI='
    """
    return base64.b64encode(_bytes(np.asarray(values, dtype))).decode()


def packed(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return a header and arrays as gzipped bytes in base64; the same values, the same bytes.

    A line of JSON, in which `arrays` lists names, types and lengths, and then the arrays, each
    beginning at a multiple of eight bytes.
    """
    listed = [[name, array.dtype.name, int(array.size)] for name, array in arrays.items()]
    line = json.dumps({**header, "arrays": listed}).encode()
    line += b" " * (-(len(line) + 1) % ALIGNED) + b"\n"
    parts = [line]
    for array in arrays.values():
        data = _bytes(array)
        parts += [data, bytes(-len(data) % ALIGNED)]
    return base64.b64encode(gzip.compress(b"".join(parts), 6, mtime=0)).decode()


def joined(texts: Any, separator: str) -> NDArray[np.uint8]:
    """Return texts as the bytes of one, whatever cannot be encoded replaced."""
    data = separator.join(texts).encode("utf-8", "replace")
    return np.frombuffer(data, np.uint8)


def _bytes(array: NDArray[Any]) -> bytes:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
