"""Words of a vocabulary: their columns, the words that wait for one, and both as plain arrays.

Nothing that comes back from a file is trusted: whatever it holds, the answer is a vocabulary or an
`InputError`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda.errors import InputError


def encodable(word: str) -> bool:
    """Whether the word has a UTF-8 form; lone surrogates have none."""
    try:
        return word.isascii() or bool(word.encode())
    except UnicodeEncodeError:
        return False


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


def pack_words(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words' UTF-8 bytes end to end, and where each begins and ends."""
    encoded = [word.encode() for word in words]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), np.uint8).copy(), offsets


def unpack_words(arrays: Mapping[str, Any]) -> list[str]:
    """Return the words again."""
    letters = stored_array(arrays, "bytes", np.uint8)
    offsets = stored_array(arrays, "offsets", np.int64)
    rising = len(offsets) and offsets[0] == 0 and (np.diff(offsets) >= 0).all()
    if not rising or offsets[-1] != len(letters):
        raise damaged("offsets do not rise from 0 to the number of its bytes")
    raw, ends = letters.tobytes(), offsets.tolist()
    try:
        return [raw[begin:end].decode() for begin, end in pairwise(ends)]
    except UnicodeDecodeError as error:
        raise damaged(f"bytes are not UTF-8 ({error.reason})") from None


def stored_array(
    arrays: Mapping[str, Any], name: str, dtype: type[np.generic], length: int | None = None
) -> NDArray[Any]:
    """Return a copy of a stored vector of numbers that are not negative."""
    if name not in arrays:
        raise damaged(f"array {name!r} is missing")
    array = np.array(arrays[name])
    if array.ndim != 1 or array.dtype != dtype:
        kind = np.dtype(dtype).name
        raise damaged(
            f"{name} should be a vector of {kind}, not {array.dtype} of shape {array.shape}"
        )
    if length is not None and len(array) != length:
        raise damaged(f"{name} has {len(array)} entries for {length} words")
    if len(array) and array.min() < 0:
        raise damaged(f"{name} holds negative numbers")
    return array


def stored_value(header: Mapping[str, Any], name: str) -> Any:
    """Return a stored parameter, whatever it is."""
    if name not in header:
        raise damaged(f"parameter {name!r} is missing")
    return header[name]


def stored_number(header: Mapping[str, Any], name: str, kind: type[float] = int) -> Any:
    """Return a stored number that is not negative: a whole one, or with ``kind=float`` any."""
    value = stored_value(header, name)
    whole = isinstance(value, int) and not isinstance(value, bool) and value < 2**63
    good = whole or (kind is float and isinstance(value, float) and value < 1e300)
    if not good or value < 0:
        what = "whole number" if kind is int else "number from 0 on"
        raise damaged(f"{name} should be a {what}, not {value!r}")
    return kind(value)


def damaged(what: str) -> InputError:
    """Return the error for a stored vocabulary with something wrong."""
    return InputError(f"The stored vocabulary is damaged (its {what}); make the file again.")


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
