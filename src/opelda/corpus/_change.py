"""What a mini-batch did to a vocabulary."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class VocabularyChange:
    """What one mini-batch did to a vocabulary.

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
