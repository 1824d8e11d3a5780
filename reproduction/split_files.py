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

from opelda.corpus import read
from opelda.errors import InputError
from reproduction.data import Split

OBSERVED, TO_PREDICT = "_part_1.txt", "_part_2.txt"


@dataclass(frozen=True)
class SplitFiles:
    """Test documents that are split already, in files."""

    folder: Path
    words: list[str]  # the vocabulary, in the order of word numbers
    # counts by the numbers in the files, which are words' only once it is known whether these count
    # from 0 or from 1
    numbered: tuple[Split, ...]

    def first_id(self, X: sparse.csr_array) -> int:
        """Return the number of the first word, which the files do not say.

        A word numbered 0 decides it, and so does the largest possible number. Where neither
        occurs, words must be about as frequent as in other documents: shifted by one, each would
        be as frequent as its neighbour in the alphabet.
        """
        frequency = self._frequency()
        if frequency[0]:
            return 0
        if frequency[-1]:
            return 1
        there = np.log1p(X.sum(axis=0))
        from_0, from_1 = np.log1p(frequency[:-1]), np.log1p(frequency[1:])
        return int(_correlation(from_1, there) >= _correlation(from_0, there))

    def splits(self, first_id: int) -> tuple[Split, ...]:
        """Return the counts over the words."""
        frequency = self._frequency()
        if frequency[0] and frequency[-1]:
            raise InputError(
                f"The test documents in {self.folder} have words from 0 to {len(self.words)}, one "
                f"more than the {len(self.words):,} of the vocabulary there; put the one there "
                "that belongs to them."
            )
        if frequency[-1 if first_id == 0 else 0]:
            raise InputError(
                f"The test documents in {self.folder} have words outside their vocabulary of "
                f"{len(self.words):,} if they count from {first_id}; say first_id="
                f"{1 - first_id}, or leave that out."
            )
        columns = slice(first_id, first_id + len(self.words))
        return tuple((a[:, columns], b[:, columns]) for a, b in self.numbered)

    def _frequency(self) -> NDArray[Any]:
        """Return how often each number occurs."""
        sums = [part.sum(axis=0) for pair in self.numbered for part in pair]
        total: NDArray[Any] = np.sum(sums, axis=0)
        return total


def read_split_files(folder: str | PathLike[str]) -> SplitFiles:
    """Read the split test documents in a folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "vocab.txt").write_text("cup\\ntea\\n")
    >>> _ = (folder / "a_part_1.txt").write_text("1 1:2\\n")
    >>> _ = (folder / "a_part_2.txt").write_text("1 2:1\\n")
    >>> found = read_split_files(folder)
    >>> found.words
    ['cup', 'tea']
    >>> [[part.toarray().tolist() for part in pair] for pair in found.splits(first_id=1)]
    [[[[2.0, 0.0]], [[0.0, 1.0]]]]
    """
    folder = Path(folder)
    first_parts = sorted(folder.glob(f"*{OBSERVED}"))
    if not first_parts:
        raise InputError(
            f"There are no test documents in {folder}; give a folder with pairs of files named "
            f"NAME{OBSERVED} and NAME{TO_PREDICT}."
        )
    words = _vocabulary(folder)
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
    return SplitFiles(folder, words, numbered)


def _vocabulary(folder: Path) -> list[str]:
    """Return the words of the one file there whose name says that it holds them."""
    found = [path for path in sorted(folder.glob("*voca*")) if path.is_file()]
    if len(found) != 1:
        raise InputError(
            f"There is {'more than one' if found else 'no'} vocabulary in {folder}; put one file "
            "vocab.txt there, a word a line."
        )
    return [line.strip() for line in found[0].read_text("utf-8").rstrip("\n").split("\n")]


def _read(path: Path, n_words: int) -> sparse.csr_array:
    """Return counts by the numbers in the files, from 0 to the number of words."""
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


def _correlation(one: Any, other: Any) -> float:
    """Return the correlation, 0 where one of the two does not vary."""
    one, other = one - one.mean(), other - other.mean()
    size = np.sqrt((one**2).sum() * (other**2).sum())
    return float((one * other).sum() / size) if size else 0.0
