"""Every code point has the class that the documented library gives."""

import re
import unicodedata

import polars as pl
import pytest

from opelda._text import LETTER, WORD
from opelda.corpus.text import _splitters

POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
CHARACTERS = [chr(point) for point in POINTS]
# without planes 2 to 13, 15 and 16: ideographs, private use and no characters, which have no case
WITH_CASE = [chr(point) for point in POINTS if point >> 16 in (0, 1, 14)]


def members(classes, bit):
    return ((classes[POINTS] & bit) != 0).tolist()


def test_word_characters_match_the_regex_engine():
    classes = _splitters.unicode_words()
    series = pl.Series(CHARACTERS)
    assert members(classes, WORD) == series.str.contains(r"\w").to_list()
    assert members(classes, LETTER) == series.str.contains(r"\p{L}").to_list()


def test_word_characters_match_python():
    classes = _splitters.python_words(r"\w+")
    expected = [character.isalnum() or character == "_" for character in CHARACTERS]
    assert members(classes, WORD) == expected
    assert expected == [re.fullmatch(r"\w", character) is not None for character in CHARACTERS]


def test_whitespace_matches_python():
    classes = _splitters.python_words(r"\s+", False)
    assert members(classes, WORD) == [bool(character.split()) for character in CHARACTERS]


@pytest.mark.parametrize("around", ["{}", "aΣ{}", "aΣ{}b", "{}Σ", "a{}Σ"])
def test_lower_case_matches_python_for_characters_it_knows(around):
    characters = CHARACTERS if around == "{}" else WITH_CASE
    texts = [around.format(character) for character in characters]
    lowered = pl.Series(texts).str.to_lowercase().to_list()
    differ = [
        character
        for character, text, lower in zip(characters, texts, lowered, strict=True)
        if text.lower() != lower
    ]
    # or characters that polars does not know, if Python's Unicode is newer; all are recent
    assert all(unicodedata.ucd_3_2_0.category(character) == "Cn" for character in differ)
    assert len(differ) < 1000
