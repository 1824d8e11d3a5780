"""Models that know their words: they take texts, and corpora counted over other words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from opelda import MLOPE, OnlineOPE, load, save
from opelda.corpus import Tokenizer, Vocabulary, read
from opelda.errors import InputError

SPACE = "The star shines in a galaxy of stars near the nebula"
LIFE = "A cell divides and the protein of the cells folds"
TEXTS = [SPACE, LIFE] * 60


@pytest.fixture(scope="module")
def model():
    corpus = read(TEXTS, tokenizer=Tokenizer(stop_words="en", stem="english"))
    return OnlineOPE(2, batch_size=20, n_passes=3, random_state=0).fit(corpus)


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series])
def test_texts_are_counted_with_the_models_own_settings(model, make):
    expected = model.transform(model.vocabulary_.count(TEXTS))
    assert (model.transform(make(TEXTS)) == expected).all()
    assert model.certificate(make(TEXTS)).theta.shape == (120, 2)
    assert model.score(make(TEXTS)) < 0
    # "stars" is a "star" for this model, whatever the case
    assert (model.transform(["STARS"]) == model.transform(["star"])).all()


def test_the_settings_are_saved(model, tmp_path):
    save(model, tmp_path / "m.opelda")
    again = load(tmp_path / "m.opelda")
    assert again.vocabulary_ == model.vocabulary_
    assert again.vocabulary_.tokenizer == Tokenizer(stop_words="en", stem="english")
    assert (again.transform(TEXTS) == model.transform(TEXTS)).all()
    assert again.top_words(3) == model.top_words(3)


def test_a_corpus_over_other_words_is_moved_to_the_models(model):
    tokenizer = model.vocabulary_.tokenizer
    other = read([SPACE + " zebra", LIFE], tokenizer=tokenizer)
    assert other.words != model.vocabulary_.words
    assert (model.transform(other) == model.transform([SPACE, LIFE])).all()


def test_vocabulary_and_validation_go_with_fit():
    corpus = read(TEXTS)
    by_hand = OnlineOPE(2, batch_size=20, random_state=0)
    by_hand.fit(corpus.X, vocabulary=corpus.vocabulary, validation=TEXTS[:10])
    assert by_hand.vocabulary_ == corpus.vocabulary
    assert by_hand.vocabulary_ is not corpus.vocabulary
    whole = OnlineOPE(2, batch_size=20, random_state=0).fit(corpus, validation=corpus)
    assert (whole.components_ == by_hand.components_).all()
    more = MLOPE(2, random_state=0).partial_fit(corpus).partial_fit(TEXTS)
    assert more.n_docs_seen_ == 240


def test_fitting_again_forgets_the_words():
    corpus = read(TEXTS)
    model = OnlineOPE(2, random_state=0).fit(corpus)
    model.fit(np.ones((4, 3)))
    with pytest.raises(AttributeError, match="no vocabulary"):
        _ = model.vocabulary_


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [(Vocabulary(["a"]), "1 words but X has"), (["a", "b"], "must be a Vocabulary")],
)
def test_vocabularies_that_do_not_fit(vocabulary, message):
    model = OnlineOPE(2)
    with pytest.raises(InputError, match=message):
        model.fit(read(TEXTS).X, vocabulary=vocabulary)
    assert not hasattr(model, "_state")


def test_texts_for_a_model_without_words():
    model = OnlineOPE(2, random_state=0).fit(np.ones((4, 3)))
    with pytest.raises(ValueError, match=r"1D array|could not convert"):
        model.transform(["tea"])


@pytest.mark.parametrize(
    "make",
    [
        iter,
        lambda texts: (text for text in texts),
        pa.array,
        lambda texts: [["star", "galaxi"], {"star": 1, "galaxi": 1}] * 60,
        lambda texts: [["star", "galaxi"], np.array(["galaxi", "star"])] * 60,
    ],
)
def test_documents_of_other_kinds(model, make):
    expected = model.transform(["star galaxy"] * 120)
    assert (model.transform(make(["star galaxy"] * 120)) == expected).all()


def test_rows_of_numbers_are_counts(model):
    X = model.vocabulary_.count(TEXTS[:3])
    assert (model.transform(X.toarray().tolist()) == model.transform(X)).all()


def test_an_empty_document_is_one(model):
    assert model.transform([[]]).shape == (1, 2)
    assert (model.transform([[], ["star"]])[1] == model.transform([["star"]])[0]).all()


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([], "X holds no documents"),
        (iter([]), "X holds no documents"),
        (np.array([]), "X holds no documents"),
        ("one text", r"X is one text.* give \[text\]"),
        ({"star": 1}, r"X is one mapping.* give \[document\]"),
        (["star", None], "Document 1 is not a document"),
        ([None], "Document 0 is not a document"),
        (pd.Series(["star", None], dtype=object), "Document 1 is not a document"),
        (iter(["star", 5]), "Document 1 is not a document"),
        (iter([5]), "Document 0 is not a document"),
    ],
)
def test_what_is_no_documents(model, documents, message):
    with pytest.raises(InputError, match=message) as error:
        model.transform(documents)
    assert "\n" not in str(error.value)
