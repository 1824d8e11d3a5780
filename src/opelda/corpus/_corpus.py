"""A collection that was read: counts, words, names, metadata."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from opelda.corpus._vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Corpus:
    """Documents as counts, with the words of the columns.

    Attributes
    ----------
    X : CSR array (documents, words)
        float32 counts, int32 column numbers, sorted, without zeros.
    vocabulary : Vocabulary or None
        The words of the columns and how texts are made into words; None where the source names
        no words.
    names : list of str or None
        What the source calls its documents.
    metadata : polars.DataFrame or None
        The columns that were kept beside the counts, a row a document: texts as the source has
        them, null where a value is missing.
    n_skipped : int
        Documents that could not be read and were passed over.
    problems : tuple of str
        The first few of those.
    n_unknown_tokens : float
        Tokens left out because a given vocabulary has no column for them.
    n_duplicates : int
        Near copies of other documents that were left out.

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
