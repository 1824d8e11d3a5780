"""A function of the user's own that cuts texts into words: called here, and never saved."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opelda import _text
from opelda.corpus._vocabulary_arrays import encodable
from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Split = Callable[[str], Sequence[str]]
ONE_AT_A_TIME = Lock()  # blocks are counted by several threads, which it need not know of


@dataclass(frozen=True)
class Forgotten:
    """In the place of a function that a file does not hold."""

    name: str

    def __call__(self, text: str) -> Sequence[str]:
        raise InputError(
            f"Texts were cut into the model's words by a function of your own, {self.name}, which "
            "no file holds; give it again with opelda.load(path, split=...), or give counts."
        )


@dataclass(frozen=True)
class Calls:
    """Words are what a function returns of a text."""

    split: Split

    def code(
        self, texts: "pl.Series", table: _text.WordTable
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the codes of all texts' words, and how many there are up to each text's end."""
        ends, words = [0], []
        with ONE_AT_A_TIME:
            for text in texts:
                words += self._words(text)
                ends.append(len(words))
        return table.add(words), np.array(ends, np.int64)

    def _words(self, text: str) -> list[str]:
        words = self.split(text)
        if isinstance(words, str | bytes) or not isinstance(words, Sequence):
            raise InputError(f"must return a list of words, but returned {words!r:.80}.", "split")
        for word in words:
            if not isinstance(word, str) or not encodable(word):
                raise InputError(f"must return words, but one of them is {word!r:.80}.", "split")
        return list(words)


def checked_split(split: Any, pattern: Any) -> Split | None:
    """Return a function, or None."""
    if split is None:
        return None
    if not callable(split):
        raise InputError(
            f"must be a function from a text to its words or None, got {split!r:.80}.", "split"
        )
    if pattern is not None:
        raise InputError("and pattern both say what a word is; leave one out.", "split")
    return split  # type: ignore[no-any-return]


def name_of(split: Split) -> str:
    """Return what a function is called, for those who have to give it again."""
    if isinstance(split, Forgotten):
        return split.name
    own = split if hasattr(split, "__qualname__") else type(split)
    return f"{own.__module__}.{own.__qualname__}"


def forgotten(name: Any) -> Forgotten | None:
    """Return what stands for the function that a file names."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(f"A tokenizer's split must be a name, got {name!r:.80}.")
    return Forgotten(name)
