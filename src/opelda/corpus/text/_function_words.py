"""Function words: all of English, and the most frequent of other languages to recognise these by.

No word of the English list has a content of its own, so that "won" (of "won't"), "haven", "mine"
and "need" are not among them.
"""

from pathlib import Path

_CONTRACTED = "i you he she it we they there here that who what how where"
_NEGATED = "is are was were do does did has had could would should must might need ought ai ca sha"

FREQUENT: dict[str, list[str]] = {}  # the words of languages, by their English names
for _line in Path(__file__).with_name("function_words.txt").read_text("utf-8").splitlines():
    if not _line.startswith("#"):
        _name, _words = _line.split(": ")
        FREQUENT.setdefault(_name, []).extend(_words.split())


def _english() -> frozenset[str]:
    ends = ("m", "re", "s", "ve", "ll", "d")
    shortened = [f"{word}'{end}" for word in _CONTRACTED.split() for end in ends]
    negated = [f"{word}n't" for word in _NEGATED.split()]
    contracted = [*shortened, *negated, "y'all", "let's"]
    curly = [word.replace("'", "\u2019") for word in contracted]
    return frozenset([*FREQUENT.pop("English"), *contracted, *curly])


ENGLISH = _english()
