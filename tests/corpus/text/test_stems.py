"""Stemming merges words after stop words are removed and before pairs are made."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import snowballstemmer

from opelda.corpus.text import Tokenizer, _languages
from tests.cases import cases

TEXTS = ["Connected connections connect the cats", "the cat connecting cats", ""]


@cases("name", ["english", "en", "german", "fr"])
def test_counts_match_snowball(name):
    stem = snowballstemmer.stemmer(_languages.STEMMERS.get(name, name)).stemWord
    counted = Tokenizer(stop_words=None, stem=name).count(TEXTS)
    rows = [Counter(stem(word) for word in text.lower().split()) for text in TEXTS]
    assert counted.words == list(dict.fromkeys(word for row in rows for word in row))
    for row, expected in zip(counted.counts.toarray(), rows, strict=True):
        assert row.tolist() == [expected[word] for word in counted.words]


def test_stop_words_then_stems_then_pairs():
    tokenizer = Tokenizer(stop_words=["cats", "the"], stem="en", ngrams=(1, 2))
    assert tokenizer.count(TEXTS).words == ["connect", "connect connect", "cat", "cat connect"]
    # a stem that is a stop word is kept: stop words are compared before stemming
    assert Tokenizer(stop_words=["connect"], stem="en").count(["connects connect"]).words == [
        "connect"
    ]


def stem_by(stem, monkeypatch):
    """Replace the stemmer, without its cache."""
    monkeypatch.setattr(_languages, "_stemmer", lambda name: stem)
    uncached = _languages._stem.__wrapped__
    monkeypatch.setattr(_languages, "_stem", uncached)


def test_stemmer_is_used_by_one_thread_at_a_time(monkeypatch):
    """A stemmer has state, so two threads must not use it at once."""
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


def test_every_language_code_has_a_stemmer():
    assert set(_languages.STEMMERS.values()) <= set(snowballstemmer.algorithms())
    for code, name in _languages.STEMMERS.items():
        assert Tokenizer(stem=code) == Tokenizer(stem=name.upper())


def test_word_with_an_empty_stem_is_kept(monkeypatch):
    stem_by(lambda word: word[2:], monkeypatch)
    assert Tokenizer(stem="en").count(["ab abc xyc"]).words == ["ab", "c"]
