"""Every code point is classed as the library says that is named in the documentation."""

import re
import unicodedata

import polars as pl
import pytest

from opelda._text import LETTER, WORD
from opelda.corpus.text import _splitters

POINTS = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
CHARACTERS = [chr(point) for point in POINTS]


def members(classes, bit):
    return ((classes[POINTS] & bit) != 0).tolist()


def test_words_of_unicode():
    classes = _splitters.unicode_words()
    series = pl.Series(CHARACTERS)
    assert members(classes, WORD) == series.str.contains(r"\w").to_list()
    assert members(classes, LETTER) == series.str.contains(r"\p{L}").to_list()


def test_words_of_python():
    classes = _splitters.python_words(r"\w+")
    expected = [character.isalnum() or character == "_" for character in CHARACTERS]
    assert members(classes, WORD) == expected
    assert expected == [re.fullmatch(r"\w", character) is not None for character in CHARACTERS]


def test_white_space_of_python():
    classes = _splitters.python_words(r"\s+", False)
    assert members(classes, WORD) == [bool(character.split()) for character in CHARACTERS]


@pytest.mark.parametrize("around", ["{}", "aΣ{}", "aΣ{}b", "{}Σ", "a{}Σ"])
def test_lower_case_differs_only_for_characters_that_python_does_not_know(around):
    texts = [around.format(character) for character in CHARACTERS]
    lowered = pl.Series(texts).str.to_lowercase().to_list()
    differ = [
        character
        for character, text, lower in zip(CHARACTERS, texts, lowered, strict=True)
        if text.lower() != lower
    ]
    # or that polars does not know, should Python's Unicode be the newer one: none of them is old
    assert all(unicodedata.ucd_3_2_0.category(character) == "Cn" for character in differ)
    assert len(differ) < 1000
