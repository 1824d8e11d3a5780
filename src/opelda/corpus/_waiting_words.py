"""Words of a stream that wait for a column until enough documents have had them."""

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.corpus._vocabulary_arrays import (
    checked_words,
    damaged,
    pack_words,
    stored_array,
    unpack_words,
)

# As many words at most may wait, for each column there may be, and where columns have no limit.
PER_COLUMN, MOST = 2, 500_000
PREFIX = "waiting."
# Below so many documents, how many hold a word says little. In thousands, words of one or two are
# misspellings and names: they make the model large and no topic clearer.
FEW, SOME = 50, 1_000


def usual_min_df(n_docs: int) -> int:
    """Return how many of so many documents must have a word where nobody said."""
    return 1 if n_docs < FEW else 2 if n_docs < SOME else 5


class WaitingWords:
    """Words without a column and how many documents had each, the one seen last at the end.

    From one mini-batch to the next no more than `most` are remembered. When they are too many, a
    quarter is forgotten: of the half that was seen longest ago, those of the fewest documents. So
    words of long ago cannot keep the new ones out, nor can a flood of new ones drive out at once
    what was seen before.
    """

    def __init__(self, max_features: int | None) -> None:
        self.most = MOST if max_features is None else PER_COLUMN * max_features
        self._n_docs: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._n_docs)

    def see(
        self,
        words: Sequence[str],
        numbers: NDArray[np.intp],
        frequency: NDArray[np.intp],
        enough: int,
    ) -> NDArray[np.intp]:
        """Count documents for some of the words; return those of them that have had enough.

        These no longer wait, whether they are given a column or not.
        """
        n_docs, ready = self._n_docs, []
        for i, more in zip(numbers.tolist(), frequency[numbers].tolist(), strict=True):
            word = words[i]
            n = n_docs.pop(word, 0) + more
            if n >= enough:
                ready.append(i)
            else:
                n_docs[str(word)] = n
        while len(n_docs) > self.most:
            old = sorted(islice(n_docs.items(), (len(n_docs) + 1) // 2), key=_documents)
            for word, _ in old[: (len(old) + 1) // 2]:
                del n_docs[word]
        return np.array(ready, np.intp)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as plain arrays; none where no word waits."""
        if not self._n_docs:
            return {}
        letters, offsets = pack_words(self._n_docs)
        counted = np.fromiter(self._n_docs.values(), np.int64, len(self))
        return {
            f"{PREFIX}bytes": letters,
            f"{PREFIX}offsets": offsets,
            f"{PREFIX}document_frequency": counted,
        }

    def restore(self, arrays: Any, taken: Any) -> None:
        """Take what `to_arrays` gave; words that are `taken` cannot wait."""
        own = {name.removeprefix(PREFIX): arrays[name] for name in arrays if PREFIX in name}
        if not own:
            return
        words = checked_words(unpack_words(own))
        counted = stored_array(own, "document_frequency", np.int64, len(words))
        if not counted.all() or any(word in taken for word in words):
            raise damaged("waiting words have no documents, or a column")
        self._n_docs = dict(zip(words, counted.tolist(), strict=True))


def _documents(item: tuple[str, int]) -> int:
    return item[1]
