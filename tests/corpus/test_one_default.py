"""Every entry point gives the same words for the same texts."""

import numpy as np

from opelda.corpus import Tokenizer, Vocabulary, mini_batches, read, stream
from tests.cases import cases

LANGUAGES = {
    "en": "The 2 foxes and the hen were in a garden, and 30 of them ate what was there: B2, x.",
    "de": "Der Fuchs und die 2 Hennen waren in dem Garten und aßen, was es dort gab: B2, x.",
    None: "fox hen garden B2 x",
}
TEXTS = {code: [text, text.upper(), "Garten garden"] for code, text in LANGUAGES.items()}


def by_tokenizer(texts):
    counted = Tokenizer().count(texts)
    return counted.words, counted.counts


def by_fixed_vocabulary(texts):
    vocabulary = Vocabulary(read(texts).words)
    return vocabulary, vocabulary.count(texts)


def by_growing_vocabulary(texts):
    vocabulary = Vocabulary(growing=True)
    X, _ = vocabulary.learn(texts)
    return vocabulary, X


def by_mini_batches(texts):
    vocabulary = Vocabulary(growing=True)
    (batch,) = mini_batches(texts, batch_size=9, vocabulary=vocabulary)
    return vocabulary, batch.X


def by_stream(texts):
    batches = stream(texts)
    (batch,) = batches
    return batches.vocabulary, batch.X


def by_word(words, X):
    """Return the counts of each word that occurs, independent of column order."""
    return {word: row.tolist() for word, row in zip(words, X.T.toarray(), strict=True) if row.any()}


@cases("code", LANGUAGES)
@cases(
    "way", [by_tokenizer, by_fixed_vocabulary, by_growing_vocabulary, by_mini_batches, by_stream]
)
def test_every_entry_point_counts_the_same_words(way, code):
    corpus = read(TEXTS[code])
    assert corpus.vocabulary.tokenizer == Tokenizer(stop_words=code).decided
    expected = by_word(corpus.words, corpus.X)
    assert "b2" in expected
    assert not {"the", "und", "30", "x"} & set(expected)
    assert by_word(*way(TEXTS[code])) == expected


def test_growing_vocabulary_detects_the_language_from_the_first_texts():
    vocabulary = Vocabulary(growing=True)
    vocabulary.learn([["the", "und"]])  # lists of words have no detected language
    assert vocabulary.tokenizer == Tokenizer()
    assert list(vocabulary) == ["the", "und"]
    vocabulary.learn([["und"], LANGUAGES["en"]])
    assert vocabulary.tokenizer == Tokenizer(stop_words="en").decided
    vocabulary.learn([LANGUAGES["de"]])
    assert vocabulary.tokenizer == Tokenizer(stop_words="en").decided
    assert "waren" in vocabulary


def test_fixed_vocabulary_counts_all_its_words():
    vocabulary = Vocabulary(["the", "hen"])
    assert vocabulary.tokenizer == Tokenizer(stop_words=None).decided
    assert vocabulary.count(TEXTS["en"]).sum(axis=0).tolist() == [4, 2]
    named = Vocabulary(["the", "hen"], tokenizer=Tokenizer(stop_words="en"))
    assert named.count(TEXTS["en"]).sum(axis=0).tolist() == [0, 2]


def test_vocabulary_is_a_collection_of_words():
    vocabulary = read(TEXTS["en"]).vocabulary
    assert tuple(vocabulary) == vocabulary.words == tuple(sorted(vocabulary))
    assert len(list(vocabulary)) == len(vocabulary)
    assert "hen" in vocabulary
    assert "the" not in vocabulary
    assert np.array_equal(vocabulary.columns(list(vocabulary)), np.arange(len(vocabulary)))
