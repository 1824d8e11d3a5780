"""The same settings give the matrix of CountVectorizer, for any text."""

import re
import unicodedata
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, Tokenizer

PIECES = [
    *("Σ", "ς", "ΑΣ", "aΣ", "Σa", "ΟΔΟΣ.", "İ", "I", "\u0131", "ẞ", "ß", "ﬁ", "\u212a", "ǅ"),
    *("é", "e\u0301", "\u0301", "漢字", "かな", "한국", "हिन्दी", "العربية", "ไทย"),
    *("😀", "👩\u200d🚀", "1", "42", "²", "½", "Ⅷ", "_", "__", "a_1", "-", "'", "\u2019"),
    *("\x00", "\x1c", "\x85", "\xa0", "\u2028", "\u3000"),
    *("The", "the", "don't", "new", "york", "ab", "a"),
]
# characters that this Python knows; later ones may have a lower case, see test_unicode.py
KNOWN = st.characters(exclude_categories=["Cs", "Cn"])
TEXTS = st.lists(
    st.lists(st.sampled_from([*PIECES, " ", " ", "\n"]) | st.text(KNOWN, max_size=4)).map("".join),
    max_size=5,
)
WORDS = st.lists(st.sampled_from(["the", "The", "don", "don't", "ab", "ος", "42", "né", "漢字"]))
NGRAMS = st.sampled_from([(1, 1), (1, 2), (2, 2)])
PATTERNS = (r"[a-z]{3,}", r"[a-zA-Z]+", r"\b[a-z]+(?:'[a-z]+)?", r"(?i)THE|[0-9]{2}")


def check(texts, ours, /, **settings):
    """Compare words, and counts in the order of the sorted words."""
    counted = replace(ours, keep_markup=True, unspaced=None).count(
        pl.Series(texts, dtype=pl.String)
    )
    vectorizer = CountVectorizer(**settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
        try:
            expected = vectorizer.fit_transform(texts).toarray()
        except ValueError:  # without any word
            assert counted.words == []
            assert counted.counts.shape == (len(texts), 0)
            return
    order = np.argsort(counted.words) if counted.words else []
    assert [counted.words[i] for i in order] == vectorizer.get_feature_names_out().tolist()
    assert np.array_equal(counted.counts.toarray()[:, order], expected)


@given(TEXTS, st.booleans(), WORDS | st.none(), NGRAMS)
@example(["The cat, the don and ΟΔΟΣ", "", "ab cat"], True, ["the", "don", "οδος"], (1, 2))
@example(["The cat, the don and ΟΔΟΣ", "", "ab cat"], False, ["the", "don't"], (2, 2))
def test_default_pattern_matches_count_vectorizer(texts, lower, stop_words, ngrams):
    check(
        texts,
        Tokenizer(lower=lower, pattern=COUNT_VECTORIZER, stop_words=stop_words, ngrams=ngrams),
        lowercase=lower,
        stop_words=stop_words,
        ngram_range=ngrams,
    )


@given(TEXTS)
def test_pattern_without_its_flag_matches_count_vectorizer(texts):
    pattern = COUNT_VECTORIZER.removeprefix("(?u)")
    check(texts, Tokenizer(pattern=pattern, stop_words=None), token_pattern=pattern)


@given(TEXTS, st.booleans(), NGRAMS, st.sampled_from(PATTERNS))
def test_user_defined_patterns_match_count_vectorizer(texts, lower, ngrams, pattern):
    # \b depends on word characters, which differ beyond ASCII
    if r"\b" in pattern:
        texts = [re.sub(r"[^\x00-\x7f]", "", text) for text in texts]
    stop_words = ["the", "york"]
    check(
        texts,
        Tokenizer(lower=lower, pattern=pattern, stop_words=stop_words, ngrams=ngrams),
        lowercase=lower,
        token_pattern=pattern,
        stop_words=stop_words,
        ngram_range=ngrams,
    )


@given(TEXTS, st.booleans(), NGRAMS)
def test_whitespace_pattern_matches_str_split(texts, lower, ngrams):
    check(
        texts,
        Tokenizer(lower=lower, pattern=WHITESPACE, stop_words=None, ngrams=ngrams),
        lowercase=lower,
        tokenizer=str.split,
        token_pattern=None,
        ngram_range=ngrams,
    )


@given(TEXTS)
def test_default_words_match_unicode_categories(texts):
    """The default pattern, spelt out with Python's own categories."""

    def is_word(c):
        joins = c in "\u200c\u200d" or unicodedata.category(c) in ("Nd", "Nl", "Pc")
        return joins or unicodedata.category(c)[0] in "LM"

    def words(text):
        runs = "".join(c if is_word(c) else " " for c in text).split(" ")
        return [r for r in runs if len(r) > 1 and any(unicodedata.category(c)[0] == "L" for c in r)]

    # circled letters are alphabetic, but symbols by category
    texts = [re.sub("[\u24b6-\u24e9\U0001f130-\U0001f189]", "", text) for text in texts]
    check(texts, Tokenizer(stop_words=None), tokenizer=words, token_pattern=None)


@pytest.mark.heavy
@given(st.lists(st.text(KNOWN, max_size=200), max_size=20), st.booleans(), NGRAMS)
def test_arbitrary_text_matches_count_vectorizer(texts, lower, ngrams):
    check(
        texts,
        Tokenizer(lower=lower, pattern=COUNT_VECTORIZER, stop_words=None, ngrams=ngrams),
        lowercase=lower,
        ngram_range=ngrams,
    )
