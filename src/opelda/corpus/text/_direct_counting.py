"""Few texts counted straight over a vocabulary's columns, as for a request of one text.

Counting many texts makes a table of their words and looks these up in the vocabulary; for one text
of 80 words that is 0.45 ms, nearly all of it the cost of the calls. Here the vocabulary is a table
itself, made once: 0.02 ms.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda.corpus._matrix import csr
from opelda.corpus.text._markup import few_without_markup
from opelda.corpus.text._patterns import Runs, cutter
from opelda.corpus.text._texts import FEW, lowered
from opelda.corpus.text._unspaced import PAIRS
from opelda.corpus.text.tokenizer import Tokenizer

# Words entered into a table in the time that counting one text the other way takes.
WORDS_PER_CALL = 5_000


class FewTexts:
    """Counts few texts, over a table of the words that is made anew when these have changed."""

    def __init__(self) -> None:
        # the words' version, the tokenizer, and what `_table` made of them: changed in one step,
        # as several threads may count
        self._made: tuple[int, Tokenizer, _text.WordTable, NDArray[np.int32], int] | None = None
        self._n_calls = 0  # that could not use it

    def count(
        self, documents: list[Any], words: list[str], version: int, tokenizer: Tokenizer
    ) -> sparse.csr_array | None:
        """Return counts over the words of this version; None where this way does not serve."""
        if not 0 < len(documents) <= FEW or not all(isinstance(text, str) for text in documents):
            return None
        cut = cutter(tokenizer.pattern, pairs=tokenizer.unspaced == PAIRS)
        if not tokenizer._is_plain or not isinstance(cut, Runs):
            return None
        made = self._made
        if made is None or made[:2] != (version, tokenizer):
            # Making the table waits for as many calls as would have taken as long, so that words
            # that change between calls never cost more than twice the time.
            self._made = None
            self._n_calls += 1
            if self._n_calls * WORDS_PER_CALL < len(words):
                return None
            self._n_calls = 0
            made = self._made = version, tokenizer, *_table(words, tokenizer._removed)
        _, _, table, columns, n_columns = made
        try:
            cleaned = documents if tokenizer.keep_markup else few_without_markup(documents)
            texts = lowered(cleaned) if tokenizer.lower else cleaned
            if texts is None:
                return None
            ends, held, counts = table.count_known(
                texts,
                columns,
                cut.classes,
                least=cut.least,
                need_letter=cut.need_letter,
                pairs=cut.pairs,
            )
        except UnicodeEncodeError:  # a lone surrogate, for which there is a sentence elsewhere
            return None
        return csr(counts, held, ends, (len(texts), n_columns))

    def __reduce__(self) -> tuple[type["FewTexts"], tuple[()]]:
        return FewTexts, ()  # a copy, or what was pickled, makes a table of its own


def _table(words: list[str], removed: list[str]) -> tuple[_text.WordTable, NDArray[np.int32], int]:
    """Return the words and those left out as a table, the column of each, and how many."""
    table = _text.WordTable()
    n_removed = len(table.add(removed))
    codes = table.add(words)
    n_columns = len(codes)  # a stream may have added words meanwhile
    columns = np.full(len(table), -1, np.int32)
    columns[codes] = np.arange(n_columns, dtype=np.int32)
    columns[:n_removed] = -1
    return table, columns, n_columns
