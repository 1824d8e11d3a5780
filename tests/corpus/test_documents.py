"""Documents as texts, words or counts, and the messages about invalid documents."""

from collections import Counter, UserDict
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from opelda.corpus import Tokenizer, Vocabulary
from opelda.corpus.text import COUNT_VECTORIZER
from opelda.errors import InputError
from tests.cases import cases

texts = st.lists(st.text(st.sampled_from("aAbß12_ .-éÉ日本\n'"), max_size=30), max_size=6)


@given(texts)
def test_texts_are_tokenized_like_scikit_learn(documents):
    vectorizer = CountVectorizer(vocabulary=["aa", "ab", "b1", "éé", "日本", "a_", "ßb", "12"])
    tokenizer = Tokenizer(pattern=COUNT_VECTORIZER)
    vocabulary = Vocabulary(vectorizer.vocabulary, tokenizer=tokenizer)
    X = vocabulary.count(documents)
    expected = vectorizer.transform(documents) if documents else np.zeros((0, 8))
    assert np.array_equal(X.toarray(), expected.toarray() if documents else expected)


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=8), max_size=6))
def test_texts_tokens_and_counts_give_the_same_matrix(documents):
    vocabulary = Vocabulary([letter * 2 for letter in "fedcb"])
    tokens = [[letter * 2 for letter in document] for document in documents]
    expected = np.array(
        [[document.count(word) for word in vocabulary.words] for document in tokens]
    ).reshape(len(tokens), 5)
    forms = (
        tokens,
        [tuple(document) for document in tokens],
        [np.array(document, str) for document in tokens],
        [" ".join(document) for document in tokens],
        [Counter(document) for document in tokens],
        [UserDict(Counter(document)) for document in tokens],
        (document for document in tokens),
    )
    for form in forms:
        X = vocabulary.count(form)
        assert np.array_equal(X.toarray(), expected)
        assert X.dtype == np.float32
        assert X.indices.dtype == X.indptr.dtype == np.int32
        assert X.has_canonical_format
        assert (X.data > 0).all()


def test_counts_may_be_any_real_number_type():
    counts = {
        "a": 2,
        "b": 0.5,
        "c": np.float32(1.25),
        "d": Fraction(1, 4),
        "e": Decimal("3.5"),
        "f": True,
        "g": np.int64(7),
    }
    X = Vocabulary(list("abcdefg")).count([counts])
    assert X.toarray().tolist() == [[2, 0.5, 1.25, 0.25, 3.5, 1, 7]]


@cases("count", [-1, -0.5, np.nan, np.inf, 1e14, "3", None, [1], 1j, 10**400, Decimal("NaN")])
def test_invalid_counts_name_the_document_and_the_word(count):
    vocabulary = Vocabulary(["good"], growing=True)
    before = vocabulary.copy()
    for call in (vocabulary.count, vocabulary.learn):
        with pytest.raises(InputError, match=r"Document 1 counts the word 'odd' as") as caught:
            call([["good"], {"good": 1, "odd": count}])
        assert "counts must be numbers" in str(caught.value)
    assert vocabulary == before


@cases(
    ("document", "message"),
    [
        (3, "not a document"),
        (None, "not a document"),
        (b"bytes", "decode the bytes first"),
        ({"a", "b"}, "of type set"),
        ([["nested"]], "not a document"),
        (["good", 3], "holds 3 instead of a word"),
        (["good", None], "holds None instead of a word"),
        ([b"good"], "holds b'good' instead of a word"),
        ({5: 1}, "holds 5 instead of a word"),
        (np.array([1.5, 2.0]), r"holds 1\.5 instead of a word"),
    ],
)
def test_invalid_documents_are_named(document, message):
    vocabulary = Vocabulary(growing=True)
    before = vocabulary.copy()
    with pytest.raises(InputError, match=message) as caught:
        vocabulary.learn(["some text", document, "more text"])
    assert str(caught.value).startswith("Document 1 ")
    assert vocabulary == before


@cases("documents", ["one text", b"bytes", {"word": 1}])
def test_single_document_is_rejected(documents):
    with pytest.raises(InputError, match=r"pass a single document as \[document\]"):
        Vocabulary(["word"]).count(documents)


def test_no_documents_or_no_words():
    assert Vocabulary().count([]).shape == (0, 0)
    assert Vocabulary().count(["some text"]).shape == (1, 0)
    assert Vocabulary(["word"]).count(["", [], {}]).shape == (3, 1)
    X, change = Vocabulary(growing=True).learn([])
    assert X.shape == (0, 0)
    assert change.n_words == 0


def test_counts_are_exact_beyond_single_precision():
    # in single precision, adding tokens one by one stops at 2**24
    half = 2**24 + 2
    assert Vocabulary(["a"]).count([["a"] * half]).toarray().tolist() == [[half]]
