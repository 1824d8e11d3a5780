"""Sparse matrices of counts in files: Matrix Market's, and those of ``scipy.sparse.save_npz``.

SciPy reads them: a row a document, a column a word. Files are untrusted: sizes are compared before
unpacking, and pickles are refused.
"""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import mminfo, mmread, mmwrite

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus._matrix import as_counts
from opelda.corpus.formats import Options, _vocab
from opelda.corpus.formats._input import Input, reason, row_position
from opelda.corpus.formats._writing import sidecar_of, write_in_one_step
from opelda.errors import InputError

# Empty documents take no bytes in a file, but memory: the most documents beyond its bytes.
SLACK = 100_000
# A file may unpack to this many times its size and this many bytes. Counts shrink to a third,
# matrices of ones a little more.
MOST_TIMES, MOST_BYTES = 200, 2**28
ENTRIES_AT_ONCE = 2**20  # in one write


def check_width(width: int, input: Input, options: Options) -> None:
    """Raise InputError unless a file has as many columns as words beside it."""
    found = _vocab.locate(input, options)
    if found is None:
        return
    n_words = len(_vocab.read_vocabulary(found, options.encoding))
    if n_words != width:
        raise InputError(
            f"{input.label} has {width} columns, but {found.label} has {n_words} words; pass "
            f"the matching vocabulary with {{column_words}}.",
            column_words=...,
        )


def check_documents(n_documents: int, n_bytes: int, label: str) -> None:
    """Raise InputError for more documents than a file of that size can hold."""
    if n_documents > n_bytes + SLACK:
        raise InputError(
            f"{label} declares {n_documents} documents in {n_bytes} bytes; check whether the "
            "file is truncated or of another format."
        )


def file_in_blocks(
    matrix_of: Callable[[bytes], Any], what: str, input: Input, options: Options, position: Any
) -> Iterator[Block]:
    """Yield the rows of the matrix that `matrix_of` returns for a file's bytes."""
    most = -1 if input.size is None else MOST_BYTES + MOST_TIMES * input.size
    with input.open() as file:
        data = file.read(most)
        if most >= 0 and file.read(1):
            raise InputError(
                f"{input.label} decompresses to more than {MOST_TIMES} times its size; pass a "
                "file with a matrix of counts."
            )
    try:
        matrix = matrix_of(data)
    except Exception as error:  # SciPy, NumPy and zlib raise a dozen kinds for malformed data
        raise InputError(
            f"{input.label} cannot be read as {what} ({reason(error)[:200]}); check whether "
            "the file is corrupted or truncated."
        ) from None
    check_documents(matrix.shape[0], len(data), input.label)
    del data
    check_width(matrix.shape[1], input, options)
    X = as_counts(matrix, None, input.label)[0]
    begin = row_position(position, X.shape[0], input.label)
    for first in range(begin, X.shape[0], options.block_size):
        last = min(first + options.block_size, X.shape[0])
        yield Block(X[first:last], last)


def ready(corpus: Corpus) -> sparse.csr_array:
    """Return a corpus's counts sorted and without zeros, as they are written."""
    return as_counts(corpus.X, None, "The corpus")[0]


def check_whole(corpus: Corpus, what: str) -> None:
    """Raise InputError for counts that are not whole numbers."""
    X = corpus.X
    whole = np.isfinite(X.data) & (np.floor(X.data) == X.data)
    if whole.all():
        return
    at = int(np.argmin(whole))
    row = int(np.searchsorted(X.indptr, at, side="right")) - 1
    column = int(X.indices[at])
    word = f"column {column}" if corpus.words is None else repr(corpus.words[column])
    raise InputError(
        f"Document {row} counts {word} as {X.data[at]:g}, but {what} supports whole numbers only; "
        "round the counts, or choose Matrix Market or npz."
    )


def write_counts(
    corpus: Corpus,
    path: str,
    lines: Callable[[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int], bytes],
    *,
    header: bytes = b"",
    format: str = "",
) -> None:
    """Write whole counts as lines, and the words beside them."""
    X = ready(corpus)
    ends = X.indptr.astype(np.int64)
    with write_in_one_step(path, sidecar_of(corpus, path, format)) as file:
        file.write(header)
        first = 0
        while first < X.shape[0]:
            last = np.searchsorted(ends, ends[first] + ENTRIES_AT_ONCE, side="right") - 1
            last = max(int(last), first + 1)
            file.write(lines(ends[first : last + 1], X.indices, X.data, first))
            first = last


def triples(
    ends: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32], first: int
) -> bytes:
    """Return documents as lines of numbers from 1, for UCI and Matrix Market."""
    return _text.write_triples(ends, words, counts, first + 1)


def _mm_matrix(data: bytes) -> Any:
    if b"\0" in data:  # SciPy reads beyond its memory at a zero byte and after a last open line
        raise ValueError("it contains a null byte")
    n_rows, n_columns, n_values, layout, field, symmetry = mminfo(io.BytesIO(data))
    if field not in ("integer", "real", "double", "pattern") or symmetry != "general":
        raise ValueError(
            f"it is {field} {symmetry}, but only general integer, real and "
            "pattern matrices are supported"
        )
    if layout == "array":
        n_values = n_rows * n_columns
    if n_values > len(data):  # SciPy allocates before it reads
        raise ValueError(f"it declares {n_values} values in {len(data)} bytes")
    if field == "integer":  # SciPy would cut off the fractions of such a file
        data = re.sub(b"integer", b"real", data, count=1, flags=re.IGNORECASE)
    return mmread(io.BytesIO(data + b"\n"))


def write_mm(corpus: Corpus, path: str) -> None:
    """Write a corpus, whole numbers as such, and its vocabulary beside it."""
    X = ready(corpus)
    if (np.floor(X.data) == X.data).all():
        sizes = " ".join(map(str, (*X.shape, X.nnz)))
        header = f"%%MatrixMarket matrix coordinate integer general\n{sizes}\n".encode()
        write_counts(corpus, path, triples, header=header)
        return
    content = io.BytesIO()  # SciPy seeks in its output, compressed files cannot
    mmwrite(content, X.astype(np.float64), symmetry="general")
    _write_content(corpus, path, content)


def _npz_matrix(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # as the archive's directory claims them: zipfile reads no member beyond its claim
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > MOST_TIMES * len(data) + MOST_BYTES:
        raise ValueError(f"it declares {unpacked} bytes after decompression")
    matrix = sparse.load_npz(io.BytesIO(data))  # it refuses pickles
    if matrix.ndim != 2 or matrix.format not in ("csr", "csc", "bsr", "coo"):
        raise ValueError(f"it is a matrix {matrix.format} of shape {matrix.shape}")
    return matrix


def write_npz(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its vocabulary beside it."""
    content = io.BytesIO()  # zip files seek in their output, compressed files cannot
    sparse.save_npz(content, ready(corpus))
    _write_content(corpus, path, content)


def _write_content(corpus: Corpus, path: str, content: io.BytesIO) -> None:
    with write_in_one_step(path, sidecar_of(corpus, path)) as file:
        file.write(content.getbuffer())


# (input, options, position): the file and the matrix are held in memory
mm_blocks = partial(file_in_blocks, _mm_matrix, "a Matrix Market file of counts")
npz_blocks = partial(file_in_blocks, _npz_matrix, "a sparse matrix of scipy.sparse.save_npz")
