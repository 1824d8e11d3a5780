"""Settings of a tokenizer that come from texts, or from the tokenizer of a model."""

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from opelda.corpus._matrix import Counted
from opelda.corpus.text._languages import AUTO, ENGLISH, SKLEARN, detected, listed
from opelda.corpus.text._phrases import chosen
from opelda.corpus.text._splitters import (
    PAIRS,
    WORDS,
    Forgotten,
    cutter,
    found_unspaced,
    is_count_vectorizers,
    name_of,
)
from opelda.corpus.text._word_counting import as_texts, count
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

    from opelda.corpus.text.tokenizer import Tokenizer


@lru_cache(maxsize=256)
def left_out(
    lower: bool,
    pattern: str | None,
    unspaced: str | None,
    stop_words: str | tuple[str, ...] | None,
) -> list[str]:
    """Return stop words as they come out of texts, after the empty word."""
    if stop_words is None:
        return [""]
    given = listed(stop_words) if isinstance(stop_words, str) else stop_words
    exact = isinstance(stop_words, tuple) and is_count_vectorizers(pattern)
    found = [] if exact else _cut(list(given), lower, pattern, unspaced)
    return list(dict.fromkeys(["", *given, *found]))


def saved(stop_words: Any) -> Any:
    """Return stop words for a file, in which "en" means scikit-learn's list, as in older files."""
    return "english" if stop_words == ENGLISH else stop_words


def loaded(stop_words: Any) -> Any:
    """Return the stop words of a file."""
    return SKLEARN if stop_words == ENGLISH else stop_words


def _cut(given: list[str], lower: bool, pattern: str | None, unspaced: str | None) -> list[str]:
    counted = count(
        as_texts(given),
        markup=True,
        segment=pattern is None and unspaced == WORDS,
        lower=lower,
        cutter=cutter(pattern, pairs=unspaced == PAIRS),
        removed=[""],
        stem=None,
        ngrams=(1, 1),
        phrases=(),
        n_jobs=1,
    )
    return counted.words


def is_open(tokenizer: "Tokenizer") -> bool:
    """Whether texts are to say anything."""
    return AUTO in (tokenizer.stop_words, tokenizer.unspaced) or wants_phrases(tokenizer)


def wants_phrases(tokenizer: "Tokenizer") -> bool:
    """Whether phrases are to be found in texts."""
    return isinstance(tokenizer.phrases, float)


def resolved(tokenizer: "Tokenizer", sample: "pl.Series") -> "Tokenizer":
    """Return the tokenizer as a sample of texts decides it."""
    tokenizer = with_language(tokenizer, sample)
    if not wants_phrases(tokenizer):
        return tokenizer
    return with_phrases(tokenizer, pairs_too(tokenizer).count(sample))


def with_language(tokenizer: "Tokenizer", sample: "pl.Series") -> "Tokenizer":
    """Return the tokenizer with the language and the way that a sample of texts calls for."""
    if tokenizer.unspaced == AUTO:
        way = found_unspaced(sample) if tokenizer._is_cut_by_unicode else PAIRS
        tokenizer = replace(tokenizer, unspaced=way)
    if tokenizer.stop_words != AUTO:
        return tokenizer
    counted = replace(decided(tokenizer), stem=None, ngrams=1).count(sample)
    how = tokenizer.lower, tokenizer.pattern, tokenizer.unspaced
    return replace(tokenizer, stop_words=detected(counted, lambda code: left_out(*how, code)))


def pairs_too(tokenizer: "Tokenizer") -> "Tokenizer":
    """Return a tokenizer whose counts tell which pairs are phrases."""
    return replace(tokenizer, phrases=(), ngrams=2)


def with_phrases(tokenizer: "Tokenizer", counted: Counted) -> "Tokenizer":
    """Return the tokenizer with the phrases of counts of words and pairs."""
    counts, n_words = counted.counts, len(counted.words)
    df = np.bincount(counts.indices, minlength=n_words)
    total = np.bincount(counts.indices, counts.data, minlength=n_words)
    return replace(tokenizer, phrases=chosen(counted.words, df, total, tokenizer.phrases))


def decided(tokenizer: "Tokenizer") -> "Tokenizer":
    """Return the tokenizer for whoever has no texts to say what it leaves open."""
    return replace(
        tokenizer,
        stop_words=None if tokenizer.stop_words == AUTO else tokenizer.stop_words,
        unspaced=PAIRS if tokenizer.unspaced == AUTO else tokenizer.unspaced,
        phrases=() if wants_phrases(tokenizer) else tokenizer.phrases,
    )


def going_on_as(given: "Tokenizer", learned: "Tokenizer") -> "Tokenizer":
    """Return the tokenizer with what it leaves open as the learned one has it."""
    former = (given.stop_words, learned.stop_words) == (ENGLISH, SKLEARN)
    return replace(
        given,
        stop_words=learned.stop_words if former or given.stop_words == AUTO else given.stop_words,
        unspaced=learned.unspaced if given.unspaced == AUTO else given.unspaced,
        phrases=learned.phrases if wants_phrases(given) else given.phrases,
        keep_markup=given.keep_markup or learned.keep_markup,
    )


def recalling(learned: "Tokenizer", given: "Tokenizer") -> "Tokenizer":
    """Return the learned one with the other's function where it has nothing but its name."""
    same = given.split is not None and learned.split == Forgotten(name_of(given.split))
    return replace(learned, split=given.split) if same else learned


def with_split(learned: "Tokenizer | None", split: Any) -> "Tokenizer":
    """Return the learned one with the function that its file named."""
    if learned is None or not isinstance(learned.split, Forgotten):
        raise InputError("is not needed: no function cut texts into the model's words.", "split")
    return replace(learned, split=split)
