"""Matrix Market files: a row a document, a column a word.

SciPy's reader takes 1.5 in a file of whole numbers for 1 and 1e3x for 1000, ends the process when
a file that it reads from raises, and is no faster.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.io import mmwrite

from opelda import _text
from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats._count_lines import chunks
from opelda.corpus.formats._count_matrix import (
    MOST_WORDS,
    check_documents,
    check_total,
    ready,
    rows_in_blocks,
    triples,
    write_counts,
)
from opelda.corpus.formats._input import Input
from opelda.corpus.formats._registry import Options
from opelda.corpus.formats._writing import sidecar_of, write_in_one_step
from opelda.errors import InputError

LONGEST_LINE = 4 * 2**20
MOST_COMMENTS = 10_000
COORDINATE, PATTERN, ARRAY = range(3)
# Why a line is passed over, by the numbers that the parser gives.
PROBLEMS = {
    1: "is not 'row column value', or as the header has it",
    2: "is of row {value}, and the header announces {header.n_rows}",
    3: "is of column {value}, and the header announces {header.n_columns}",
    4: "has a value that is not from 0 to 10,000,000,000,000",
}


@dataclass(frozen=True)
class _Header:
    layout: int
    n_rows: int
    n_columns: int
    n_values: int
    n_bytes: int
    n_lines: int


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on; the matrix is held in memory."""
    with input.open() as file:
        header = _header(file, input.label)
        if input.seekable:
            check_documents(header.n_rows, input.size or 0, input.label)
        matrix = _matrix(file, header, input, options)
    yield from rows_in_blocks(matrix, input, options, position)


def _header(file: io.BufferedReader, label: str) -> _Header:
    banner = file.readline(1000)
    words = banner.decode("latin-1").lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1] != "matrix":
        raise InputError(
            f"{label}, line 1 is not '%%MatrixMarket matrix ...'; give a Matrix Market file."
        )
    kind, field, symmetry = words[2:]
    if kind not in ("coordinate", "array") or field not in ("integer", "real", "double", "pattern"):
        raise InputError(
            f"{label}, line 1 says '{kind} {field}'; counts are coordinate or array, "
            "integer, real or pattern."
        )
    if symmetry != "general":
        raise InputError(
            f"{label}, line 1 says '{symmetry}'; documents by words is no such matrix, "
            "write it as general."
        )
    n_bytes = len(banner)
    for number in range(2, MOST_COMMENTS):
        line = file.readline(LONGEST_LINE)
        n_bytes += len(line)
        if line and (line.startswith(b"%") or not line.strip()):
            continue
        sizes = line.split()
        wanted = 2 if kind == "array" else 3
        if len(sizes) != wanted or not all(s.isdigit() and len(s) <= 18 for s in sizes):
            raise InputError(
                f"{label}, line {number} is not the {wanted} sizes of the matrix; make it again."
            )
        n_rows, n_columns = int(sizes[0]), int(sizes[1])
        if n_columns > MOST_WORDS:
            raise InputError(
                f"{label}, line {number} announces {n_columns} columns; "
                f"at most {MOST_WORDS} can be numbered."
            )
        n_values = n_rows * n_columns if kind == "array" else int(sizes[2])
        layout = ARRAY if kind == "array" else PATTERN if field == "pattern" else COORDINATE
        return _Header(layout, n_rows, n_columns, n_values, n_bytes, number)
    raise InputError(f"{label} has {MOST_COMMENTS} lines of comment and no matrix; make it again.")


def _matrix(
    file: io.BufferedReader, header: _Header, input: Input, options: Options
) -> sparse.coo_array:
    parts: list[tuple[NDArray[Any], ...]] = [
        (np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0))
    ]
    offset, line, n_values = header.n_bytes, header.n_lines + 1, 0
    least = {COORDINATE: 6, PATTERN: 4, ARRAY: 2}[header.layout]  # bytes of a line
    for data, end in chunks(file, input, offset, LONGEST_LINE):
        room = end // least + 1
        part = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room)
        n, bad, n_lines, n_more = _text.parse_entries(
            data,
            end,
            *part,
            offset=offset,
            line=line,
            layout=header.layout,
            n_rows=header.n_rows,
            n_columns=header.n_columns,
            first=n_values,
        )
        for kind, _, where, value in bad.tolist():
            what = PROBLEMS[kind].format(value=value, header=header)
            options.problems.add(f"{input.label}, line {where}", what, "correct the line")
        parts.append(tuple(array[:n].copy() for array in part))
        offset, line, n_values = offset + end, line + n_lines, n_values + n_more
    check_total(header.n_values, n_values, "values", input.label, options)
    check_documents(header.n_rows, offset, input.label)
    rows, columns, values = map(np.concatenate, zip(*parts, strict=True))
    return sparse.coo_array((values, (rows, columns)), shape=(header.n_rows, header.n_columns))


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
