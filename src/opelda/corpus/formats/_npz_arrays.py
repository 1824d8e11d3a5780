"""The arrays of a sparse matrix out of a zip file that nobody vouches for.

Sizes are compared before anything is unpacked, numbers before SciPy's compiled code, which trusts
them, sees them. There is no pickle.
"""

import ast
import io
import math
import re
import zipfile
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus.formats._counts import MOST_WORDS, check_documents
from opelda.errors import InputError

# Unpacked, at most so many times the file's size and so many bytes. Counts shrink to a third,
# matrices of ones a little more.
MOST_TIMES, MOST_BYTES = 200, 2**28
LONGEST_HEADER = 10_000
PREFIX = {1: 10, 2: 12, 3: 12}  # bytes before the header, by version
PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
}
_DTYPE = re.compile(r"[<>|=]?([biufSU])([1-9]\d?)")


class _MalformedError(Exception):
    """The file is not what it should be; the message says how."""


def load_sparse(content: io.BytesIO, label: str) -> Any:
    """Return the matrix that the bytes of an .npz file hold.

    Raises
    ------
    InputError
        When they hold none, or one that contradicts itself.
    """
    n_bytes = content.seek(0, io.SEEK_END)
    try:
        with zipfile.ZipFile(content) as archive:
            return _matrix(archive, n_bytes, label)
    except InputError:
        raise
    except _MalformedError as error:
        reason = str(error)
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        RuntimeError,  # also NotImplementedError: encrypted, or of a kind that zip has not
        ValueError,
        OverflowError,
        LookupError,
        MemoryError,
        TypeError,
    ) as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    raise InputError(
        f"{label} is no sparse matrix as scipy.sparse.save_npz writes it ({reason}); make it again."
    )


def _matrix(archive: zipfile.ZipFile, n_bytes: int, label: str) -> Any:
    arrays = _Arrays(archive, MOST_TIMES * n_bytes + MOST_BYTES)
    kind = arrays["format"]
    name = kind.item() if kind.ndim == 0 else None
    name = name.decode("ascii", "replace") if isinstance(name, bytes) else name
    if name not in PARTS:
        raise _MalformedError(f"its format is {name!r}, not one of {', '.join(PARTS)}")
    shape = arrays.integers("shape").tolist()
    if len(shape) != 2 or not 0 <= shape[1] <= MOST_WORDS:
        raise _MalformedError(f"its shape is {tuple(shape)}")
    check_documents(shape[0], n_bytes, label)
    first, second = (arrays.integers(part) for part in PARTS[name])
    data = arrays["data"]
    if name == "coo":
        _check_entries(data, first, second)
        _check_range("row", first, shape[0])
        _check_range("col", second, shape[1])
        return sparse.coo_array((data, (first, second)), shape=tuple(shape))
    unit = (1, 1)
    if name == "bsr":
        if data.ndim != 3 or not all(data.shape[1:]):
            raise _MalformedError(f"data has shape {data.shape}, not that of blocks")
        unit = data.shape[1:]
        if shape[0] % unit[0] or shape[1] % unit[1]:
            raise _MalformedError(f"blocks of {unit} do not fill its shape {tuple(shape)}")
    elif data.ndim != 1:
        raise _MalformedError(f"data has {data.ndim} dimensions")
    across, along = shape[0] // unit[0], shape[1] // unit[1]
    if name == "csc":
        across, along = along, across
    if len(first) != len(data):
        raise _MalformedError(f"indices has {len(first)} entries and data has {len(data)}")
    if len(second) != across + 1 or second[0] != 0 or (np.diff(second) < 0).any():
        raise _MalformedError("indptr does not rise from 0 for every row or column")
    if second[-1] > len(first):
        raise _MalformedError("indptr points beyond the entries")
    _check_range("indices", first, along)
    make = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}[name]
    return make((data, first, second), shape=tuple(shape))


class _Arrays:
    """The arrays of an archive, unpacked when they are asked for, up to a total size."""

    def __init__(self, archive: zipfile.ZipFile, most: int) -> None:
        self._archive = archive
        self._left = most

    def __getitem__(self, name: str) -> NDArray[Any]:
        try:
            member = self._archive.getinfo(f"{name}.npy")
        except KeyError:
            raise _MalformedError(f"it has no array {name!r}") from None
        self._left -= member.file_size
        if self._left < 0:
            raise _MalformedError(f"{name} claims {member.file_size} bytes, unpacked")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _MalformedError(f"{name} is packed in an unusual way")
        with self._archive.open(member) as file:
            return _array(file, name, member.file_size)

    def integers(self, name: str) -> NDArray[np.int64]:
        array = self[name]
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise _MalformedError(f"{name} is not a vector of whole numbers")
        if array.dtype.kind == "u" and array.itemsize == 8 and len(array) and array.max() >= 2**63:
            raise _MalformedError(f"{name} holds numbers beyond 2**63")
        if array.dtype.kind == "i" and array.itemsize == 4 and array.dtype.isnative:
            return array
        return array.astype(np.int64)


def _array(file: Any, name: str, n_bytes: int) -> NDArray[Any]:
    """Read one .npy file of which the header says what numpy's own writer would."""
    prefix = file.read(10)
    version = prefix[6] if len(prefix) == 10 and prefix[:6] == b"\x93NUMPY" else 0
    if version not in PREFIX:
        raise _MalformedError(f"{name} does not begin like an array")
    length = prefix[8:10] + file.read(PREFIX[version] - 10)
    n_header = int.from_bytes(length, "little")
    if n_header > LONGEST_HEADER:
        raise _MalformedError(f"{name} has a header of {n_header} bytes")
    try:
        header = ast.literal_eval(file.read(n_header).decode("latin-1").strip())
        descr, fortran, shape = (header[key] for key in ("descr", "fortran_order", "shape"))
    except (SyntaxError, ValueError, TypeError, KeyError, MemoryError, RecursionError):
        raise _MalformedError(f"{name} has a header that cannot be read") from None
    if not isinstance(descr, str) or not _DTYPE.fullmatch(descr):
        raise _MalformedError(f"{name} holds values of type {descr!r}")
    if not isinstance(shape, tuple) or not all(type(n) is int and 0 <= n < 2**62 for n in shape):
        raise _MalformedError(f"{name} has shape {shape!r}")
    try:
        dtype = np.dtype(descr)
    except TypeError:
        raise _MalformedError(f"{name} holds values of type {descr!r}") from None
    size = math.prod(shape) * dtype.itemsize
    if size != n_bytes - PREFIX[version] - n_header:
        raise _MalformedError(f"{name} has not as many bytes as its shape {shape} needs")
    raw = file.read(size)
    if len(raw) != size:
        raise _MalformedError(f"{name} is cut short")
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")


def _check_entries(data: NDArray[Any], *indices: NDArray[Any]) -> None:
    if data.ndim != 1 or any(len(index) != len(data) for index in indices):
        raise _MalformedError("its arrays are of different lengths")


def _check_range(name: str, indices: NDArray[Any], end: int) -> None:
    if len(indices) and not (indices.min() >= 0 and indices.max() < end):
        raise _MalformedError(f"{name} points outside the matrix")
