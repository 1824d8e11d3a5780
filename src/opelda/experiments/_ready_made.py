"""Test documents that come split: pairs of LDA-C files and the words they number, in a folder.

The paper's authors give theirs so: ``NAME_part_1.txt`` holds the words observed, a document a line,
``NAME_part_2.txt`` those to predict, and a vocabulary lies beside them.
"""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.errors import InputError
from opelda.experiments._data import Split

OBSERVED, TO_PREDICT = "_part_1.txt", "_part_2.txt"


@dataclass(frozen=True)
class ReadyMade:
    """Split test documents as they stand in files.

    Attributes
    ----------
    folder : Path
    words : list of str
        The vocabulary, in the order of its numbers.
    numbered : tuple of pairs of CSR arrays
        Counts by the numbers in the files, which are words' only once it is known whether these
        count from 0 or from 1.
    """

    folder: Path
    words: list[str]
    numbered: tuple[Split, ...]

    def first_id(self, X: sparse.csr_array) -> int:
        """Return the number of the first word, which the files do not say.

        A word numbered 0 decides it, and so does one numbered as many as there are. Where neither
        occurs, words must be about as frequent as in other documents: moved by one place each
        would be as frequent as its neighbour in the alphabet.
        """
        own = self._by_number()
        if own[0]:
            return 0
        if own[-1]:
            return 1
        there = np.log1p(X.sum(axis=0))
        return int(_alike(np.log1p(own[1:]), there) >= _alike(np.log1p(own[:-1]), there))

    def splits(self, first_id: int) -> tuple[Split, ...]:
        """Return the counts over the words."""
        own = self._by_number()
        if own[0] and own[-1]:
            raise InputError(
                f"The test documents in {self.folder} have words from 0 to {len(self.words)}, one "
                f"more than the {len(self.words):,} of the vocabulary there; put the one there "
                "that belongs to them."
            )
        place = slice(first_id, first_id + len(self.words))
        for pair in self.numbered:
            if sum(part[:, place].nnz for part in pair) < sum(part.nnz for part in pair):
                raise InputError(
                    f"The test documents in {self.folder} have words outside their vocabulary of "
                    f"{len(self.words):,} if they count from {first_id}; say first_id="
                    f"{1 - first_id}, or leave that out."
                )
        return tuple((a[:, place], b[:, place]) for a, b in self.numbered)

    def _by_number(self) -> NDArray[Any]:
        """Return how often each number occurs."""
        sums = [part.sum(axis=0) for pair in self.numbered for part in pair]
        total: NDArray[Any] = np.sum(sums, axis=0)
        return total


def ready_made(folder: str | PathLike[str]) -> ReadyMade:
    """Read the split test documents in a folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vocab.txt").write_text("cup\\ntea\\n")
    >>> _ = (folder / "a_part_1.txt").write_text("1 1:2\\n")
    >>> _ = (folder / "a_part_2.txt").write_text("1 2:1\\n")
    >>> found = ready_made(folder)
    >>> found.words
    ['cup', 'tea']
    >>> [[part.toarray().tolist() for part in pair] for pair in found.splits(first_id=1)]
    [[[[2.0, 0.0]], [[0.0, 1.0]]]]
    """
    from opelda.corpus.sources import open_source

    folder = Path(folder)
    first_parts = sorted(folder.glob(f"*{OBSERVED}"))
    if not first_parts:
        raise InputError(
            f"There are no test documents in {folder}; give a folder with pairs of files named "
            f"NAME{OBSERVED} and NAME{TO_PREDICT}."
        )
    words = open_source(first_parts[0], format="ldac").words
    if words is None:
        raise InputError(
            f"There is no vocabulary in {folder}; put a file vocab.txt there, a word a line."
        )
    names = [(path, Path(str(path).removesuffix(OBSERVED) + TO_PREDICT)) for path in first_parts]
    numbered = tuple((_read(a, len(words)), _read(b, len(words))) for a, b in names)
    n_docs = numbered[0][0].shape[0]
    for pair, paths in zip(numbered, names, strict=True):
        for part, path in zip(pair, paths, strict=True):
            if part.shape[0] != n_docs:
                raise InputError(
                    f"{path} has {part.shape[0]:,} documents and {first_parts[0]} {n_docs:,}; "
                    "all splits must be of the same ones."
                )
    return ReadyMade(folder, list(words), numbered)


def _read(path: Path, n_words: int) -> sparse.csr_array:
    """Return counts by the numbers as they stand, from 0 to as many as there are words."""
    from opelda.corpus import read

    if not path.is_file():
        raise InputError(f"There is no file {path}; every {OBSERVED} needs its {TO_PREDICT}.")
    with open(path, "rb") as file:  # open: no vocabulary is looked for, and any number will do
        X = read(file, format="ldac", first_id=0).X
    if X.shape[1] > n_words + 1:
        raise InputError(
            f"{path} has the word {X.shape[1] - 1}, but the vocabulary beside it has {n_words:,}; "
            "put the one there that belongs to it."
        )
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_words + 1))


def _alike(own: Any, there: Any) -> float:
    """Return the correlation, 0 where one of the two does not vary."""
    own, there = own - own.mean(), there - there.mean()
    size = np.sqrt((own**2).sum() * (there**2).sum())
    return float((own * there).sum() / size) if size else 0.0
