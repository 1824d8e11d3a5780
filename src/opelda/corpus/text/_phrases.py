"""Phrases: pairs of neighbouring words that come together more often than chance, as one word."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import number
from opelda.corpus.text._languages import checked_words
from opelda.errors import InputError

# NPMI of a phrase, and documents that must have it (`python -m benchmarks.phrases`; 20 Newsgroups)
LEAST_NPMI, LEAST_DOCUMENTS = 0.5, 10


def checked_phrases(phrases: Any, ngrams: tuple[int, int]) -> float | tuple[str, ...]:
    """Return phrases, sorted, or the score from which on pairs are some."""
    if phrases is False or (isinstance(phrases, tuple | list) and not phrases):
        return ()
    if ngrams != (1, 1):
        raise InputError("are pairs that are scored, ngrams all of them; leave one out.", "phrases")
    if phrases is True:
        return LEAST_NPMI
    if isinstance(phrases, int | float | np.number):
        return number("phrases", phrases, -1.0, 1.0)
    words = checked_words("phrases", phrases, "True, a score from -1 to 1, or phrases")
    for phrase in words:
        if len(phrase.split(" ")) != 2 or not all(phrase.split(" ")):
            raise InputError(f"must be pairs of words, but one is {phrase!r:.80}.", "phrases")
    return words


def chosen(
    words: Sequence[str], document_frequency: NDArray[Any], total: NDArray[Any], least: Any
) -> tuple[str, ...]:
    """Return the phrases among words and pairs of words, by how often each occurs."""
    number_of = dict(zip(words, total.tolist(), strict=True))
    pairs = [
        (word, *word.split(" "))
        for word, df in zip(words, document_frequency.tolist(), strict=True)
        if df >= LEAST_DOCUMENTS and word.count(" ") == 1
    ]
    n_tokens = sum(n for word, n in number_of.items() if " " not in word)
    together = np.array([number_of[pair] for pair, _, _ in pairs]) / max(n_tokens, 1.0)
    alone = [[number_of.get(one, 0.0) for one in row[1:]] for row in pairs]
    product = np.prod(np.array(alone).reshape(-1, 2) / max(n_tokens, 1.0), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / product) / -np.log(together)
    return tuple(sorted(pairs[i][0] for i in np.flatnonzero(npmi >= least)))


def join(
    codes: NDArray[np.int32], ends: NDArray[np.int64], keys: NDArray[np.int64], n_words: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return codes with phrases instead of their words, from the left; -1 is left out.

    Phrase i has the code ``n_words + i``; the key of words a and b is ``a n_words + b``. Keys rise.
    """
    kept = codes >= 0
    ends = np.concatenate(([0], np.cumsum(kept)))[ends]
    codes = codes[kept]
    if len(codes) < 2 or not len(keys):
        return codes, ends
    pair = codes[:-1].astype(np.int64) * n_words + codes[1:]
    which = np.minimum(np.searchsorted(keys, pair), len(keys) - 1)
    found = keys[which] == pair
    inner = ends[(ends > 0) & (ends < len(codes))]
    found[inner - 1] = False  # of two texts
    # of phrases that overlap every other one is taken, from the first on
    place = np.arange(len(found))
    begins = found & ~np.concatenate(([False], found[:-1]))
    first = np.maximum.accumulate(np.where(begins, place, 0))
    taken = np.flatnonzero(found & ((place - first) % 2 == 0))
    codes[taken] = n_words + which[taken]
    stays = np.ones(len(codes), bool)
    stays[taken + 1] = False
    return codes[stays], np.concatenate(([0], np.cumsum(stays)))[ends]


def keys_of(phrases: Any, words: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the phrases whose words are known, and their keys, which rise."""
    code_of = {word: code for code, word in enumerate(words)}
    known = {}
    for phrase in phrases:
        first, second = (code_of.get(part) for part in phrase.split(" "))
        if first is not None and second is not None:
            known[first * len(words) + second] = phrase
    keys = sorted(known)
    return [known[key] for key in keys], np.array(keys, np.int64)
