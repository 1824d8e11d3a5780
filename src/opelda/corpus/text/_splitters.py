"""What cuts texts into words: runs of characters, a regular expression, ICU, or a function."""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opelda import _text
from opelda.corpus._forks import contains, evaluate
from opelda.corpus._word_columns import encodable
from opelda.errors import InputError

if TYPE_CHECKING:  # polars is imported on first use: commands without texts start faster
    import polars as pl

COUNT_VECTORIZER = r"(?u)\b\w\w+\b"
WHITESPACE = "whitespace"
AUTO, WORDS, PAIRS = "auto", "words", "pairs"  # values of `Tokenizer.unspaced`
# of scripts without spaces between words; the prolonged sound marks are of no script
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\u30fc\uff70\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
INSTALL = "pip install 'opelda[segmentation]'"
ONE_AT_A_TIME = Lock()  # blocks are counted by several threads, which a function may not expect
# the planes that have characters, without private use
ASSIGNED = (range(0x40000), range(0xE0000, 0xE1000))

Split = Callable[[str], Sequence[str]]


def is_count_vectorizers(pattern: str | None) -> bool:
    """Whether the pattern is CountVectorizer's, with or without its flag."""
    return pattern in (COUNT_VECTORIZER, COUNT_VECTORIZER.removeprefix("(?u)"))


def scanned_runs(pattern: str | None, *, pairs: bool = False) -> dict[str, Any] | None:
    """Return the scanner's arguments for a pattern of runs of characters; None for any other."""
    if pattern is None:
        return {"classes": unicode_words(), "least": 2, "need_letter": True, "pairs": pairs}
    if is_count_vectorizers(pattern):
        return {"classes": python_words(r"\w+"), "least": 2, "need_letter": False}
    if pattern == WHITESPACE:  # everything that str.split() does not split at
        return {"classes": python_words(r"\s+", False), "least": 1, "need_letter": False}
    return None


def coded(
    texts: "pl.Series",
    table: _text.WordTable,
    pattern: str | None,
    split: Split | None,
    *,
    pairs: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the codes of all texts' words, and the number of words up to each text's end."""
    if split is not None:
        with ONE_AT_A_TIME:
            cut = [_split_words(text, split) for text in texts]
        ends = np.cumsum([0, *map(len, cut)], dtype=np.int64)
        return table.add([word for words in cut for word in words]), ends
    runs = scanned_runs(pattern, pairs=pairs)
    if runs is not None:
        return table.scan(texts.__arrow_c_stream__(None), **runs)
    found = evaluate(texts, lambda text: text.str.extract_all(pattern or ""))
    lengths = found.list.len().to_numpy()
    codes = table.code(found.explode().drop_nulls().__arrow_c_stream__(None))
    return codes, np.cumsum([0, *lengths], dtype=np.int64)


def _split_words(text: str, split: Split) -> Sequence[str]:
    words = split(text)
    if isinstance(words, str | bytes) or not isinstance(words, Sequence):
        raise InputError(f"must return a list of words, but returned {words!r:.80}.", "split")
    for word in words:
        if not isinstance(word, str) or not encodable(word):
            raise InputError(f"must return words, but returned {word!r:.80}.", "split")
    return words


def checked_pattern(pattern: Any) -> str | None:
    """Return a pattern that can be used."""
    if pattern is None:
        return None
    if not isinstance(pattern, str) or not encodable(pattern):
        raise InputError(f"must be a regular expression or None, got {pattern!r:.80}.", "pattern")
    if len(pattern) > 10_000:
        raise InputError(f"has {len(pattern)} characters; use at most 10000 characters.", "pattern")
    if pattern == WHITESPACE or is_count_vectorizers(pattern):
        return pattern
    import polars as pl

    shown = f"{pattern!r:.80}"
    # a pattern that can match the empty text does so in one of these
    probes = pl.Series(["", "a", " ", "Ab 1_-\té。\n."])
    try:
        groups = pl.Series([""]).str.extract_groups(pattern).struct.fields
        found = evaluate(probes, lambda text: text.str.extract_all(pattern)).explode()
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("error: ").rstrip(".")
        raise InputError(f"{shown} cannot be used: {reason:.200}.", "pattern") from None
    if groups:
        raise InputError(
            f"{shown} has a capturing group; write (?:...) instead of (...).", "pattern"
        )
    if (found == "").any():
        raise InputError(f"{shown} matches the empty string; write + instead of *.", "pattern")
    return pattern


def _characters(points: range) -> str:
    numbers = np.arange(points.start, points.stop, dtype="<u4")
    numbers[(numbers >= 0xD800) & (numbers < 0xE000)] = 0  # surrogates are no characters
    return numbers.tobytes().decode("utf-32-le")


@cache
def unicode_words() -> NDArray[np.uint8]:
    r"""Return the word characters of Rust: letters, marks, digits, connectors, joiners."""
    import polars as pl

    classes = np.zeros(0x110000, np.uint8)
    kinds = ((_text.WORD, r"\w"), (_text.LETTER, r"\p{L}"), (_text.UNSPACED, UNSPACED))
    for points in ASSIGNED:
        characters = pl.Series(list(_characters(points)))
        for bit, kind in kinds:
            found = contains(characters, kind).to_numpy()
            classes[points.start : points.stop] |= found * np.uint8(bit)
    classes[(classes & _text.WORD) == 0] = 0
    return classes


@cache
def python_words(pattern: str, found: bool = True) -> NDArray[np.uint8]:
    """Return the characters that Python finds by a pattern as word characters, or all others."""
    classes = np.full(0x110000, 0 if found else _text.WORD, np.uint8)
    for points in ASSIGNED:
        for run in re.finditer(pattern, _characters(points)):
            span = slice(points.start + run.start(), points.start + run.end())
            classes[span] = _text.WORD if found else 0
    return classes


def found_unspaced(sample: "pl.Series") -> str:
    """Return how texts like a sample are cut with the installed packages."""
    n_texts = int(contains(sample, unspaced_runs().pattern).sum())
    if not n_texts or n_texts < 0.01 * len(sample):  # fewer are not worth the package's time
        return PAIRS
    if find_spec("icu4py") is not None:
        return WORDS
    _say_pairs()
    return PAIRS


@cache
def _say_pairs() -> None:
    logging.getLogger("opelda").warning(
        "Chinese, Japanese or Thai text is split into pairs of characters; run %s to split it "
        "into words.",
        INSTALL,
    )


def with_spaces(texts: "pl.Series") -> "pl.Series":
    """Return texts with spaces between ICU's words of scripts without spaces."""
    import polars as pl

    runs = unspaced_runs()
    has = contains(texts, runs.pattern)
    if not has.any():
        return texts
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise InputError(
            "Chinese, Japanese or Thai texts were split into the model's words by a missing "
            f"package; run {INSTALL}."
        ) from None

    def spaced(run: re.Match[str]) -> str:
        return f" {' '.join(WordBreaker(run[0], 'en'))} "

    cut = [runs.sub(spaced, text) for text in texts.filter(has)]
    return texts.scatter(has.arg_true(), pl.Series(cut, dtype=pl.String))


@cache
def unspaced_runs() -> re.Pattern[str]:
    """Return what finds runs of characters of scripts without spaces, for Python and for Rust."""
    members = (unicode_words() & _text.UNSPACED) != 0
    edges = np.flatnonzero(np.diff(members, prepend=False, append=False)).reshape(-1, 2)
    ranges = "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in edges.tolist())
    return re.compile(f"[{ranges}]+")


@dataclass(frozen=True)
class Forgotten:
    """Stands for a function, which a file cannot hold."""

    name: str

    def __call__(self, text: str) -> Sequence[str]:
        raise InputError(
            f"Texts were split into the model's words by your function {self.name}, which is "
            "not in the file; pass it with opelda.load(path, split=...), or pass counts."
        )


def checked_split(split: Any, pattern: Any) -> Split | None:
    """Return a function, or None."""
    if split is None:
        return None
    if not callable(split):
        raise InputError(
            f"must be None or a function that splits a text into words, got {split!r:.80}.", "split"
        )
    if pattern is not None:
        raise InputError(
            "and pattern are mutually exclusive; remove one of the parameters.", "split"
        )
    return split  # type: ignore[no-any-return]


def name_of(split: Split) -> str:
    """Return a function's name."""
    if isinstance(split, Forgotten):
        return split.name
    own = split if hasattr(split, "__qualname__") else type(split)
    return f"{own.__module__}.{own.__qualname__}"
