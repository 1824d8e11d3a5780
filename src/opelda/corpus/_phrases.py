"""Pairs of words that are often side by side, for the labels of topics."""

from dataclasses import replace

import polars as pl

from opelda.corpus._forks import evaluate
from opelda.corpus._vocabulary import Vocabulary
from opelda.corpus.text._splitters import unspaced_runs
from opelda.corpus.text._word_counting import phrases_of

MOST, CHARACTERS = 10_000_000, 1_000  # characters of all texts, and of each
# NPMI, below that of `Tokenizer(phrases=True)` as labels change no counts, and how much the NPMI
# must exceed that of the other order
OFTEN, DIRECTED = 0.45, 0.2


class PhraseSample:
    """The beginnings of some texts, spread evenly over a collection: at most 10 MB."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._every = 1

    def add(self, texts: pl.Series) -> None:
        begins = evaluate(texts[:: self._every], lambda text: text.str.slice(0, CHARACTERS))
        self._texts += begins.to_list()  # a Series would hold the whole texts
        while sum(map(len, self._texts)) > MOST:
            self._texts, self._every = self._texts[::2], 2 * self._every

    def phrases(self, words: Vocabulary, n_threads: int) -> tuple[str, ...]:
        """Return adjacent words of the vocabulary in their usual order, the strongest pairs first.

        Words of one theme follow each other in both orders, and are not a phrase. None if words
        are pairs already, or if a function splits texts, which may be slow.
        """
        known = words.tokenizer
        if known.ngrams != (1, 1) or known.phrases or known.split or not self._texts:
            return ()
        plain = replace(known, stop_words=None, extra_stop_words=())
        found = phrases_of(pl.Series(self._texts), plain, OFTEN - DIRECTED, n_threads)
        unspaced = unspaced_runs()
        return tuple(
            phrase
            for phrase, score in found.items()
            for a, b in [phrase.split(" ")]
            if score >= max(OFTEN, found.get(f"{b} {a}", 0.0) + DIRECTED)
            and (a in words and b in words and not unspaced.search(phrase))
        )
