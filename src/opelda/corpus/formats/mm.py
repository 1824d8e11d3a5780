"""Matrix Market files: a row a document, a column a word.

SciPy reads them. It does not look at what follows the last number of a line.
"""

import io
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.io import mminfo, mmread, mmwrite

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats._count_matrix import file_in_blocks, ready, triples, write_counts
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import sidecar_of, write_in_one_step


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on; the file and the matrix are held in memory."""
    yield from file_in_blocks(_matrix, "a Matrix Market file of counts", input, options, position)


def _matrix(data: bytes) -> Any:
    if b"\0" in data:  # SciPy reads beyond its memory at a zero, and where the last line has no end
        raise ValueError("it holds a byte 0")
    n_rows, n_columns, n_values, layout, field, symmetry = mminfo(io.BytesIO(data))
    if field not in ("integer", "real", "double", "pattern") or symmetry != "general":
        raise ValueError(f"it is {field} {symmetry}, not general and integer, real or pattern")
    if layout == "array":
        n_values = n_rows * n_columns
    if n_values > len(data):  # SciPy allocates before it reads
        raise ValueError(f"it announces {n_values} values in {len(data)} bytes")
    if field == "integer":  # SciPy would cut off the fractions of such a file
        data = re.sub(b"integer", b"real", data, count=1, flags=re.IGNORECASE)
    return mmread(io.BytesIO(data + b"\n"))


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, whole numbers as such, and its vocabulary beside it."""
    X = ready(corpus)
    if (np.floor(X.data) == X.data).all():
        sizes = " ".join(map(str, (*X.shape, X.nnz)))
        header = f"%%MatrixMarket matrix coordinate integer general\n{sizes}\n".encode()
        write_counts(corpus, path, triples, header=header)
        return
    content = io.BytesIO()  # SciPy goes back in what it writes, compressed files cannot
    mmwrite(content, X.astype(np.float64), symmetry="general")
    with write_in_one_step(path, sidecar_of(corpus, path)) as file:
        file.write(content.getbuffer())
