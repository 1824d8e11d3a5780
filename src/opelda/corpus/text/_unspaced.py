"""Scripts without spaces between words: Chinese, Japanese, Thai, Lao, Khmer and Burmese.

Their words are found by ICU's dictionaries, by way of the package `icu4py`, the extra
``opelda[segmentation]``; without it the native scanner makes pairs of neighbouring characters.
"""

import logging
import re
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from opelda import _text
from opelda._validation import choice
from opelda.corpus._forks import contains
from opelda.corpus.text._patterns import unicode_words
from opelda.errors import InputError

if TYPE_CHECKING:
    import polars as pl

AUTO, WORDS, PAIRS = "auto", "words", "pairs"
INSTALL = "pip install 'opelda[segmentation]'"
LEAST_SHARE = 0.01  # of the texts, for which a package is worth its while


def checked_unspaced(unspaced: Any) -> str | None:
    """Return one of the ways, or None."""
    return None if unspaced is None else choice("unspaced", unspaced, (AUTO, WORDS, PAIRS))


def found_unspaced(sample: "pl.Series") -> str:
    """Return how such texts are cut, by what is in a sample and what is installed."""
    n_texts = int(contains(sample, _expression().pattern).sum())
    if not n_texts or n_texts < LEAST_SHARE * len(sample):
        return PAIRS
    if find_spec("icu4py") is not None:
        return WORDS
    _say_pairs()
    return PAIRS


@cache
def _say_pairs() -> None:
    logging.getLogger("opelda").warning(
        "Chinese, Japanese or Thai text is cut into pairs of characters; %s for words.", INSTALL
    )


def with_spaces(texts: "pl.Series") -> "pl.Series":
    """Return texts with spaces between the words of those scripts."""
    import polars as pl

    expression = _expression()
    has = contains(texts, expression.pattern)
    if not has.any():
        return texts
    breaker = _breaker()

    def spaced(run: re.Match[str]) -> str:
        return f" {' '.join(breaker(run[0], 'en'))} "

    cut = [expression.sub(spaced, text) for text in texts.filter(has)]
    return texts.scatter(has.arg_true(), pl.Series(cut, dtype=pl.String))


@cache
def _expression() -> re.Pattern[str]:
    """Return what finds runs of such characters, spelled for Python and for Rust."""
    members = (unicode_words() & _text.UNSPACED) != 0
    edges = np.flatnonzero(np.diff(members, prepend=False, append=False)).reshape(-1, 2)
    ranges = "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in edges.tolist())
    return re.compile(f"[{ranges}]+")


def _breaker() -> Any:
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise InputError(
            "Chinese, Japanese or Thai texts were cut into the model's words by a package that is "
            f"not here: {INSTALL}."
        ) from None
    return WordBreaker
