"""Words that gather over many blocks of documents, each with a number of its own."""

import numpy as np
from numpy.typing import NDArray

from opelda import _text


class Lexicon:
    """Distinct words, numbered in the order of their first appearance.

    What turns the columns of many `Counted` into columns of one matrix.

    Examples
    --------
    >>> lexicon = Lexicon()
    >>> lexicon.absorb(["tea", "cup"]).tolist(), lexicon.absorb(["pot", "tea"]).tolist()
    ([0, 1], [2, 0])
    >>> lexicon.words, len(lexicon)
    (['tea', 'cup', 'pot'], 3)
    """

    def __init__(self) -> None:
        self._table = _text.WordTable()

    def absorb(self, words: list[str]) -> NDArray[np.int32]:
        """Return the words' numbers; new words get the next ones."""
        return self._table.add(words)

    @property
    def words(self) -> list[str]:
        """All words in the order of their numbers (a new list)."""
        return self._table.words()

    def __len__(self) -> int:
        return len(self._table)
