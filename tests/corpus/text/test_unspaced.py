"""Scripts without spaces: pairs of characters, or words of an optional library."""

import logging
import unicodedata
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda.corpus import Tokenizer, Vocabulary, read
from opelda.corpus.text import COUNT_VECTORIZER, _splitters
from opelda.errors import InputError
from tests.cases import cases

PAIRS = Tokenizer(stop_words=None, unspaced="pairs", keep_markup=True)
WORDS = Tokenizer(stop_words=None, unspaced="words", keep_markup=True)
CHINESE = ["我们在北京大学学习计算机科学", "北京大学的科学", "hello 世界"] * 4


def words(text, tokenizer=PAIRS):
    found = tokenizer.count([text])
    return dict(zip(found.words, found.counts.toarray()[0].tolist(), strict=True))


@cases(
    ("text", "expected"),
    [
        ("北京大学", ["北京", "京大", "大学"]),
        ("北京", ["北京"]),
        ("北", []),
        ("abc北京x2y水z", ["abc", "北京", "x2y"]),
        ("東京タワーで", ["東京", "京タ", "タワ", "ワー", "ーで"]),
        ("ที่นี่ ก", ["ที่นี่"]),  # marks are kept with their letters
        ("ที่นี่ดี", ["ที่นี่", "นี่ดี"]),
        ("北-京, 大", []),
        ("한국어 대학교", ["한국어", "대학교"]),  # has spaces
        ("𠀀𠀁𠀂", ["𠀀𠀁", "𠀁𠀂"]),
        ("文文文", {"文文": 2}),
    ],
)
def test_unspaced_text_is_split_into_pairs(text, expected):
    assert words(text) == (expected if isinstance(expected, dict) else dict.fromkeys(expected, 1))


def reference(text):
    """Return pairs, letter by letter."""
    scripts = ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI")
    is_mark = {c: unicodedata.category(c) == "Mn" for c in text}
    found = []
    for run in "".join(c if c.isalpha() or is_mark[c] else " " for c in text).split():
        parts = []  # whether a part is unspaced, and its letters with their marks
        for c in run:
            unspaced = unicodedata.name(c).startswith(scripts) and not is_mark[c]
            if is_mark[c] and parts:
                parts[-1][1][-1] += c
            elif parts and parts[-1][0] == unspaced:
                parts[-1][1].append(c)
            else:
                parts.append((unspaced, [c]))
        for unspaced, letters in parts:
            whole = "".join(letters)
            if unspaced and len(letters) > 1:
                found += map("".join, pairwise(letters))
            elif len(whole) > 1 and any(c.isalpha() for c in whole):
                found.append(whole)
    return found


@given(st.text("漢字かなガไทยที่é Abc-한"))
def test_pairs_match_the_reference(text):
    found = reference(text.lower())
    assert words(text) == {word: found.count(word) for word in found}
    vocabulary = Vocabulary(sorted(set(found)) or ["none"], tokenizer=PAIRS)
    for _ in range(2):  # the second call uses a table
        assert vocabulary.count([text]).sum() == len(found)


@given(st.text("漢字かなガไทยé Abc"), st.sampled_from([None, "[a-z]+", COUNT_VECTORIZER]))
def test_user_defined_patterns_are_not_split(text, pattern):
    plain = Tokenizer(pattern=pattern, stop_words=None, unspaced=None)
    if pattern is not None:
        assert words(text, Tokenizer(pattern=pattern, stop_words=None)) == words(text, plain)
    spaced = "".join(c for c in text if c.isascii() or c == "é")
    assert words(spaced) == words(spaced, Tokenizer(stop_words=None, unspaced=None))


def test_library_segments_words():
    pytest.importorskip("icu4py")
    assert words("我们在北京大学学习", WORDS) == dict.fromkeys(["我们", "北京", "大学", "学习"], 1)
    assert "ประเทศ" in words("ประเทศที่สวยงาม", WORDS)
    assert words("plain words, abc北京x", WORDS) == dict.fromkeys(
        ["plain", "words", "abc", "北京"], 1
    )
    many = WORDS.count([*CHINESE, *["English text"] * 100])
    assert many.counts[: len(CHINESE)].sum() == WORDS.count(CHINESE).counts.sum()
    corpus = read(CHINESE)
    assert corpus.vocabulary.tokenizer.unspaced == "words"
    assert "北京" in corpus.words
    assert "京大" not in corpus.words


@pytest.fixture
def without_library(monkeypatch):
    """Hide the segmentation library."""
    monkeypatch.setitem(__import__("sys").modules, "icu4py", None)
    monkeypatch.setitem(__import__("sys").modules, "icu4py.breakers", None)
    monkeypatch.setattr(_splitters, "find_spec", lambda name: None)
    _splitters._say_pairs.cache_clear()


@pytest.mark.usefixtures("without_library")
def test_missing_library_is_logged_once(caplog):
    with caplog.at_level(logging.WARNING, "opelda"):
        corpus = read(CHINESE)
        read(CHINESE)
    assert [r.getMessage() for r in caplog.records if "pairs of characters" in r.getMessage()] == [
        "Chinese, Japanese or Thai text is split into pairs of characters; "
        "run pip install 'opelda[segmentation]' to split it into words."
    ]
    assert corpus.vocabulary.tokenizer.unspaced == "pairs"
    assert {"北京", "京大", "大学"} <= set(corpus.words)


@pytest.mark.usefixtures("without_library")
def test_model_that_needs_the_missing_library_raises(tmp_path):
    vocabulary = Vocabulary(["北京", "大学", "hello"], tokenizer=WORDS)
    model = opelda.OnlineOPE(2, random_state=0).fit([["北京"], ["大学"]] * 5, vocabulary=vocabulary)
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert loaded.transform(["hello"]).shape == (1, 2)  # which needs no segmentation
    with pytest.raises(
        InputError, match=r"missing package; run pip install 'opelda\[segmentation\]'"
    ):
        loaded.transform(["北京大学"])


def test_first_texts_choose_the_segmentation():
    rare = [*["English words"] * 500, "北京大学"]
    assert read(rare, max_df=1.0).vocabulary.tokenizer.unspaced == "pairs"
    growing = Vocabulary(growing=True)
    growing.learn(["English words"] * 3)
    growing.learn(["北京大学"])
    assert growing.tokenizer.unspaced == "pairs"
    assert "京大" in growing
    settings = PAIRS.to_dict()
    del settings["unspaced"]
    assert words("北京大学", Tokenizer.from_dict(settings)) == {"北京大学": 1}  # like older models


def test_unspaced_scripts_match_the_scanner():
    expression = _splitters.unspaced_runs().pattern
    found = pl.Series(["北", "ー", "ก", "a", "한", "1", "。", "々"]).str.contains(expression)
    assert found.to_list() == [True, True, True, False, False, False, False, True]
