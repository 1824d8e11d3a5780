"""Words to columns, fixed or growing with a stream, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import choice, flag, whole
from opelda.corpus._document_counts import as_list, count_words
from opelda.corpus._matrix import Counted, remap_columns
from opelda.corpus._word_columns import (
    VocabularyChange,
    checked_words,
    damaged,
    encodable,
    pack_words,
    stored_array,
    stored_number,
    unpack_words,
    usual_min_df,
)
from opelda.corpus.text import COUNT_VECTORIZER, Tokenizer
from opelda.corpus.text._word_counting import FewTexts
from opelda.errors import InputError

MOST_WORDS = 2**31 - 1
USUAL = Tokenizer()
PARAMETERS = ("growing", "max_features", "when_full", "min_df")
COUNTERS = ("n_updates", "n_docs", "n_added", "n_evicted", "n_dropped")


class Vocabulary:
    """Words and their columns.

    A document is a text, a sequence of words, or a mapping from word to count.

    Parameters
    ----------
    words : iterable of str
        The unique words of the first columns.
    growing : bool
        Whether `learn` adds columns for new words.
    max_features : int or None
        Maximum number of columns; None is no limit.
    when_full : {"evict", "refuse"}
        Whether a full vocabulary evicts rare, stale words or drops new words. A word's document
        frequency decreases by a tenth for every mini-batch since its last occurrence.
    min_df : int or None
        Minimum document frequency of a new word before it gets a column; until then its tokens are
        unknown. None is as for `read`: 1 in the first 50 documents, 2 up to 1,000, then 5. At most
        ``2 * max_features`` words are pending, or 500,000; rare, stale pending words are evicted.
    tokenizer : Tokenizer or None
        The rules that split texts into words. None: ``Tokenizer()``. The first texts resolve "auto"
        if the vocabulary grows; a fixed vocabulary counts all its words.

    Attributes
    ----------
    n_updates, n_docs : int
        Numbers of calls of `learn` and of their documents.
    n_added, n_evicted, n_dropped : int
        Sums over all calls of `learn`, as in `VocabularyChange`; every drop of a word counts.
    n_unknown_tokens : float
    phrases : tuple of str
        Pairs of words that `read` found side by side, for labels, the strongest first.

    Examples
    --------
    >>> vocabulary = Vocabulary(["cat", "dog"])
    >>> vocabulary.count(["A cat and a dog.", ["dog", "dog"], {"cat": 2.5, "cow": 1}]).toarray()
    array([[1. , 1. ],
           [0. , 2. ],
           [2.5, 0. ]], dtype=float32)
    >>> stream = Vocabulary(growing=True, max_features=1000)
    >>> X, change = stream.learn(["cats and dogs", "dogs"])
    >>> list(stream)
    ['dogs', 'cats']
    """

    def __init__(
        self,
        words: Iterable[str] = (),
        *,
        growing: bool = False,
        max_features: int | None = None,
        when_full: Literal["refuse", "evict"] = "evict",
        min_df: int | None = 1,
        tokenizer: Tokenizer | None = None,
    ) -> None:
        if max_features is not None:
            max_features = whole("max_features", max_features, 1, MOST_WORDS)
        if not isinstance(tokenizer, Tokenizer | None):
            raise InputError(
                f"must be an opelda.corpus.Tokenizer, got {type(tokenizer).__name__}.", "tokenizer"
            )
        self.growing = flag("growing", growing)
        self.max_features = max_features
        self.when_full = choice("when_full", when_full, ("refuse", "evict"))
        self.min_df = None if min_df is None else whole("min_df", min_df)
        tokenizer = USUAL if tokenizer is None else tokenizer
        self.tokenizer = tokenizer if self.growing else tokenizer.decided
        self._words = checked_words(words)
        if max_features is not None and len(self) > max_features:
            raise InputError(
                f"is {max_features}, but there are {len(self)} words; pass fewer words "
                "or raise it.",
                "max_features",
            )
        self._index = {word: i for i, word in enumerate(self._words)}
        self._frequency = np.zeros(len(self), np.int64)  # documents since it has its column
        self._last_seen = np.zeros(len(self), np.int64)  # the number of an update
        self._version = 0  # another one whenever a column stands for another word
        # words without a column and how many documents had each, the one seen last at the end
        self._waiting: dict[str, int] = {}
        self._few_texts = FewTexts()
        self.n_updates = self.n_docs = self.n_added = self.n_evicted = self.n_dropped = 0
        self.n_unknown_tokens = 0.0
        self.phrases: tuple[str, ...] = ()

    @classmethod
    def known(
        cls,
        words: Iterable[str],
        document_frequency: NDArray[np.int64],
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Self:
        """Return a fixed vocabulary of words with their document frequencies."""
        vocabulary = cls(words, tokenizer=tokenizer)
        vocabulary._frequency[:] = document_frequency
        return vocabulary

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of their columns."""
        return tuple(self._words)

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """Number of learned documents with each word since its column exists (a copy)."""
        return self._frequency.copy()

    def index(self, word: str) -> int:
        """Return the column of a word, or -1 for an unknown word."""
        return self._index.get(word, -1)

    def columns(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return the column of each word, or -1 for an unknown word."""
        return np.fromiter(map(self._index.get, words, repeat(-1)), np.int32, len(words))

    def count(self, documents: Iterable[Any]) -> sparse.csr_array:
        """Return counts (documents, words) without changing the vocabulary."""
        documents, tokenizer = as_list(documents), self.tokenizer.decided
        few = self._few_texts.count(documents, self._words, self._version, tokenizer)
        if few is not None:
            return few
        counted = count_words(documents, "Document {}".format, tokenizer)
        return remap_columns(counted.counts, self.columns(counted.words), len(self))[0]

    def learn(
        self, documents: Iterable[Any], where: Callable[[int], str] = "Document {}".format
    ) -> tuple[sparse.csr_array, VocabularyChange]:
        """Count the words of a stream's next mini-batch and update the vocabulary.

        New words get columns by their document frequency here, ties by first appearance. A bad
        document changes nothing; the error calls it ``where(number)``. Return float32 counts
        (documents, words after this) and the `VocabularyChange`.
        """
        documents = as_list(documents)
        texts = [document for document in documents if isinstance(document, str)]
        tokenizer = self.tokenizer.resolved(texts) if texts else self.tokenizer
        return self.learn_counted(count_words(documents, where, tokenizer), tokenizer)

    def learn_counted(
        self, counted: Counted, tokenizer: Tokenizer | None = None
    ) -> tuple[sparse.csr_array, VocabularyChange]:
        """Learn from documents that were counted with a tokenizer of known language."""
        self.tokenizer = self.tokenizer if tokenizer is None else tokenizer
        n_before = len(self)
        self.n_updates += 1
        self.n_docs += len(counted)
        columns = self.columns(counted.words)
        frequency = np.bincount(counted.counts.indices, minlength=len(columns))
        known = columns >= 0
        self._frequency[columns[known]] += frequency[known]
        self._last_seen[columns[known]] = self.n_updates
        reused = np.zeros(0, np.int32)
        if self.growing and not known.all():
            reused = self._admit(counted.words, frequency, columns)
        X, n_unknown = remap_columns(counted.counts, columns, len(self))
        change = VocabularyChange(
            n_words_before=n_before,
            n_words=len(self),
            reused=reused,
            n_added=len(self) - n_before + len(reused),
            n_evicted=len(reused),
            n_dropped=int((columns < 0).sum()),
            n_unknown_tokens=n_unknown,
        )
        self.n_added += change.n_added
        self.n_evicted += change.n_evicted
        self.n_dropped += change.n_dropped
        self.n_unknown_tokens += n_unknown
        return X, change

    def _admit(
        self, words: list[str], frequency: NDArray[np.intp], columns: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Enter the new words' columns in `columns`; return the reused columns, ascending."""
        numbers = [i for i in np.flatnonzero(columns < 0).tolist() if encodable(words[i])]
        enough = usual_min_df(self.n_docs) if self.min_df is None else self.min_df
        if enough > 1:
            numbers = self._ready(words, numbers, frequency, enough)
        new = np.array(numbers, np.intp)
        new = new[np.argsort(-frequency[new], kind="stable")]
        n_before = len(self)
        most = MOST_WORDS if self.max_features is None else self.max_features
        n_more = max(0, min(most - n_before, len(new)))
        reused = np.zeros(0, np.int32)
        if self.when_full == "evict" and n_more < len(new):
            reused = self._weakest(frequency[new[n_more:]])
            for column in reused.tolist():
                del self._index[self._words[column]]
        self._words.extend([""] * n_more)
        self._frequency = np.append(self._frequency, np.zeros(n_more, np.int64))
        self._last_seen = np.append(self._last_seen, np.zeros(n_more, np.int64))
        given = np.append(np.arange(n_before, n_before + n_more, dtype=np.int32), reused)
        new = new[: len(given)]
        for column, i in zip(given.tolist(), new.tolist(), strict=True):
            self._words[column] = str(words[i])
            self._index[self._words[column]] = column
        self._version += 1
        self._frequency[given] = frequency[new]
        self._last_seen[given] = self.n_updates
        columns[new] = given
        return np.sort(reused)

    def _weakest(self, wanted: NDArray[np.intp]) -> NDArray[np.int32]:
        """Return columns to reuse for newcomers of these document frequencies, largest first."""
        # Of the columns not seen in this update, by strength (document frequency, a tenth less for
        # every update since the last sight), then last sight, then number. The weakest goes to the
        # strongest newcomer unless it is stronger: strengths rise while frequencies fall, so that
        # the first pair that does not fit is the last.
        idle = np.flatnonzero(self._last_seen < self.n_updates)
        age = (self.n_updates - self._last_seen[idle]).astype(np.float64)
        strength = self._frequency[idle] * 0.9**age
        weak = strength <= wanted[0]
        idle, strength = idle[weak], strength[weak]
        order = np.lexsort((idle, self._last_seen[idle], strength))[: len(wanted)]
        fits = strength[order] <= wanted[: len(order)]
        chosen: NDArray[np.int32] = idle[order][fits].astype(np.int32)
        return chosen

    def _ready(
        self, words: list[str], numbers: list[int], frequency: NDArray[np.intp], enough: int
    ) -> list[int]:
        """Update document frequencies of pending words; return the words that reach the minimum."""
        waiting, ready = self._waiting, []
        for i, more in zip(numbers, frequency[numbers].tolist(), strict=True):
            word = words[i]
            n = waiting.pop(word, 0) + more
            if n >= enough:
                ready.append(i)
            else:
                waiting[str(word)] = n
        # When too many wait, forget a quarter: the rarer half of the half seen longest ago. So
        # stale words cannot keep new words out, nor a flood of new words drive out all others.
        most = 500_000 if self.max_features is None else 2 * self.max_features
        while len(waiting) > most:
            old = sorted(islice(waiting.items(), (len(waiting) + 1) // 2), key=itemgetter(1))
            for word, _ in old[: (len(old) + 1) // 2]:
                del waiting[word]
        return ready

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the vocabulary as plain arrays and a JSON-compatible dictionary.

        Examples
        --------
        >>> arrays, header = Vocabulary(["tea", "cup"]).to_arrays()
        >>> arrays["bytes"].tobytes(), arrays["offsets"].tolist(), header["growing"]
        (b'teacup', [0, 3, 6], False)
        >>> Vocabulary.from_arrays(arrays, header).words
        ('tea', 'cup')
        """
        letters, offsets = pack_words(self._words)
        arrays: dict[str, NDArray[Any]] = {
            "bytes": letters,
            "offsets": offsets,
            "document_frequency": self._frequency.copy(),
            "last_seen": self._last_seen.copy(),
        }
        for name, held in (("waiting", self._waiting), ("adjacent", self.phrases)):
            if held:
                letters, offsets = pack_words(held)
                arrays |= {f"{name}.bytes": letters, f"{name}.offsets": offsets}
        if self._waiting:
            waits = np.array([*self._waiting.values()], np.int64)
            arrays["waiting.document_frequency"] = waits
        names = (*PARAMETERS, *COUNTERS, "n_unknown_tokens")
        header = {name: getattr(self, name) for name in names}
        return arrays, header | {"tokenizer": self.tokenizer.to_dict()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], header: Mapping[str, Any]) -> Self:
        """Restore a vocabulary from the result of `to_arrays`; reject corrupted arrays."""
        header = {"min_df": 1, "n_docs": 0} | dict(header)  # the first model files lack these
        for name in (*PARAMETERS, *COUNTERS, "n_unknown_tokens"):
            if name not in header:
                raise damaged(f"parameter {name!r} is missing")
        said = header.get("tokenizer")
        if said is None:  # the first model files do not say
            tokenizer = Tokenizer(True, COUNT_VECTORIZER, None, unspaced=None, keep_markup=True)
        else:
            tokenizer = Tokenizer.from_dict(said)
        parameters = {name: header[name] for name in PARAMETERS}
        made = cls(unpack_words(arrays), **parameters, tokenizer=tokenizer)
        for name in COUNTERS:
            setattr(made, name, stored_number(header, name))
        made.n_unknown_tokens = stored_number(header, "n_unknown_tokens", float)
        made._frequency = stored_array(arrays, "document_frequency", np.int64, len(made))
        made._last_seen = stored_array(arrays, "last_seen", np.int64, len(made))
        if made._last_seen.max(initial=0) > made.n_updates:
            raise damaged(
                f"the last use of a word is after update {made.n_updates}, the last update"
            )
        own = {name[8:]: arrays[name] for name in arrays if name.startswith("waiting.")}
        if own:
            words = checked_words(unpack_words(own))
            counted = stored_array(own, "document_frequency", np.int64, len(words))
            if not counted.all() or any(word in made for word in words):
                raise damaged("pending words without documents, or with a column")
            made._waiting = dict(zip(words, counted.tolist(), strict=True))
        own = {name[9:]: arrays[name] for name in arrays if name.startswith("adjacent.")}
        made.phrases = tuple(unpack_words(own)) if own else ()
        return made

    def copy(self) -> Self:
        """Return an independent copy."""
        copied = self.from_arrays(*self.to_arrays())
        copied.tokenizer = self.tokenizer  # with a function of the user's own
        return copied

    def __len__(self) -> int:
        return len(self._words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        (mine, header), (theirs, their_header) = self.to_arrays(), other.to_arrays()
        if header != their_header or mine.keys() != theirs.keys():
            return False
        return all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __repr__(self) -> str:
        most = "" if self.max_features is None else f", max_features={self.max_features}"
        return f"Vocabulary({len(self)} words, growing={self.growing}{most})"
