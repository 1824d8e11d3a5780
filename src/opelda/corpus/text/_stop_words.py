"""Words too common to say what a text is about."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from opelda.corpus._packing import encodable
from opelda.errors import InputError

AUTO = "auto"
ENGLISH = "en"


def checked_stop_words(stop_words: Any) -> str | tuple[str, ...] | None:
    """Return a language's code, "auto", or a sorted tuple of words."""
    if stop_words is None:
        return None
    if isinstance(stop_words, str):
        return AUTO if stop_words == AUTO else _code(stop_words)
    if isinstance(stop_words, bytes) or not isinstance(stop_words, Iterable):
        raise InputError(
            f"must be None, 'auto', a language or words, got {stop_words!r:.80}.", "stop_words"
        )
    words = set()
    for word in stop_words:
        if not isinstance(word, str) or not encodable(word):
            raise InputError(f"must be words, but one of them is {word!r:.80}.", "stop_words")
        words.add(str(word))
    return tuple(sorted(words))


def stop_words_from(path: str | Path) -> tuple[str, ...]:
    """Return the words of a file in UTF-8 that has a word a line, for `Tokenizer(stop_words=...)`.

    White space around the words does not count; empty lines are passed over.

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
            f"{path} is not UTF-8 (at byte {error.start}); save the stop words in that encoding."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"The stop words in {path} cannot be read ({reason}).") from None
    return tuple(sorted({line.strip() for line in lines} - {""}))


def languages() -> dict[str, str]:
    """Return the names of the languages that have a list, by their codes."""
    import stop_words  # type: ignore[import-untyped]

    return dict(stop_words.LANGUAGE_MAPPING)


@cache
def listed(code: str) -> tuple[str, ...]:
    """Return a language's list.

    English has scikit-learn's: longer lists drop words such as computer, state and world. Entries
    of several words are passed over: being common together does not make each of them common.
    """
    if code == ENGLISH:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return tuple(sorted(ENGLISH_STOP_WORDS))
    import stop_words

    return tuple(sorted(word for word in stop_words.get_stop_words(code) if not word.split()[1:]))


def _code(name: str) -> str:
    wanted = name.strip().lower()
    if wanted in (ENGLISH, "english"):
        return ENGLISH
    known = languages()
    codes = {name: code for code, name in known.items()} | {code: code for code in known}
    codes.setdefault("no", codes.get("norwegian", "no"))
    if wanted not in codes:
        raise InputError(
            f"must be a language that has a list, got {name!r:.80}; "
            f"give one of {', '.join(sorted(known))}, or the words themselves.",
            "stop_words",
        )
    return codes[wanted]
