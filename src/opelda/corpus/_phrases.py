"""Pairs of words that are often side by side, for the labels of topics."""

from dataclasses import replace

import polars as pl

from opelda.corpus._forks import evaluate
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.text._splitters import unspaced_runs
from opelda.corpus.text._word_counting import phrases_of

MOST_TEXTS, CHARACTERS = 10_000, 1_000
OFTEN = 0.45  # NPMI: below that of `Tokenizer(phrases=True)`, as labels change no counts


class PhraseSample:
    """The beginnings of at most 10,000 texts, spread evenly over a collection."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._every = 1

    def add(self, texts: pl.Series) -> None:
        begins = evaluate(texts[:: self._every], lambda text: text.str.slice(0, CHARACTERS))
        self._texts += begins.to_list()  # a Series would hold the whole texts
        while len(self._texts) > MOST_TEXTS:
            self._texts, self._every = self._texts[::2], 2 * self._every

    def phrases(self, words: Vocabulary, n_threads: int) -> tuple[str, ...]:
        """Return adjacent words of the vocabulary, the strongest pairs first.

        None if words are pairs already, or if a function splits texts, which may be slow.
        """
        known = words.tokenizer
        if known.ngrams != (1, 1) or known.phrases or known.split or not self._texts:
            return ()
        plain = replace(known, stop_words=None, extra_stop_words=())
        unspaced = unspaced_runs()
        return tuple(
            phrase
            for phrase in phrases_of(pl.Series(self._texts), plain, OFTEN, n_threads)
            if not unspaced.search(phrase) and all(part in words for part in phrase.split(" "))
        )
