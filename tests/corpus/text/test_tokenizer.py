"""A tokenizer is a value: settings, files and validation."""

import copy
import json
import pickle
import random
from dataclasses import FrozenInstanceError, fields

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus.text import COUNT_VECTORIZER, WHITESPACE, Tokenizer, _word_counting
from opelda.errors import InputError
from tests.cases import cases

TOKENIZERS = st.builds(
    Tokenizer,
    lower=st.booleans(),
    pattern=st.sampled_from([None, COUNT_VECTORIZER, WHITESPACE, r"[a-z]+", r"\p{Greek}{2,}"]),
    stop_words=st.none() | st.sampled_from(["en", "german", "auto"]) | st.lists(st.text("abΣ'")),
    stem=st.sampled_from([None, "en", "german"]),
    ngrams=st.sampled_from([1, 2, (1, 1), (1, 2), (2, 2)]),
    extra_stop_words=st.lists(st.text("abΣ'")),
    unspaced=st.sampled_from([None, "auto", "words", "pairs"]),
    keep_markup=st.booleans(),
)


@given(TOKENIZERS)
def test_settings_round_trip_through_json(tokenizer):
    again = Tokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert again == tokenizer
    assert hash(again) == hash(tokenizer)
    assert repr(again) == repr(tokenizer)
    assert pickle.loads(pickle.dumps(tokenizer)) == copy.deepcopy(tokenizer) == tokenizer


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
FIRST_NAMES = ["lower", "pattern", "stop_words", "stem", "ngrams"]
NAMES = [field.name for field in fields(Tokenizer)]


@given(st.data())
def test_settings_from_a_file_are_validated(data):
    settings = Tokenizer().to_dict()
    for name in data.draw(st.lists(st.sampled_from([*NAMES, "more"]), min_size=1)):
        settings[name] = data.draw(JSON)
    if data.draw(st.booleans()):
        del settings[data.draw(st.sampled_from(NAMES))]
    try:
        tokenizer = Tokenizer.from_dict(settings)
    except InputError as error:
        message = str(error)
        assert message.endswith(".")
        assert len(message) < 600
        return
    assert set(FIRST_NAMES) <= set(settings) <= set(NAMES)
    assert Tokenizer.from_dict(tokenizer.to_dict()) == tokenizer


@cases("odd", [None, 3, [], {}, {"lower": True}, {**Tokenizer().to_dict(), 1: 2}])
def test_invalid_dictionaries_are_rejected(odd):
    with pytest.raises(InputError, match="settings"):
        Tokenizer.from_dict(odd)


def test_tokenizer_is_immutable():
    tokenizer = Tokenizer()
    with pytest.raises(FrozenInstanceError):
        tokenizer.lower = False
    assert Tokenizer(stop_words=["b", "a", "b"]).stop_words == ("a", "b")
    assert Tokenizer(ngrams=2) == Tokenizer(ngrams=(1, 2)) == Tokenizer(ngrams=[1, 2])
    assert Tokenizer() != Tokenizer(lower=False)


def test_repr_evaluates_to_the_tokenizer():
    assert repr(Tokenizer()) == "Tokenizer()"
    tokenizer = Tokenizer(lower=False, pattern="[a-z]+", stop_words=["a"], stem="de", ngrams=2)
    assert eval(repr(tokenizer)) == tokenizer
    assert "(99 words)" in repr(Tokenizer(stop_words=map(str, range(99))))


@cases(
    ("settings", "message"),
    [
        ({"lower": 1}, "lower"),
        ({"pattern": 3}, "pattern"),
        ({"pattern": "\ud800"}, "pattern"),
        ({"pattern": "a" * 10_001}, "10001 characters"),
        ({"pattern": "["}, "unclosed character class"),
        ({"pattern": r"(?<=a)b"}, "look-around"),
        ({"pattern": r"(?:a)\1"}, "backreferences"),
        ({"pattern": r"\w{1000}{1000}"}, "size limit"),
        ({"pattern": r"(a)b"}, r"capturing group; write \(\?:"),
        ({"pattern": r"(?P<name>a)"}, "capturing"),
        ({"pattern": ""}, "matches the empty string"),
        ({"pattern": "a*"}, "matches the empty string"),
        ({"pattern": r"\b"}, "matches the empty string"),
        ({"pattern": r"(?m)^|a"}, "matches the empty string"),
        (
            {"stop_words": "klingon"},
            "a language with a list, got 'klingon'; pass one of ar, bg",
        ),
        ({"stop_words": 5}, "stop_words"),
        ({"stop_words": b"the"}, "stop_words"),
        ({"stop_words": ["the", 5]}, "but one is 5"),
        ({"stop_words": ["\ud800"]}, "but one is"),
        ({"extra_stop_words": "en"}, "extra_stop_words must be words, got 'en'"),
        ({"extra_stop_words": None}, "extra_stop_words"),
        ({"unspaced": "syllables"}, "unspaced must be"),
        ({"stem": "klingon"}, "one of arabic, armenian"),
        ({"stem": 3}, "stem"),
        ({"ngrams": 3}, "ngrams"),
        ({"ngrams": (2, 1)}, "ngrams"),
        ({"ngrams": True}, "ngrams"),
        ({"ngrams": (1, True)}, "ngrams"),
        ({"ngrams": 1.0}, "ngrams"),
        ({"ngrams": ([], [])}, "ngrams"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(InputError, match=message) as raised:
        Tokenizer(**settings)
    assert "\n" not in str(raised.value)
    assert raised.value.__cause__ is None


@cases(
    ("texts", "message"),
    [
        ("one text", "got one str"),
        (b"bytes", "got one bytes"),
        (7, "got one int"),
        (["a", None], "Document 1 is missing"),
        (["a", "b", 3], "Document 2 is of type int"),
        (["a", "\ud800"], "Document 1 has a lone surrogate"),
        (pl.Series(["a", None, None]), "Document 1 is missing"),
        (pl.Series([None]), "Document 0 is missing"),
        (pl.Series([1, 2]), "not of Int64"),
    ],
)
def test_invalid_texts_are_named(texts, message):
    with pytest.raises(InputError, match=message):
        Tokenizer().count(texts)


def test_texts_in_any_container():
    texts = ["The cat", "", "the hat"]
    tokenizer = Tokenizer(stop_words=None)
    expected = tokenizer.count(pl.Series(texts))
    forms = (texts, tuple(texts), np.array(texts), iter(texts), pl.Series(texts).rechunk())
    for form in (*forms, pl.concat([pl.Series([text]) for text in texts], rechunk=False)):
        counted = tokenizer.count(form)
        assert counted.words == expected.words == ["the", "cat", "hat"]
        assert np.array_equal(counted.counts.toarray(), expected.counts.toarray())
    for nothing in ([], pl.Series([], dtype=pl.String), pl.Series([])):
        assert Tokenizer(stop_words="en", ngrams=2).count(nothing).counts.shape == (0, 0)


def test_counts_are_canonical_float32():
    counts = Tokenizer(stop_words=["a1"]).count(["b2 a1 c3 b2", "c3"]).counts
    assert counts.dtype == np.float32
    assert counts.indices.dtype == counts.indptr.dtype == np.int32
    assert counts.has_canonical_format
    assert counts.toarray().tolist() == [[2, 1], [0, 1]]


@cases("n_jobs", [2, 3, 7])
@cases(
    "tokenizer",
    [
        Tokenizer(),
        Tokenizer(pattern=r"[a-z]{2,}", stop_words=["ab"]),
        Tokenizer(stop_words=["ab", "ba", "abc"], stem="en", ngrams=2),
        Tokenizer(pattern=WHITESPACE, stop_words=["ab", "ca"], ngrams=(2, 2)),
    ],
)
def test_counts_are_independent_of_threads(tokenizer, n_jobs, monkeypatch):
    monkeypatch.setattr(_word_counting, "BYTES_PER_RUN", 16)
    draw = random.Random(n_jobs)
    for n_texts in (0, 1, 2, 50):
        words = ["".join(draw.choices("abcs", k=draw.randint(1, 4))) for _ in range(40)]
        texts = [" ".join(draw.choices(words, k=draw.randint(0, 30))) for _ in range(n_texts)]
        one, many = tokenizer.count(texts), tokenizer.count(texts, n_jobs=n_jobs)
        assert one.words == many.words
        for name in ("indptr", "indices", "data"):
            mine, theirs = getattr(one.counts, name), getattr(many.counts, name)
            assert mine.dtype == theirs.dtype
            assert mine.tolist() == theirs.tolist()


@cases("n_jobs", [0, 1.5, True, "2"])
def test_invalid_n_jobs_is_rejected(n_jobs):
    with pytest.raises(InputError, match="n_jobs"):
        Tokenizer().count(["a"], n_jobs=n_jobs)


@given(st.lists(st.text("abc .", max_size=30)), TOKENIZERS)
def test_words_are_in_order_of_first_appearance(texts, tokenizer):
    counted = tokenizer.count(texts)
    assert counted.words == tokenizer.resolved(texts).count(texts).words
    assert len(set(counted.words)) == len(counted.words) == counted.counts.shape[1]
    first = [counted.counts[:, [column]].nonzero()[0].min() for column in range(len(counted.words))]
    assert first == sorted(first)
    if tokenizer.ngrams == (1, 1) and tokenizer.stem is None:
        where = [
            texts[row].lower().find(w.lower()) for row, w in zip(first, counted.words, strict=True)
        ]
        assert min(where, default=0) >= 0
