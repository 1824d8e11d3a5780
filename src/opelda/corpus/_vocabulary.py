"""Words to columns, fixed or growing with a stream, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda._validation import choice, flag, whole
from opelda.corpus._document_counts import as_list, count_words
from opelda.corpus._matrix import Counted, remap_columns
from opelda.corpus._word_columns import (
    VocabularyChange,
    WaitingWords,
    WordColumns,
    checked_words,
    encodable,
    stored_number,
    stored_value,
    unpack_words,
    usual_min_df,
)
from opelda.corpus.text import COUNT_VECTORIZER, Tokenizer
from opelda.corpus.text._word_counting import FewTexts
from opelda.errors import InputError

MOST_WORDS = 2**31 - 1
PARAMETERS = ("growing", "max_features", "when_full", "min_df")
COUNTERS = ("n_updates", "n_docs", "n_added", "n_evicted", "n_dropped")
# Of parameters and counters, those that the first model files do not have.
SINCE = {"min_df": 1, "n_docs": 0}
# The tokenizer of the first model files, which do not say.
FIRST_TOKENIZER = Tokenizer(
    pattern=COUNT_VECTORIZER, stop_words=None, unspaced=None, keep_markup=True
)


class Vocabulary:
    """Words and their columns.

    A document is a text, a sequence of words, or a mapping from word to count.

    Parameters
    ----------
    words : iterable of str
        The words of the first columns, all different.
    growing : bool
        Whether `learn` gives columns to words it has not seen.
    max_features : int or None
        Columns at most.
    when_full : {"evict", "refuse"}
        What becomes of new words when there is no column left. They take those of the words that
        the fewest documents had, which counts a tenth less for every mini-batch since, unless
        those are in this very mini-batch or count for more than the new word does; or they are
        dropped. Dropped words are counted, not remembered: memory is bounded by ``max_features``.
    min_df : int or None
        A new word gets a column with the mini-batch in which so many documents have had it. Until
        then it waits: its tokens are left out and counted as unknown. None is as for `read`: 1 in
        the first 50 documents, 2 up to 1,000, then 5. At most ``2 * max_features`` words wait, or
        500,000; beyond, those seen long ago and in few documents are forgotten and begin anew.
    tokenizer : Tokenizer or None
        How texts are made into words. None: ``Tokenizer()``, as for `read`. Stop words "auto" are
        found from the first texts that a growing vocabulary learns from; a fixed one has said which
        words it wants, and leaves out none of them.

    Attributes
    ----------
    n_updates, n_docs : int
        Calls of `learn`, and documents they were given.
    n_added, n_evicted, n_dropped : int
        Sums over those calls, as in `VocabularyChange`. A word refused again counts again.
    n_unknown_tokens : float

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
        tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self.tokenizer = tokenizer if self.growing else tokenizer.decided
        self._columns = WordColumns(checked_words(words))
        self._few_texts = FewTexts()
        self.min_df = None if min_df is None else whole("min_df", min_df)
        self._waiting = WaitingWords(max_features)
        if max_features is not None and len(self) > max_features:
            raise InputError(
                f"is {max_features}, but there are {len(self)} words; give fewer words or more "
                "columns.",
                "max_features",
            )
        self.n_updates = self.n_docs = self.n_added = self.n_evicted = self.n_dropped = 0
        self.n_unknown_tokens = 0.0

    @classmethod
    def known(
        cls,
        words: Iterable[str],
        document_frequency: NDArray[np.int64],
        *,
        tokenizer: Tokenizer | None = None,
    ) -> Self:
        """Return a fixed vocabulary of words that so many documents had."""
        vocabulary = cls(words, tokenizer=tokenizer)
        vocabulary._columns.frequency[:] = document_frequency
        return vocabulary

    @property
    def words(self) -> tuple[str, ...]:
        """The words in the order of their columns."""
        return tuple(self._columns.words)

    @property
    def document_frequency(self) -> NDArray[np.int64]:
        """How many of the learned documents had each word since it has its column (a copy)."""
        return self._columns.frequency.copy()

    def index(self, word: str) -> int:
        """Return the word's column, -1 if it has none."""
        return self._columns.index.get(word, -1)

    def columns(self, words: Sequence[str]) -> NDArray[np.int32]:
        """Return each word's column, -1 for those that have none."""
        return self._columns.find(words)

    def count(self, documents: Iterable[Any]) -> sparse.csr_array:
        """Count words without changing the vocabulary; words it does not have are left out.

        Returns
        -------
        CSR array (documents, words), float32
        """
        documents, tokenizer = as_list(documents), self.tokenizer.decided
        table = self._columns
        few = self._few_texts.count(documents, table.words, table.version, tokenizer)
        if few is not None:
            return few
        counted = count_words(documents, "Document {}".format, tokenizer)
        return remap_columns(counted.counts, self.columns(counted.words), len(self))[0]

    def learn(
        self, documents: Iterable[Any], where: Callable[[int], str] = "Document {}".format
    ) -> tuple[sparse.csr_array, VocabularyChange]:
        """Count the words of a stream's next mini-batch and let the vocabulary follow.

        New words get columns in the order of how many of these documents have them, ties by first
        appearance. If a document cannot be used, nothing is changed; the error calls it
        ``where(number)``.

        Returns
        -------
        CSR array (documents, words after this), float32
        VocabularyChange
        """
        documents = as_list(documents)
        texts = [document for document in documents if isinstance(document, str)]
        tokenizer = self.tokenizer.resolved(texts) if texts else self.tokenizer
        return self.learn_counted(count_words(documents, where, tokenizer), tokenizer)

    def learn_counted(
        self, counted: Counted, tokenizer: Tokenizer | None = None
    ) -> tuple[sparse.csr_array, VocabularyChange]:
        """Learn from documents counted already: the part of `learn` that changes anything.

        `tokenizer` is the one they were counted with, its language known by now.
        """
        self.tokenizer = self.tokenizer if tokenizer is None else tokenizer
        n_before, table = len(self), self._columns
        self.n_updates += 1
        self.n_docs += len(counted)
        columns = table.find(counted.words)
        frequency = np.bincount(counted.counts.indices, minlength=len(columns))
        reused = np.zeros(0, np.int32)
        known = columns >= 0
        table.see(columns[known], frequency[known], self.n_updates)
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
        """Enter in `columns` what is given to words without one; return the reused, ascending."""
        without = np.flatnonzero(columns < 0).tolist()
        new = np.array([i for i in without if encodable(words[i])], np.intp)
        enough = usual_min_df(self.n_docs) if self.min_df is None else self.min_df
        if enough > 1:
            new = self._waiting.see(words, new, frequency, enough)
        most = MOST_WORDS if self.max_features is None else self.max_features
        evict = self.when_full == "evict"
        return self._columns.admit(words, new, frequency, columns, self.n_updates, most, evict)

    def to_arrays(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return everything as plain arrays and a dictionary fit for JSON.

        Examples
        --------
        >>> arrays, header = Vocabulary(["tea", "cup"]).to_arrays()
        >>> arrays["bytes"].tobytes(), arrays["offsets"].tolist(), header["growing"]
        (b'teacup', [0, 3, 6], False)
        >>> Vocabulary.from_arrays(arrays, header).words
        ('tea', 'cup')
        """
        arrays = self._columns.to_arrays() | self._waiting.to_arrays()
        names = (*PARAMETERS, *COUNTERS, "n_unknown_tokens")
        header = {name: getattr(self, name) for name in names}
        return arrays, header | {"tokenizer": self.tokenizer.to_dict()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], header: Mapping[str, Any]) -> Self:
        """Make the vocabulary again that `to_arrays` described.

        Raises
        ------
        InputError
            When anything is missing, of the wrong type, or contradicts the rest.
        """
        header = SINCE | dict(header)
        parameters = {name: stored_value(header, name) for name in PARAMETERS}
        said = header.get("tokenizer")  # the first files did not say
        tokenizer = FIRST_TOKENIZER if said is None else Tokenizer.from_dict(said)
        vocabulary = cls(unpack_words(arrays), **parameters, tokenizer=tokenizer)
        for name in COUNTERS:
            setattr(vocabulary, name, stored_number(header, name))
        vocabulary.n_unknown_tokens = stored_number(header, "n_unknown_tokens", float)
        vocabulary._columns.restore(arrays, vocabulary.n_updates)
        vocabulary._waiting.restore(arrays, vocabulary)
        return vocabulary

    def copy(self) -> Self:
        """Return an independent copy."""
        copied = self.from_arrays(*self.to_arrays())
        copied.tokenizer = self.tokenizer  # with a function of the user's own
        return copied

    def __len__(self) -> int:
        return len(self._columns.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._columns.index

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
