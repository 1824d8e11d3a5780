"""Frequent words that look like mark-up, named in one line."""

from typing import Any, ClassVar

from opelda.cli._options import Show
from opelda.cli._standard_streams import note

_WORDS = """
accessdate amp apos bgcolor br cellpadding cellspacing colspan div eacute gif gt hellip
href htm http https img jpeg jpg ldquo lsquo lt m3u8 mdash mp4 nbsp ndash nofollow
nowrap php png px quot rdquo rowspan rsquo rt span src svg tbody td tr twimg u2019 utm
valign wikitable www x200b xmlns
"""
WORDS = frozenset(_WORDS.split())
# These are words or abbreviations, too: dividend, for one, is "div" in the news.
AMBIGUOUS = {"amp", "br", "div", "gif", "gt", "lt", "php", "px", "rt", "span", "src", "td", "tr"}
LEAST_SHARE, LEAST = 0.01, 3  # of the documents
ENOUGH = 1_000  # documents of a stream


def name_debris(words: Any, document_frequency: Any, n_docs: int, show: Show) -> None:
    """Name the words that are in many documents and look like mark-up, the most frequent first.

    A word that is not always mark-up is named where there are others beside it.
    """
    enough = max(LEAST, LEAST_SHARE * n_docs)
    pairs = zip(words, document_frequency, strict=True)
    found = {word: n for word, n in pairs if word in WORDS and n >= enough}
    if len(found) > 1 or found.keys() - AMBIGUOUS:
        named = ", ".join(sorted(found, key=lambda word: (-found[word], word)))
        note(show, f"these look like mark-up: {named}; leave them out with --stop-words +FILE.")


class Debris:
    """A callback that names them once, when a stream has given enough documents."""

    needs_gap: ClassVar[bool] = False

    def __init__(self, show: Show) -> None:
        self._show, self._done = show, False

    def __call__(self, report: Any) -> None:
        """Name them if it is time."""
        words = report.model._state.vocabulary
        if self._done or words is None or words.n_docs < ENOUGH:
            return
        self._done = True
        name_debris(words, words.document_frequency, words.n_docs, self._show)
