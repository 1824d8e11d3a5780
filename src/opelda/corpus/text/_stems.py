"""Stems of words, by the Snowball algorithms."""

from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

from opelda.errors import InputError

# by ISO 639-1 codes; all other names are those of the algorithms
CODES = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "eo": "esperanto",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
# Stemming in Python is slow, and words come again in every block; a few tens of megabytes at most.
REMEMBERED = 250_000
ONE_AT_A_TIME = Lock()  # a stemmer keeps the word it works on


def checked_stem(stem: Any) -> str | None:
    """Return the name of an algorithm there is."""
    if stem is None:
        return None
    import snowballstemmer  # type: ignore[import-untyped]

    names = snowballstemmer.algorithms()
    if isinstance(stem, str) and (name := CODES.get(stem.lower(), stem.lower())) in names:
        return name
    raise InputError(
        f"must be None or the name of a language, one of {', '.join(sorted(names))}; "
        f"got {stem!r:.80}.",
        "stem",
    )


def stems(words: list[str], algorithm: str) -> list[str]:
    """Return each word's stem; a word of which nothing would be left is its own."""
    stemmed, known = _stemmer(algorithm)
    found = []
    with ONE_AT_A_TIME:
        for word in words:
            stem = known.get(word)
            if stem is None:
                stem = stemmed(word) or word
                if len(known) >= REMEMBERED:
                    known.clear()
                known[word] = stem
            found.append(stem)
    return found


@cache
def _stemmer(algorithm: str) -> tuple[Callable[[str], str], dict[str, str]]:
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm).stemWord, {}
