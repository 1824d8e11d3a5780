"""The language of texts, by their most common words."""

from collections.abc import Callable

from opelda.corpus._counting import Counted
from opelda.corpus.text._stop_words import languages

LEAST_SHARE = 0.1  # of the words; headlines have a little more, running text four times that


def detected(sample: Counted, removed: Callable[[str], list[str]]) -> str | None:
    """Return the code of the language whose stop words cover most of the sample, or None.

    `removed` returns the words that a language's list leaves out.
    """
    totals = sample.counts.sum(axis=0)
    number_of = dict(zip(sample.words, totals.tolist(), strict=True))
    shares = {
        code: sum(number_of.get(word, 0.0) for word in removed(code)) / max(totals.sum(), 1.0)
        for code in languages()
    }
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] > LEAST_SHARE else None
