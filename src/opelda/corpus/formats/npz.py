"""Sparse matrices as ``scipy.sparse.save_npz`` writes them: a row a document, a column a word.

Nobody vouches for the files: sizes are compared before anything is unpacked, and numbers are
checked before compiled code, which trusts them, sees them. There is no pickle.
"""

import io
import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats._count_matrix import (
    MOST_WORDS,
    check_documents,
    ready,
    rows_in_blocks,
)
from opelda.corpus.formats._input import Input, reason
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import sidecar_of, write_in_one_step
from opelda.errors import InputError

CHUNK = 4 * 2**20
# Unpacked, at most so many times the file's size and so many bytes. Counts shrink to a third,
# matrices of ones a little more.
MOST_TIMES, MOST_BYTES = 200, 2**28
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
PARTS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "csr": (sparse.csr_array, ("indices", "indptr")),
    "csc": (sparse.csc_array, ("indices", "indptr")),
    "bsr": (sparse.bsr_array, ("indices", "indptr")),
    "coo": (sparse.coo_array, ("row", "col")),
}


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on; the matrix is held in memory."""
    with input.open() as file:
        content = _content(file, input)
    try:
        with zipfile.ZipFile(content) as archive:
            matrix = _matrix(archive, content.getbuffer().nbytes, input.label)
    except (InputError, MemoryError):
        raise
    except Exception as error:  # zip, zlib and NumPy raise a dozen kinds for what is malformed
        raise InputError(
            f"{input.label} is no sparse matrix as scipy.sparse.save_npz writes it "
            f"({reason(error)[:200]}); make it again."
        ) from None
    del content
    yield from rows_in_blocks(matrix, input, options, position)


def _content(file: io.BufferedReader, input: Input) -> io.BytesIO:
    """Return all bytes, in memory: a zip file begins at its end."""
    most = None if input.size is None else MOST_BYTES + MOST_TIMES * input.size
    content = io.BytesIO()
    while part := file.read(CHUNK):
        content.write(part)
        if most is not None and content.tell() > most:
            raise InputError(
                f"{input.label} swells to more than {MOST_TIMES} times its size; "
                "it holds no matrix of counts."
            )
    return content


def _matrix(archive: zipfile.ZipFile, n_bytes: int, label: str) -> Any:
    # sizes as the archive's directory claims them: zipfile reads no member beyond its claim
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_TIMES * n_bytes + MOST_BYTES:
        raise ValueError(f"it claims {unpacked} bytes, unpacked")
    kind, shape, data = (_array(archive, name) for name in ("format", "shape", "data"))
    name = kind.astype(str).item() if kind.dtype.kind in "SU" else None
    if name not in PARTS:
        raise ValueError(f"its format is {name!r}, not one of {', '.join(PARTS)}")
    sizes = tuple(_whole("shape", shape).tolist())
    if len(sizes) != 2 or min(sizes) < 0 or sizes[1] > MOST_WORDS:
        raise ValueError(f"its shape is {sizes}")
    check_documents(sizes[0], n_bytes, label)
    make, parts = PARTS[name]  # SciPy's constructors allocate nothing beyond what is given
    indices, ends = (_whole(part, _array(archive, part)) for part in parts)
    if name == "coo":
        if not data.shape == indices.shape == ends.shape:
            raise ValueError("its arrays are of different lengths")
        return make((data, (indices, ends)), shape=sizes)
    # SciPy's own check passes over the first where the last end is not positive, over the second
    # always; its compiled code would write outside of its arrays
    if not len(ends) or (np.diff(ends) < 0).any():
        raise ValueError("indptr does not rise")
    if name == "bsr" and (
        data.ndim != 3 or any(n % part for n, part in zip(sizes, data.shape[1:], strict=True))
    ):
        raise ValueError(f"blocks of {data.shape[1:]} do not fill its shape {sizes}")
    matrix = make((data, indices, ends), shape=sizes)
    matrix.check_format(full_check=True)
    return matrix


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array; nothing is set aside for one that has fewer bytes than its shape needs."""
    try:
        member = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise ValueError(f"it has no array {name!r}") from None
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError(f"{name} is packed in an unusual way")
    with archive.open(member) as file:
        version = npy.read_magic(file)
        if version not in HEADERS:
            raise ValueError(f"{name} is of the unknown version {version}")
        shape, fortran, dtype = HEADERS[version](file)
        if dtype.kind not in "biufSU" or dtype.itemsize == 0:
            raise ValueError(f"{name} holds values of type {dtype}")
        size = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or size != member.file_size - file.tell():
            raise ValueError(f"{name} has not as many bytes as its shape {shape} needs")
        raw = file.read(size)
    return np.frombuffer(raw, dtype).reshape(shape, order="F" if fortran else "C")


def _whole(name: str, array: NDArray[Any]) -> NDArray[np.signedinteger]:
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"{name} is not a vector of whole numbers")
    if array.dtype.kind == "u" and len(array) and array.max() >= 2**63:
        raise ValueError(f"{name} holds numbers beyond 2**63")
    return array if array.dtype == np.int32 else array.astype(np.int64)


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its vocabulary beside it."""
    X = ready(corpus)
    content = io.BytesIO()  # zip files go back in what they write, compressed files cannot
    sparse.save_npz(content, X)
    with write_in_one_step(path, sidecar_of(corpus, path)) as file:
        file.write(content.getbuffer())
