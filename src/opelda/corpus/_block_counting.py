"""Blocks of documents as counts, over words of their own or over a vocabulary's columns."""

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from opelda.corpus._block import Block
from opelda.corpus._counting import Counted, place
from opelda.corpus._matrix import as_counts
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.formats import escape, unescape
from opelda.corpus.sources import Source
from opelda.corpus.text import WHITESPACE, Tokenizer

# How texts are split whose words are known beforehand.
WRITTEN_WORDS = Tokenizer(lower=False, pattern=WHITESPACE, stop_words=None)


class BlockCounter:
    """Counts a source's blocks.

    Parameters
    ----------
    source : Source
    tokenizer : Tokenizer
        For texts, unless the source says that they are made of its words already.
    """

    def __init__(self, source: Source, tokenizer: Tokenizer) -> None:
        self.source = source
        self.tokenizer = WRITTEN_WORDS if source.written else tokenizer
        self._given = tokenizer
        # whoever asks for stop words wants them out of counted documents too
        self.stop_words = tokenizer._removed if tokenizer.stop_words != "auto" else []
        self._map: tuple[Vocabulary, NDArray[np.int32]] | None = None

    def settle(self, block: Block) -> None:
        """Decide by a first block what was left to be found out, such as the language."""
        if isinstance(block.documents, pl.Series):
            self.tokenizer = self.tokenizer.resolved(block.documents)

    @property
    def saved(self) -> Tokenizer:
        """How new texts are to be made into words; nothing in it is left to be found out."""
        return (self._given if self.source.written else self.tokenizer).decided

    def count(self, block: Block) -> Counted | sparse.csr_array:
        """Return counts over words, or over the columns of the source."""
        documents = block.documents
        if isinstance(documents, pl.Series):
            documents = self.tokenizer.count(documents, n_jobs=1)  # blocks are counted side by side
        if isinstance(documents, Counted) and self.source.written:
            return Counted([_unescaped(word) for word in documents.words], documents.counts)
        return documents

    def over_words(self, counts: Counted | sparse.csr_array) -> Counted | sparse.csr_array:
        """Return counts over the words of the source's columns, if it names them."""
        words = self.source.words
        if isinstance(counts, Counted) or words is None:
            return counts
        held = np.unique(counts.indices)
        columns = np.full(counts.shape[1], -1, np.int32)
        columns[held] = np.arange(len(held), dtype=np.int32)
        return Counted([words[i] for i in held.tolist()], place(counts, columns, len(held))[0])

    def over(
        self, counted: Counted | sparse.csr_array, vocabulary: Vocabulary
    ) -> tuple[sparse.csr_array, float]:
        """Return counts over a vocabulary's columns, and the token mass that has none there."""
        if isinstance(counted, Counted):
            return place(counted.counts, vocabulary.columns(counted.words), len(vocabulary))
        words = self.source.words
        if words is None:
            return as_counts(counted, len(vocabulary), self.source.label)
        if self._map is None or self._map[0] is not vocabulary:
            self._map = (vocabulary, vocabulary.columns(words))
        return place(counted, self._map[1][: counted.shape[1]], len(vocabulary))


def _unescaped(word: str) -> str:
    """Return what a writer escaped; a word that none would have written so stays as it is."""
    plain = unescape(word)
    return plain if escape(plain) == word else word
