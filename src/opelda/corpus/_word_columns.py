"""Words of a vocabulary: their columns, whose column a new one is given, and words that wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

# A word's document frequency counts for so much one update after it was last seen, against
# newcomers: words that were common once must not keep their columns for ever.
FADE = 0.9


@dataclass(frozen=True)
class VocabularyChange:
    """Effect of one mini-batch on a vocabulary.

    Attributes
    ----------
    n_words_before, n_words : int
        Columns before and after.
    reused : int32 array
        Columns that were given to another word, ascending: what was learned there is void.
    n_added : int
        Words that got a column, new or reused.
    n_evicted : int
        Words that lost theirs.
    n_dropped : int
        Distinct words of the mini-batch left without a column.
    n_unknown_tokens : float
        How often those occurred.

    Examples
    --------
    >>> from opelda.corpus import Vocabulary
    >>> vocabulary = Vocabulary(growing=True, max_features=2)
    >>> _, change = vocabulary.learn([["tea", "cup", "tea"], ["tea", "pot"]])
    >>> change.n_words, change.n_added, change.n_dropped, change.n_unknown_tokens
    (2, 2, 1, 1.0)
    """

    n_words_before: int
    n_words: int
    reused: NDArray[np.int32]
    n_added: int
    n_evicted: int
    n_dropped: int
    n_unknown_tokens: float


class WordColumns:
    """A table of words, which may grow up to a width and from then on reuses columns."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.index = {word: i for i, word in enumerate(words)}
        self.frequency = np.zeros(len(words), np.int64)  # documents since it has its column
        self.last_seen = np.zeros(len(words), np.int64)  # the number of an update
        self.version = 0  # another one whenever a column stands for another word

    def find(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return each word's column, -1 for those that have none."""
        get = self.index.get
        return np.fromiter((get(word, -1) for word in words), np.int32, len(words))

    def see(self, columns: NDArray[np.int32], frequency: NDArray[np.intp], update: int) -> None:
        """Count documents of an update for columns, each named once."""
        self.frequency[columns] += frequency
        self.last_seen[columns] = update

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return everything as plain arrays."""
        letters, offsets = pack_words(self.words)
        return {
            "bytes": letters,
            "offsets": offsets,
            "document_frequency": self.frequency.copy(),
            "last_seen": self.last_seen.copy(),
        }

    def restore(self, arrays: Mapping[str, Any], update: int) -> None:
        """Take how often words were seen from what `to_arrays` gave, up to an update."""
        self.frequency = stored_array(arrays, "document_frequency", np.int64, len(self.words))
        self.last_seen = stored_array(arrays, "last_seen", np.int64, len(self.words))
        if self.last_seen.max(initial=0) > update:
            raise damaged(f"words were last seen after update {update}, the last")

    def admit(
        self,
        words: list[str],
        new: NDArray[np.intp],
        frequency: NDArray[np.intp],
        columns: NDArray[np.int32],
        update: int,
        most: int,
        evict: bool,
    ) -> NDArray[np.int32]:
        """Enter in `columns` what the `new` words are given; return the reused, ascending."""
        new = new[np.argsort(-frequency[new], kind="stable")]
        n_before, n_more = len(self.words), max(0, min(most - len(self.words), len(new)))
        reused = np.zeros(0, np.int32)
        if evict and n_more < len(new):
            reused = self._weakest(frequency[new[n_more:]], update)
            for column in reused.tolist():
                del self.index[self.words[column]]
            self.frequency[reused] = 0
        self.words.extend([""] * n_more)
        self.frequency = np.concatenate((self.frequency, np.zeros(n_more, np.int64)))
        self.last_seen = np.concatenate((self.last_seen, np.zeros(n_more, np.int64)))
        made = np.arange(n_before, n_before + n_more, dtype=np.int32)
        given = np.concatenate((made, reused))
        new = new[: len(given)]
        for column, i in zip(given.tolist(), new.tolist(), strict=True):
            self.words[column] = str(words[i])
            self.index[self.words[column]] = column
        self.version += 1
        self.see(given, frequency[new], update)
        columns[new] = given
        return np.sort(reused)

    def _weakest(self, wanted: NDArray[np.intp], update: int) -> NDArray[np.int32]:
        """Return columns to reuse for newcomers of these document frequencies, largest first."""
        # Of the columns not seen in this update, by strength (document frequency, faded by the
        # updates since the last sight), then last sight, then number. The weakest goes to the
        # strongest newcomer, if it is not the stronger one: as one series rises while the other
        # falls, the first pair that does not fit is the end.
        idle = np.flatnonzero(self.last_seen < update)
        age = (update - self.last_seen[idle]).astype(np.float64)
        strength = self.frequency[idle] * FADE**age
        weak = strength <= wanted[0]
        idle, strength = idle[weak], strength[weak]
        order = np.lexsort((idle, self.last_seen[idle], strength))[: len(wanted)]
        fits = strength[order] <= wanted[: len(order)]
        chosen: NDArray[np.int32] = idle[order][fits].astype(np.int32)
        return chosen


PREFIX = "waiting."
# In fewer documents, how many hold a word says little. In thousands, words of one or two are
# misspellings and names: they make the model large and no topic clearer.
FEW = 50


def usual_min_df(n_docs: int) -> int:
    """Return how many of so many documents must have a word where nobody said."""
    return 1 if n_docs < FEW else 2 if n_docs < 1_000 else 5


class WaitingWords:
    """Words without a column and how many documents had each, the one seen last at the end.

    From one mini-batch to the next no more than `most` are remembered. When they are too many, a
    quarter is forgotten: of the half that was seen longest ago, those of the fewest documents. So
    words of long ago cannot keep the new ones out, nor can a flood of new ones drive out at once
    what was seen before.
    """

    def __init__(self, max_features: int | None) -> None:
        self.most = 500_000 if max_features is None else 2 * max_features
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
        """Count documents for some of the words; return those of them that have had enough."""
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
