"""Stems merge words, after stop words are left out and before pairs are made."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
import snowballstemmer

from opelda.corpus.text import Tokenizer, _languages

TEXTS = ["Connected connections connect the cats", "the cat connecting cats", ""]


@pytest.mark.parametrize("name", ["english", "en", "german", "fr"])
def test_counts_are_those_of_the_languages(name):
    stem = snowballstemmer.stemmer(_languages.STEMMERS.get(name, name)).stemWord
    counted = Tokenizer(stop_words=None, stem=name).count(TEXTS)
    rows = [Counter(stem(word) for word in text.lower().split()) for text in TEXTS]
    assert counted.words == list(dict.fromkeys(word for row in rows for word in row))
    for row, expected in zip(counted.counts.toarray(), rows, strict=True):
        assert row.tolist() == [expected[word] for word in counted.words]


def test_stop_words_first_then_stems_then_pairs():
    tokenizer = Tokenizer(stop_words=["cats", "the"], stem="en", ngrams=(1, 2))
    assert tokenizer.count(TEXTS).words == ["connect", "connect connect", "cat", "cat connect"]
    # a stem that is a stop word stays: what is left out are words
    assert Tokenizer(stop_words=["connect"], stem="en").count(["connects connect"]).words == [
        "connect"
    ]


def stem_by(stem, monkeypatch):
    """Have words stemmed by another function, and none by what was cached."""
    monkeypatch.setattr(_languages, "_stemmer", lambda name: stem)
    uncached = _languages._stem.__wrapped__
    monkeypatch.setattr(_languages, "_stem", uncached)


def test_threads_do_not_disturb_each_other(monkeypatch):
    """A stemmer keeps the word it works on, so that two threads must not be in it at once."""
    inside = []

    def stem(word):
        inside.append(word)
        time.sleep(0.0001)
        assert inside.pop() == word
        assert not inside
        return word[0]

    stem_by(stem, monkeypatch)
    texts = [" ".join(f"{letter}{i}" for i in range(50)) for letter in "abcd"]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: Tokenizer(stem="en").count([text]).words, texts))
    assert found == [["a"], ["b"], ["c"], ["d"]]


def test_all_codes_have_an_algorithm():
    assert set(_languages.STEMMERS.values()) <= set(snowballstemmer.algorithms())
    for code, name in _languages.STEMMERS.items():
        assert Tokenizer(stem=code) == Tokenizer(stem=name.upper())


def test_a_word_never_vanishes(monkeypatch):
    stem_by(lambda word: word[2:], monkeypatch)
    assert Tokenizer(stem="en").count(["ab abc xyc"]).words == ["ab", "c"]
