"""Without the packages of the extra `languages`: English works, models load, the rest is told."""

import logging
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

import opelda
from opelda import OnlineOPE
from opelda.corpus import Tokenizer, read
from opelda.corpus.text import _languages, _stop_words
from opelda.errors import InputError

ENGLISH = ["The cat and the dog are here, and it was not the cow."] * 20
GERMAN = ["Der Hund und die Katze sind nicht da, und das ist nicht die Kuh."] * 20


def forget():
    for name in ("languages", "listed", "_stemmer", "_stem"):
        getattr(_languages, name).cache_clear()
    _stop_words.left_out.cache_clear()


@pytest.fixture
def without_extra(monkeypatch):
    for name in ("stop_words", "snowballstemmer"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    forget()
    yield
    forget()


def test_english_is_the_same_without(without_extra):
    assert set(_languages.listed("en")) == set(ENGLISH_STOP_WORDS)
    assert Tokenizer().resolved(ENGLISH) == Tokenizer(stop_words="english").decided
    assert read(ENGLISH).words == ("cat", "cow", "dog")


def test_what_is_not_known_is_told_once_and_fails_nothing(without_extra, caplog):
    with caplog.at_level(logging.WARNING, "opelda"):
        assert Tokenizer().resolved(GERMAN).stop_words is None
        assert "hund" in read(GERMAN).words
    assert [record.getMessage().count("opelda[languages]") for record in caplog.records] == [1]


def test_what_is_asked_for_names_the_extra(without_extra):
    with pytest.raises(InputError, match=r"pip install 'opelda\[languages\]'"):
        Tokenizer(stop_words="de").count(GERMAN)
    with pytest.raises(InputError, match=r"pip install 'opelda\[languages\]'"):
        Tokenizer(stop_words="german")
    with pytest.raises(InputError, match=r"pip install 'opelda\[languages\]'"):
        Tokenizer(stop_words=None, stem="english").count(ENGLISH)
    with pytest.raises(InputError, match="stem must be None or the name of a language"):
        Tokenizer(stem="klingon")


@pytest.mark.parametrize(
    "words", [Tokenizer(stop_words="de"), Tokenizer(stop_words=None, stem="german")]
)
def test_models_load_and_read_counts_without(words, tmp_path, request):
    corpus = read(GERMAN, tokenizer=words)
    model = OnlineOPE(2, random_state=0).fit(corpus)
    opelda.save(model, tmp_path / "m.opelda")
    request.getfixturevalue("without_extra")
    again = opelda.load(tmp_path / "m.opelda")
    assert again.vocabulary_ == model.vocabulary_
    assert np.array_equal(again.transform(corpus.X), model.transform(corpus.X))
    with pytest.raises(InputError, match=r"opelda\[languages\]"):
        again.transform(GERMAN)
