"""Few texts counted straight over a vocabulary's columns: how a request of one text is served.

Counting many texts makes a table of their words and looks these up in the vocabulary; for one text
of 80 words that is 0.45 ms, nearly all of it the cost of the calls. Here the vocabulary is a table
itself, made once: 0.02 ms.
"""

from typing import Any

import numpy as np
from scipy import sparse

from opelda import _text
from opelda.corpus._counting import csr
from opelda.corpus._table import Table
from opelda.corpus.text import Tokenizer
from opelda.corpus.text._patterns import Runs, cutter
from opelda.corpus.text._texts import FEW, lowered

# Words entered into a table in the time that counting one text the other way takes.
WORDS_PER_CALL = 5_000


class FewTexts:
    """Counts few texts, over a table of the words that is made anew when these have changed."""

    def __init__(self) -> None:
        self._counter: _Counter | None = None
        self._n_calls = 0  # that could not use it

    def count(
        self, documents: list[Any], table: Table, tokenizer: Tokenizer
    ) -> sparse.csr_array | None:
        """Return counts; None where the documents, or the tokenizer, are not for this way.

        Making the table waits for as many calls as would have taken as long, so that words that
        change between calls never cost more than twice the time.
        """
        if not 0 < len(documents) <= FEW or not all(isinstance(text, str) for text in documents):
            return None
        counter = self._counter
        if counter is None or counter.version != table.version or counter.tokenizer != tokenizer:
            self._counter = None
            self._n_calls += 1
            if self._n_calls * WORDS_PER_CALL < len(table.words):
                return None
            self._n_calls = 0
            counter = self._counter = _Counter(table, tokenizer)
        return counter.count(documents)

    def __reduce__(self) -> tuple[type["FewTexts"], tuple[()]]:
        return FewTexts, ()  # a copy, or what was pickled, makes a table of its own


class _Counter:
    """The table: a vocabulary's words, and the column of each; those left out have none."""

    def __init__(self, table: Table, tokenizer: Tokenizer) -> None:
        self.version, self.tokenizer = table.version, tokenizer
        self.n_columns = len(table.words)
        cut = cutter(tokenizer.pattern)
        plain = tokenizer.stem is None and tokenizer.ngrams == (1, 1)
        self.cut = cut if plain and isinstance(cut, Runs) else None
        if self.cut is None:
            return
        self.table = _text.WordTable()
        n_removed = len(self.table.add(tokenizer._removed))
        codes = self.table.add(table.words)
        self.n_columns = len(codes)  # a stream may have added words meanwhile
        self.columns = np.full(len(self.table), -1, np.int32)
        self.columns[codes] = np.arange(self.n_columns, dtype=np.int32)
        self.columns[:n_removed] = -1

    def count(self, texts: list[str]) -> sparse.csr_array | None:
        cut = self.cut
        given = lowered(texts) if cut is not None and self.tokenizer.lower else texts
        if cut is None or given is None:
            return None
        try:
            ends, words, counts = self.table.count_known(
                given, self.columns, cut.classes, least=cut.least, need_letter=cut.need_letter
            )
        except UnicodeEncodeError:  # a lone surrogate, for which there is a sentence elsewhere
            return None
        return csr(counts, words, ends.astype(np.int32), (len(texts), self.n_columns))
