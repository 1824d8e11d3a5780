"""Sparse matrices as ``scipy.sparse.save_npz`` writes them: a row a document, a column a word.

Nobody vouches for the files: sizes are compared before anything is unpacked. There is no pickle.
"""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import _count_matrix
from opelda.corpus.formats._count_matrix import file_in_blocks, ready
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import sidecar_of, write_in_one_step


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on; the file and the matrix are held in memory."""
    what = "a sparse matrix of scipy.sparse.save_npz"
    yield from file_in_blocks(_matrix, what, input, options, position)


def _matrix(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        # as the archive's directory claims them: zipfile reads no member beyond its claim
        unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > _count_matrix.MOST_TIMES * len(data) + _count_matrix.MOST_BYTES:
        raise ValueError(f"it claims {unpacked} bytes, unpacked")
    matrix = sparse.load_npz(io.BytesIO(data))  # by numpy.load(allow_pickle=False)
    if matrix.ndim != 2 or matrix.format not in ("csr", "csc", "bsr", "coo"):
        raise ValueError(f"it is a matrix {matrix.format} of shape {matrix.shape}")
    return matrix


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its vocabulary beside it."""
    X = ready(corpus)
    content = io.BytesIO()  # zip files go back in what they write, compressed files cannot
    sparse.save_npz(content, X)
    with write_in_one_step(path, sidecar_of(corpus, path)) as file:
        file.write(content.getbuffer())
