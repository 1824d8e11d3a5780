"""Mini-batches: the documents of one update as counts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus._word_columns import VocabularyChange

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class MiniBatch:
    """Counts of some documents and where the stream goes on after them.

    Attributes
    ----------
    X : CSR array (documents, words)
        float32 counts, int32 column numbers, sorted, without zeros.
    position : fit for JSON
        What to give `mini_batches` to go on after this batch.
    change : VocabularyChange or None
        What the batch did to the vocabulary; None for a matrix, which does nothing to it.
    n_unknown_tokens : float
        Token mass that has no column.
    vocabulary : Vocabulary or None
        The words of the columns; None where documents are counted without.
    names : list of str or None
        What the source calls the documents.
    n_tokens : float64 array or None
        Tokens of each document, those without a column among them; None where items of an iterable
        were gathered.
    metadata : polars.DataFrame or None
        The columns that `stream` was asked to keep, a row a document: texts as the source has
        them, null where a value is missing.
    texts : polars.Series or None
        The documents as they were read, where they are texts and come from `stream`.

    Examples
    --------
    >>> from opelda.corpus import Vocabulary, mini_batches
    >>> batch = next(mini_batches(["tea", "tea cup"], batch_size=2, vocabulary=Vocabulary(["tea"])))
    >>> batch.X.toarray().tolist(), batch.position["n"], batch.n_unknown_tokens
    ([[1.0], [1.0]], 2, 1.0)
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
