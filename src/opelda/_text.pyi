from typing import Protocol

import numpy as np
from numpy.typing import NDArray

class _Capsule(Protocol):
    """A PyCapsule named "arrow_array_stream", which the call uses up."""

# words.cpp
WORD: int
LETTER: int
UNSPACED: int

class WordTable:
    def __init__(self) -> None: ...
    def __len__(self) -> int: ...
    def add(self, words: list[str]) -> NDArray[np.int32]: ...
    def absorb(self, others: WordTable) -> NDArray[np.int32]: ...
    def words(self, first: int = 0) -> list[str]: ...
    def scan(
        self,
        stream: _Capsule,
        classes: NDArray[np.uint8],
        *,
        least: int,
        need_letter: bool,
        pairs: bool = False,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...
    def code(self, stream: _Capsule) -> NDArray[np.int32]: ...
    def count_known(
        self,
        texts: list[str],
        columns: NDArray[np.int32],
        classes: NDArray[np.uint8],
        *,
        least: int,
        need_letter: bool,
        pairs: bool = False,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]: ...
    def pairs(
        self,
        codes: NDArray[np.int32],
        ends: NDArray[np.int64],
        renamed: NDArray[np.int32],
        *,
        singles: bool,
        into: WordTable,
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]: ...

def count_rows(
    codes: NDArray[np.int32],
    ends: NDArray[np.int64],
    renamed: NDArray[np.int32],
    *,
    n_words: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]: ...

# numbers.cpp
LEAST_TRIPLE: int
LEAST_PAIR: int

def parse_triples(
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    at: int,
    *,
    offset: int,
    line: int,
    n_documents: int,
    n_words: int,
    slack: int,
    document: int,
    word: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], int, bool, int]: ...
def parse_pairs(
    data: NDArray[np.uint8],
    begin: int,
    end: int,
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    at: int,
    *,
    offset: int,
    line: int,
    first_id: int,
    n_words: int,
    n_threads: int,
) -> tuple[NDArray[np.int64], int, NDArray[np.int64], int, bool, int]: ...
def write_triples(
    indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32], first: int
) -> bytes: ...
def write_pairs(
    indptr: NDArray[np.int64], words: NDArray[np.int32], counts: NDArray[np.float32]
) -> bytes: ...

# merging.cpp
def merge(
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    columns: NDArray[np.int32],
    documents: NDArray[np.int64],
    tokens: NDArray[np.float64],
) -> NDArray[np.int32]: ...
def place(
    ends: NDArray[np.int64],
    words: NDArray[np.int32],
    counts: NDArray[np.float32],
    columns: NDArray[np.int32],
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], float]: ...
