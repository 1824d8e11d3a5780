"""Counts of many blocks of documents, each over words of its own, as one matrix."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda import _text
from opelda.corpus._counting import Counted, place
from opelda.corpus._frequency import default_max_df, default_min_df, kept_words
from opelda.corpus._packing import encodable
from opelda.corpus.sources._joining import stacked
from opelda.corpus.text import Lexicon
from opelda.errors import InputError


class Merger:
    """Collects blocks; in the end the words are put in alphabetical order and the rare left out."""

    def __init__(self) -> None:
        self.lexicon = Lexicon()
        self.parts: list[sparse.csr_array] = []
        self.n_docs = 0
        self._df = np.zeros(1024, np.int64)
        self._total = np.zeros(1024, np.float64)

    def add(self, counted: Counted) -> None:
        """Take in the next block."""
        try:
            columns = self.lexicon.absorb(counted.words)
        except UnicodeEncodeError:
            counted = _encodable(counted)
            columns = self.lexicon.absorb(counted.words)
        counts = counted.counts
        n_known = len(self.lexicon)
        if n_known > len(self._df):
            more = max(n_known, 2 * len(self._df)) - len(self._df)
            self._df = np.concatenate((self._df, np.zeros(more, np.int64)))
            self._total = np.concatenate((self._total, np.zeros(more, np.float64)))
        moved = _text.merge(counts.indices, counts.data, columns, self._df, self._total)
        self.parts.append(
            sparse.csr_array((counts.data, moved, counts.indptr), (counts.shape[0], n_known))
        )
        self.n_docs += counts.shape[0]

    def finish(
        self, min_df: Any, max_df: Any, max_features: int | None, n_threads: int = 1
    ) -> tuple[sparse.csr_array, list[str], NDArray[np.int64]]:
        """Return the counts, the words of the columns and their document frequencies."""
        found = self.lexicon.words
        order = np.array(sorted(range(len(found)), key=found.__getitem__), np.int64)
        words = [found[code] for code in order]
        df, total = self._df[order], self._total[order]
        keep = kept_words(
            df,
            total,
            self.n_docs,
            default_min_df(self.n_docs) if min_df is None else min_df,
            default_max_df(self.n_docs) if max_df is None else max_df,
            max_features,
        )
        if len(words) and not keep.any():
            raise InputError(
                f"None of the {len(words):,} words of {self.n_docs:,} documents is within "
                "{min_df}, {max_df} and {max_features}; widen them.",
                min_df=...,
                max_df=...,
                max_features=...,
            )
        columns = np.full(len(words), -1, np.int32)
        columns[order[keep]] = np.arange(keep.sum(), dtype=np.int32)
        n_words = int(keep.sum())
        with ThreadPoolExecutor(n_threads) as pool:
            moved = pool.map(lambda part: place(part, columns, n_words)[0], self.parts)
            for number, part in enumerate(moved):  # what was moved is let go
                self.parts[number] = part
        kept = [word for word, stays in zip(words, keep.tolist(), strict=True) if stays]
        return stacked(self.parts, n_words), kept, df[keep]


def _encodable(counted: Counted) -> Counted:
    """Leave out words that cannot be written as UTF-8, which no vocabulary can hold."""
    good = [encodable(word) for word in counted.words]
    columns = np.where(good, np.cumsum(good) - 1, -1).astype(np.int32)
    words = [word for word, stays in zip(counted.words, good, strict=True) if stays]
    return Counted(words, place(counted.counts, columns, len(words))[0])
