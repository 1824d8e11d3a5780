"""Languages: stop words, finding out which one texts are in, and Snowball stems."""

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from opelda.corpus._matrix import Counted
from opelda.corpus._word_columns import encodable
from opelda.errors import DataWarning, InputError, warn

FREQUENT: dict[str, list[str]] = {}  # the words of languages, by their English names
for _line in Path(__file__).with_name("function_words.txt").read_text("utf-8").splitlines():
    if not _line.startswith("#"):
        _name, _words = _line.split(": ")
        FREQUENT.setdefault(_name, []).extend(_words.split())
# with both apostrophes: "don't" and "don\u2019t"
ENGLISH_WORDS = tuple(
    sorted({w for word in FREQUENT.pop("English") for w in (word, word.replace("'", "\u2019"))})
)
AUTO = "auto"
ENGLISH = "en"
SKLEARN = "sklearn"  # the English list of models saved before opelda had its own
INSTALL = "pip install 'opelda[languages]'"
# Snowball algorithms by ISO 639-1 codes
_STEMMERS = """
ar:arabic ca:catalan cs:czech da:danish de:german el:greek en:english eo:esperanto es:spanish
et:estonian eu:basque fa:persian fi:finnish fr:french ga:irish hi:hindi hu:hungarian hy:armenian
id:indonesian it:italian lt:lithuanian nb:norwegian ne:nepali nl:dutch no:norwegian pl:polish
pt:portuguese ro:romanian ru:russian sr:serbian st:sesotho sv:swedish ta:tamil tr:turkish yi:yiddish
"""
STEMMERS = dict(pair.split(":") for pair in _STEMMERS.split())
ONE_AT_A_TIME = Lock()  # a stemmer keeps the word that it works on


def checked_stop_words(stop_words: Any) -> str | tuple[str, ...] | None:
    """Return a language's code, "auto", or a sorted tuple of words."""
    if stop_words is None:
        return None
    if not isinstance(stop_words, str):
        return checked_words("stop_words", stop_words, "None, 'auto', a language or words")
    wanted = stop_words.strip().lower()
    if stop_words == AUTO or wanted in (ENGLISH, SKLEARN, "english"):
        return ENGLISH if wanted == "english" else wanted
    known = languages()
    codes = {name: code for code, name in known.items()} | {code: code for code in known}
    codes.setdefault("no", codes.get("norwegian", "no"))
    # without the lists a code is believed until they are needed: models that have one must load
    if wanted in codes or (len(known) == 1 and len(wanted) == 2):
        return codes.get(wanted, wanted)
    more = "" if len(known) > 1 else f" (or {INSTALL} for more)"
    raise InputError(
        f"must be a language with a list, got {stop_words!r:.80}; pass one of "
        f"{', '.join(sorted(known))}{more}, or a list of words.",
        "stop_words",
    )


def checked_words(name: str, given: Any, kinds: str = "words") -> tuple[str, ...]:
    """Return words as a sorted tuple."""
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise InputError(f"must be {kinds}, got {given!r:.80}.", name)
    words = set()
    for word in given:
        if not isinstance(word, str) or not encodable(word):
            raise InputError(f"must be words, but one is {word!r:.80}.", name)
        words.add(str(word))
    return tuple(sorted(words))


def stop_words_from(path: str | Path) -> tuple[str, ...]:
    """Return the words of a file in UTF-8 that has a word a line, for `Tokenizer(stop_words=...)`.

    White space around words, and empty lines, do not count.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     print("the", "and", sep="\\n", file=file, flush=True)
    ...     stop_words_from(file.name)
    ('and', 'the')
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path} is not valid UTF-8 (at byte {error.start}); save the stop words in UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"The stop words in {path} cannot be read ({reason}).") from None
    return tuple(sorted({line.strip() for line in lines} - {""}))


@cache
def languages() -> dict[str, str]:
    """Return the names of the languages that have a list of stop words, by their codes."""
    try:
        return dict(_package("stop_words").LANGUAGE_MAPPING)
    except InputError:
        return {ENGLISH: "english"}


@cache
def listed(code: str) -> tuple[str, ...]:
    """Return a language's list of stop words."""
    if code == ENGLISH:
        return ENGLISH_WORDS
    if code == SKLEARN:  # imported only now, as it takes a second
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    words = _package("stop_words").get_stop_words(code)
    # without entries of several words: each word alone may be rare
    return tuple(sorted(word for word in words if not word.split()[1:]))


def detected(sample: Counted, removed: Callable[[str], list[str]]) -> str | None:
    """Return the code of the language whose `removed` words cover most of the sample, or None.

    Warn if the texts seem to be in a language whose list is not installed.
    """
    totals = sample.counts.sum(axis=0)
    number_of = dict(zip(sample.words, totals.tolist(), strict=True))

    def share(words: list[str]) -> float:
        return float(sum(number_of.get(word, 0.0) for word in words) / max(totals.sum(), 1.0))

    shares = {code: share(removed(code)) for code in languages()}
    best = max(shares, key=shares.__getitem__)
    if len(shares) == 1:
        others = {name: share(words) for name, words in FREQUENT.items()}
        name = max(others, key=others.__getitem__)
        if others[name] > max(shares[best], 0.05):
            text = f"The texts seem to be {name}, whose stop words are not installed and stay in"
            warn(f"{text}: {INSTALL}.", DataWarning)
            return None
    # of the words: headlines have a little more, running text four times that
    return best if shares[best] > 0.1 else None


def checked_stem(stem: Any) -> str | None:
    """Return the name of a Snowball algorithm there is."""
    if stem is None:
        return None
    try:
        names = sorted(_package("snowballstemmer").algorithms())
    except InputError:
        names = sorted(set(STEMMERS.values()))
    if isinstance(stem, str) and (name := STEMMERS.get(stem.lower(), stem.lower())) in names:
        return name
    raise InputError(
        f"must be None or the name of a language, one of {', '.join(names)}; got {stem!r:.80}.",
        "stem",
    )


def stems(words: list[str], algorithm: str) -> list[str]:
    """Return each word's stem; the word itself where the stem would be empty."""
    return [_stem(word, algorithm) for word in words]


# stemming in Python is slow, and words recur in every block; a few tens of megabytes
@lru_cache(maxsize=250_000)
def _stem(word: str, algorithm: str) -> str:
    with ONE_AT_A_TIME:
        return _stemmer(algorithm)(word) or word


@cache
def _stemmer(algorithm: str) -> Any:
    return _package("snowballstemmer").stemmer(algorithm).stemWord


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"Stems, and stop words of other languages than English, need more packages: {INSTALL}."
        ) from None
