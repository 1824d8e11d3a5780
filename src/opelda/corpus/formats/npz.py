"""Sparse matrices as ``scipy.sparse.save_npz`` writes them: a row a document, a column a word."""

import io
from collections.abc import Iterator
from typing import Any

from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._corpus import Corpus
from opelda.corpus.formats import _vocab
from opelda.corpus.formats._counts import checked, ready, rows_in_blocks, words_of
from opelda.corpus.formats._files import Input, write_in_one_step
from opelda.corpus.formats._format import Format, Options
from opelda.corpus.formats._npz_arrays import load_sparse
from opelda.errors import InputError

CHUNK = 4 * 2**20
# What a file that is compressed once more may swell to, whatever its size.
MOST_TIMES, MOST_BYTES = 200, 2**28


def blocks(input: Input, options: Options, position: Any) -> Iterator[Block]:
    """Yield the documents from a position on; the matrix is held in memory.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> sparse.save_npz(file, sparse.csr_array([[4, 0, 1], [0, 0, 0]]))
    >>> _ = file.seek(0)
    >>> [block.documents.toarray().tolist() for block in blocks(Input.of(file), Options(), None)]
    [[[4.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]
    """
    with input.open() as file:
        content = _content(file, input)
    matrix = load_sparse(content, input.label)
    del content
    yield from rows_in_blocks(checked(matrix, input, options), options, position)


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


def write(corpus: Corpus, path: str) -> None:
    """Write a corpus, and its vocabulary beside it."""
    X = ready(corpus)
    vocabulary = _vocab.as_file(corpus.words, _vocab.sidecar(path))
    content = io.BytesIO()  # zip files go back in what they write, compressed files cannot
    sparse.save_npz(content, X)
    with write_in_one_step(path, vocabulary) as file:
        file.write(content.getbuffer())


FORMAT = Format(
    name="npz",
    summary="scipy.sparse.save_npz: a row a document, a column a word",
    kind="counts",
    suffixes=(".npz",),
    blocks=blocks,
    words=words_of,
    write=write,
)
