"""Documents as counts: a whole corpus, a mini-batch, and a stream of mini-batches."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus._word_columns import VocabularyChange

if TYPE_CHECKING:
    import polars as pl

    from opelda.corpus._block import Problems


@dataclass(frozen=True)
class Corpus:
    """Documents as counts, with the words of the columns.

    Attributes
    ----------
    X : CSR array (documents, words)
        float32 counts, int32 column numbers, sorted, without zeros.
    vocabulary : Vocabulary or None
        The words of the columns and their tokenizer; None if the source has no words.
    names : list of str or None
        Names of the documents; None if the source has no names.
    metadata : polars.DataFrame or None
        The columns that were kept beside the counts, as strings; null for missing values.
    n_skipped : int
        Number of malformed documents that were skipped.
    problems : tuple of str
        Messages about the first skipped documents.
    n_unknown_tokens : float
        Number of tokens without a column in the given vocabulary.
    n_duplicates : int
        Number of near duplicates that were removed.

    Examples
    --------
    >>> from opelda.corpus import read
    >>> read(["tea", "", "tea cup"])
    Corpus(3 documents, 2 words)
    """

    X: sparse.csr_array
    vocabulary: Vocabulary | None = None
    names: list[str] | None = None
    n_skipped: int = 0
    problems: tuple[str, ...] = ()
    n_unknown_tokens: float = 0.0
    metadata: "pl.DataFrame | None" = None
    n_duplicates: int = 0

    @property
    def words(self) -> tuple[str, ...] | None:
        """The words of the columns."""
        return None if self.vocabulary is None else self.vocabulary.words

    @property
    def n_empty(self) -> int:
        """Documents without any word; they are kept."""
        return int((np.diff(self.X.indptr) == 0).sum())

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __repr__(self) -> str:
        return f"Corpus({len(self):,} documents, {self.X.shape[1]:,} words)"


@dataclass(frozen=True)
class MiniBatch:
    """Counts of some documents and the stream's position after them.

    Attributes
    ----------
    X, vocabulary, names, metadata
        As in `Corpus`.
    position : fit for JSON
        Where the stream continues after this batch.
    change : VocabularyChange or None
        The batch's effect on the vocabulary; None for a matrix.
    n_unknown_tokens : float
        Token mass without a column.
    n_tokens : float64 array or None
        Tokens of each document, including tokens without a column.
    texts : polars.Series or None
        The original documents, where all are texts.
    """

    X: sparse.csr_array
    position: Any
    change: VocabularyChange | None
    n_unknown_tokens: float
    vocabulary: Vocabulary | None = None
    names: list[str] | None = None
    n_tokens: NDArray[np.float64] | None = None
    metadata: "pl.DataFrame | None" = None
    texts: "pl.Series | None" = None


@runtime_checkable
class Seekable(Protocol):
    """A source with a position to resume from."""

    position: Any

    def seek(self, position: Any) -> None:
        """Continue from a position of the same source."""


@runtime_checkable
class DocumentStream(Seekable, Protocol):
    """Documents in mini-batches, with a position to resume from.

    `stream` returns one; ``fit_stream`` accepts any object with these attributes and methods. The
    `position` is after the last mini-batch that was taken, None at the beginning, and fit for JSON.
    """

    vocabulary: Vocabulary | None
    problems: "Problems"

    def batches(
        self, vocabulary: Vocabulary | None = None, n_words: int | None = None
    ) -> Iterator[MiniBatch]:
        """Yield the mini-batches from `position` on.

        The vocabulary (None: the stream's own) learns from each mini-batch just before it is
        yielded. `n_words` is the number of columns where columns have no words.
        """
        ...
