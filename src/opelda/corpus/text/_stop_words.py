"""Stop words as they come out of texts."""

from functools import lru_cache
from typing import Any

from opelda.corpus.text._languages import ENGLISH, SKLEARN, listed
from opelda.corpus.text._patterns import cutter, is_count_vectorizers
from opelda.corpus.text._texts import as_texts
from opelda.corpus.text._unspaced import PAIRS, WORDS
from opelda.corpus.text._word_counting import count


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
