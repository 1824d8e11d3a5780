"""Settings that a tokenizer takes from texts: language, scripts without spaces, phrases."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from opelda.corpus._matrix import Counted
from opelda.corpus.text._languages import AUTO, detected
from opelda.corpus.text._phrases import chosen
from opelda.corpus.text._stop_words import left_out
from opelda.corpus.text._unspaced import PAIRS, found_unspaced

if TYPE_CHECKING:
    import polars as pl

    from opelda.corpus.text.tokenizer import Tokenizer


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
