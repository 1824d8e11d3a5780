"""Single texts and large batches are counted alike on every code path."""

import copy
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opelda.corpus import Tokenizer, Vocabulary
from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, _word_counting
from opelda.errors import InputError
from tests.cases import cases

LETTERS = "aAbB.<>&;@/12_ \n'ÄßéÉİΣσςΑ日本ǅ\u0301"
WORDS = [
    "the",
    "aa",
    "ab",
    "a1",
    "éé",
    "ß_",
    "日本",
    "σς",
    "\u03b1\u03b1",
    "i̇a",
    " 3",
    "",
    "12",
    "äa",
    "a a",
]
TOKENIZERS = st.builds(
    Tokenizer,
    lower=st.booleans(),
    pattern=st.sampled_from([None, COUNT_VECTORIZER, WHITESPACE, "[a-z]+"]),
    stop_words=st.sampled_from([None, "en", "auto", ("aa", "ÄA")]),
    stem=st.sampled_from([None, None, "en"]),
    ngrams=st.sampled_from([1, 1, 2]),
    unspaced=st.sampled_from([None, "auto", "pairs"]),
    keep_markup=st.booleans(),
)


def counts_in_a_large_batch(vocabulary, texts):
    """Return counts from a batch of more than 100 texts."""
    counted = vocabulary.tokenizer.count(pl.Series([*texts, *[""] * 100]))
    X = np.zeros((len(texts), len(vocabulary)))
    for column, word in enumerate(counted.words):
        if word in vocabulary:
            X[:, vocabulary.index(word)] = (
                counted.counts[:, [column]].toarray().ravel()[: len(texts)]
            )
    return X


@given(TOKENIZERS, st.lists(st.text(LETTERS, max_size=40), min_size=1, max_size=5))
@example(Tokenizer(), ["ΑΣ ΑΣΑ. Σ AA the ÄA"])
@example(Tokenizer(pattern=WHITESPACE), ["AA\u2003AB 3  the"])
def test_few_and_many_texts_are_counted_alike(tokenizer, texts):
    vocabulary = Vocabulary(WORDS, tokenizer=tokenizer)
    X = vocabulary.count(texts)
    assert X.toarray().tolist() == counts_in_a_large_batch(vocabulary, texts).tolist()
    assert X.shape == (len(texts), len(WORDS))
    assert X.dtype == np.float32
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.has_canonical_format
    X.check_format(full_check=True)
    many = vocabulary.count(texts * 30)
    assert (many != type(X)(np.tile(X.toarray(), (30, 1)))).nnz == 0


def test_lower_case_matches_polars():
    points = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE1000)]
    points += range(0x20000, sys.maxunicode + 1, 101)  # planes without upper case
    letters = [chr(point) for point in points]
    expected = pl.Series(letters).str.to_lowercase().to_list()
    found = [_word_counting.lowered([letter]) for letter in letters]
    agreed = [one is None or one == [other] for one, other in zip(found, expected, strict=True)]
    assert all(agreed)
    assert sum(one is None for one in found) < 500
    assert _word_counting.lowered(["ΑΣ"]) is None


def test_fast_path_starts_after_enough_calls(monkeypatch):
    monkeypatch.setattr(_word_counting, "WORDS_PER_CALL", 5)
    vocabulary = Vocabulary([f"w{i}" for i in range(12)], growing=True, max_features=12)
    for is_made in (
        False,
        False,
        True,
        True,
    ):  # the third call exceeds 12 words at 5 words per call
        assert vocabulary.count(["w3 w4 w3"]).data.tolist() == [2, 1]
        assert (vocabulary._few_texts._made is not None) == is_made
    made = vocabulary._few_texts._made
    vocabulary.learn([["w0", "w1"]])  # no column changes its word
    assert vocabulary.count(["w3"]).indices.tolist() == [3]
    assert vocabulary._few_texts._made is made


def test_vocabulary_changes_apply_to_later_counts(monkeypatch):
    monkeypatch.setattr(_word_counting, "WORDS_PER_CALL", 1000)
    vocabulary = Vocabulary(["tea"], growing=True, max_features=2)
    assert vocabulary.count(["tea cup"]).toarray().tolist() == [[1]]
    vocabulary.learn([["cup"]])
    assert vocabulary.count(["tea cup cup"]).toarray().tolist() == [[1, 2]]
    for _ in range(3):
        vocabulary.learn([["pot"], ["cup"]])  # evicts tea
    assert vocabulary.words == ("pot", "cup")
    assert vocabulary.count(["tea cup cup pot"]).toarray().tolist() == [[1, 2]]
    vocabulary.tokenizer = Tokenizer(stop_words=["cup"])
    assert vocabulary.count(["tea cup cup pot"]).toarray().tolist() == [[1, 0]]


def test_results_do_not_share_memory():
    vocabulary = Vocabulary(["tea", "cup"])
    one, other = vocabulary.count(["tea"]), vocabulary.count(["cup cup"])
    one.data[:] = 9
    assert (one.toarray().tolist(), other.toarray().tolist()) == ([[9, 0]], [[0, 2]])
    assert vocabulary.count(["", "tea"]).toarray().tolist() == [[0, 0], [1, 0]]


def test_copies_and_pickles_count_alike():
    vocabulary = Vocabulary(["tea", "cup"])
    vocabulary.count(["tea"])
    for other in (pickle.loads(pickle.dumps(vocabulary)), copy.deepcopy(vocabulary)):
        assert other == vocabulary
        assert other.count(["cup"]).toarray().tolist() == [[0, 1]]


def test_threads_count_alike():
    vocabulary = Vocabulary([f"w{i}" for i in range(2000)])
    texts = [f"w{i} w{i + 1} other w{i}" for i in range(1000)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: vocabulary.count([text]), texts))
    for i, X in enumerate(found):
        assert X.indices.tolist() == [i, i + 1]
        assert X.data.tolist() == [2, 1]


@cases(
    ("documents", "message"),
    [
        (["tea", "\ud800"], "Document 1 has a lone surrogate"),
        (["tea", None], "Document 1 is not a document"),
        ([b"tea"], "decode the bytes first"),
    ],
)
def test_invalid_texts_are_named(documents, message):
    vocabulary = Vocabulary(["tea"])
    vocabulary.count(["tea"])
    with pytest.raises(InputError, match=message):
        vocabulary.count(documents)
