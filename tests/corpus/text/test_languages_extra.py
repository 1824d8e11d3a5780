"""Without the extra `languages`: English works, models load, other languages name the extra."""

import sys

import numpy as np
import pytest
from stop_words import LANGUAGE_MAPPING

import opelda
from opelda import OnlineOPE
from opelda.corpus import Tokenizer, read
from opelda.corpus.text import _languages
from opelda.corpus.text import tokenizer as tokenizers
from opelda.errors import InputError
from tests.cases import cases
from tests.corpus.text.test_stop_words import NO_LANGUAGE, STORY

ENGLISH = ["The cat and the dog are here, and it was not the cow."] * 20
GERMAN = ["Der Hund und die Katze sind nicht da, und das ist nicht die Kuh."] * 20


def forget():
    for name in ("languages", "listed", "_stemmer", "_stem"):
        getattr(_languages, name).cache_clear()
    tokenizers.left_out.cache_clear()


@pytest.fixture
def without_extra(monkeypatch):
    for name in ("stop_words", "snowballstemmer"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    forget()
    yield
    forget()


def test_english_needs_no_extra(without_extra):
    assert Tokenizer().resolved(ENGLISH) == Tokenizer(stop_words="english").decided
    assert read(ENGLISH).words == ("cat", "cow", "dog")


@cases("code", sorted(set(STORY) - {"en"}))
def test_missing_stop_word_list_gives_one_warning(code, without_extra):
    name = LANGUAGE_MAPPING[code].title()
    with pytest.warns(UserWarning, match=rf"^The texts seem to be {name}, .*opelda\[languages\]"):
        assert Tokenizer().resolved([STORY[code]]).stop_words is None
    with pytest.warns(UserWarning, match="opelda") as output:
        assert read([STORY[code]] * 20).X.shape[0] == 20
    assert len(output) == 1


@cases("text", NO_LANGUAGE)
def test_texts_without_a_language_give_no_warning(text, without_extra):
    assert Tokenizer().resolved([text]).stop_words is None


def test_requested_language_names_the_missing_extra(without_extra):
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
def test_models_load_and_transform_counts_without_the_extra(words, tmp_path, request):
    corpus = read(GERMAN, tokenizer=words)
    model = OnlineOPE(2, random_state=0).fit(corpus)
    opelda.save(model, tmp_path / "m.opelda")
    request.getfixturevalue("without_extra")
    again = opelda.load(tmp_path / "m.opelda")
    assert again.vocabulary_ == model.vocabulary_
    assert np.array_equal(again.transform(corpus.X), model.transform(corpus.X))
    with pytest.raises(InputError, match=r"opelda\[languages\]"):
        again.transform(GERMAN)
