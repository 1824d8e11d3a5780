"""The columns themselves: which word each stands for, how often and when it was seen."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._packing import encodable
from opelda.errors import InputError

# What a word's document frequency counts for one update after it was last seen, against newcomers:
# words that were common once must not keep their columns for ever.
FADE = 0.9


class Table:
    """Words, their columns, and per column a document frequency and the update last seen in."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.index = {word: i for i, word in enumerate(words)}
        self.frequency = np.zeros(len(words), np.int64)
        self.last_seen = np.zeros(len(words), np.int64)
        self.version = 0  # another one whenever a column stands for another word

    def columns(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return each word's column, -1 for those without."""
        get = self.index.get
        return np.fromiter((get(word, -1) for word in words), np.int32, len(words))

    def see(self, columns: NDArray[np.int32], frequency: NDArray[np.intp], now: int) -> None:
        """Count documents for columns, each named once."""
        self.frequency[columns] += frequency
        self.last_seen[columns] = now

    def extend(self, n_columns: int) -> NDArray[np.int32]:
        """Make columns, to be assigned next; return their numbers."""
        before = len(self.words)
        self.words.extend([""] * n_columns)
        zeros = np.zeros(n_columns, np.int64)
        self.frequency = np.concatenate((self.frequency, zeros))
        self.last_seen = np.concatenate((self.last_seen, zeros))
        return np.arange(before, before + n_columns, dtype=np.int32)

    def release(self, columns: NDArray[np.int32]) -> None:
        """Forget the words of columns, to be assigned next."""
        for column in columns.tolist():
            del self.index[self.words[column]]
        self.frequency[columns] = 0

    def assign(self, columns: NDArray[np.int32], words: Sequence[str]) -> None:
        """Let made or released columns stand for words."""
        self.version += 1
        for column, word in zip(columns.tolist(), words, strict=True):
            self.words[column] = word
            self.index[word] = column

    def weakest(self, wanted: NDArray[np.intp], now: int) -> NDArray[np.int32]:
        """Return columns to reuse for newcomers of these document frequencies, largest first.

        Columns not seen in this update, ordered by strength (document frequency, faded by the
        updates since the last sight), then last sight, then number. The weakest goes to the
        strongest newcomer, if it is not the stronger one: as one series rises while the other
        falls, the first pair that does not fit is the end.
        """
        idle = np.flatnonzero(self.last_seen < now)
        strength = self.frequency[idle] * FADE ** (now - self.last_seen[idle]).astype(np.float64)
        weak = strength <= wanted[0]
        idle, strength = idle[weak], strength[weak]
        order = np.lexsort((idle, self.last_seen[idle], strength))[: len(wanted)]
        fits = strength[order] <= wanted[: len(order)]
        chosen: NDArray[np.int32] = idle[order][fits].astype(np.int32)
        return chosen


def checked_words(words: Iterable[Any]) -> list[str]:
    """Return words that can be columns: strings, encodable, all different."""
    if isinstance(words, str | bytes):
        raise InputError("must be a sequence of words, got one text; give [word].", "words")
    seen: dict[str, None] = {}
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise InputError(f"must be strings, but number {number} is {word!r}.", "words")
        if not encodable(word):
            raise InputError(f"Word {number}, {word!r}, cannot be written as UTF-8; leave it out.")
        if word in seen:
            raise InputError(f"must differ, but {word!r} comes again as number {number}.", "words")
        seen[str(word)] = None
    return list(seen)
