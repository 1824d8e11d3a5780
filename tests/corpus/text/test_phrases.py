"""Phrases: learned, joined left to right, saved with the tokenizer."""

import json
import math
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opelda
from opelda.corpus import Tokenizer, read, stream
from opelda.corpus.text import _word_counting
from opelda.errors import InputError
from tests.cases import cases

KNOWN = ("aa bb", "bb aa", "bb cc", "cc cc")


def texts_with_phrases(seed=0, n_texts=200):
    """Return random texts with the phrases "health care" and "climate change"."""
    chance = random.Random(seed)
    pieces = ["health care", "climate change"] * 3 + ["health", *(f"word{n}" for n in range(60))]
    return [" ".join(chance.choices(pieces, k=12)) for _ in range(n_texts)]


def counted(tokenizer, text):
    found = tokenizer.count([text])
    return dict(zip(found.words, found.counts.toarray()[0].tolist(), strict=True))


def reference(words):
    """Join greedily from the left."""
    found, i = [], 0
    while i < len(words):
        pair = " ".join(words[i : i + 2])
        found.append(pair if pair in KNOWN else words[i])
        i += 2 if pair in KNOWN else 1
    return found


@given(st.lists(st.lists(st.sampled_from(["aa", "bb", "cc", "dd", "the"])), max_size=6))
def test_phrases_are_joined_left_to_right_after_stop_words(documents):
    tokenizer = Tokenizer(stop_words=["the"], phrases=KNOWN)
    found = tokenizer.count([" ".join(words) for words in documents])
    expected = [reference([word for word in words if word != "the"]) for words in documents]
    assert found.words == list(dict.fromkeys(word for words in expected for word in words))
    for row, words in enumerate(expected):
        own = dict(zip(found.words, found.counts.toarray()[row].tolist(), strict=True))
        assert {word: n for word, n in own.items() if n} == Counter(words)


def test_counts_are_independent_of_threads(monkeypatch):
    monkeypatch.setattr(_word_counting, "BYTES_PER_RUN", 64)
    texts = texts_with_phrases()
    tokenizer = Tokenizer(stop_words=None, phrases=["health care", "word1 word2"])
    one, many = tokenizer.count(texts, n_jobs=1), tokenizer.count(texts, n_jobs=5)
    assert one.words == many.words
    assert (one.counts != many.counts).nnz == 0


def test_score_matches_its_formula():
    chance = random.Random(1)
    texts = [" ".join(chance.choices("abcd", [8, 4, 2, 1], k=30)) for _ in range(60)]
    tokens = [text.split() for text in texts]
    single = Counter(word for words in tokens for word in words)
    pairs = Counter(pair for words in tokens for pair in pairwise(words))
    n = sum(single.values())
    score = {
        f"{a} {b}": math.log(k * n / (single[a] * single[b])) / -math.log(k / n)
        for (a, b), k in pairs.items()
    }
    df = Counter(f"{a} {b}" for words in tokens for a, b in set(pairwise(words)))
    for least in (-0.2, -0.02, 0.0, 0.02):
        tokenizer = Tokenizer(pattern=r"\w", stop_words=None, phrases=least)
        expected = {pair for pair, s in score.items() if s >= least and df[pair] >= 10}
        assert set(tokenizer.resolved(texts).phrases) == expected


def test_phrases_are_learned_from_the_whole_corpus(tmp_path):
    texts = ["nothing of the kind here"] * 6_000 + texts_with_phrases()
    corpus = read(texts, tokenizer=Tokenizer(stop_words=None, phrases=True), max_df=1.0)
    assert {"health care", "climate change"} <= set(corpus.vocabulary.tokenizer.phrases)
    assert "health" in corpus.words  # which also occurs alone
    assert not {"care", "climate", "change"} & set(corpus.words)
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(texts))
    again = read(path, tokenizer=Tokenizer(stop_words=None, phrases=True), max_df=1.0, n_jobs=2)
    assert again.words == corpus.words
    assert (again.X != corpus.X).nnz == 0
    plain = read(texts, tokenizer=Tokenizer(stop_words=None), max_df=1.0)
    n_joined = sum(corpus.X[:, [i]].sum() for i, w in enumerate(corpus.words) if " " in w)
    assert corpus.X.sum() == plain.X.sum() - n_joined


def test_loaded_model_joins_the_same_phrases(tmp_path):
    texts = texts_with_phrases()
    corpus = read(texts, tokenizer=Tokenizer(phrases=True), max_df=1.0)
    model = opelda.OnlineOPE(2, random_state=0).fit(corpus)
    opelda.save(model, tmp_path / "m")
    loaded = opelda.load(tmp_path / "m")
    assert loaded.vocabulary_.tokenizer == corpus.vocabulary.tokenizer
    for some in (texts, texts[:3]):
        assert np.array_equal(loaded.transform(some), model.transform(corpus.X[: len(some)]))


def test_stream_learns_phrases_from_its_first_batch():
    texts = texts_with_phrases() + ["white house"] * 50
    batches = stream(texts, batch_size=100, tokenizer=Tokenizer(phrases=True), min_df=1)
    list(batches)
    phrases = batches.vocabulary.tokenizer.phrases
    assert "health care" in phrases
    assert "white house" not in phrases
    assert "health care" in batches.vocabulary


@cases(
    ("settings", "message"),
    [
        ({"phrases": True, "ngrams": 2}, "phrases and ngrams are mutually exclusive"),
        ({"phrases": 2.0}, "phrases must be"),
        ({"phrases": "health care"}, "phrases must be True, a score from -1 to 1, or phrases"),
        ({"phrases": ["health"]}, "must be pairs of words, but contain 'health'"),
        ({"phrases": ["a  b"]}, "must be pairs of words"),
        ({"phrases": None}, "phrases must be"),
    ],
)
def test_invalid_settings_are_rejected(settings, message):
    with pytest.raises(InputError, match=message):
        Tokenizer(**settings)


@cases("phrases", [False, True, 0.25, ["b a", "a b"], ()])
def test_settings_round_trip_through_json(phrases):
    tokenizer = Tokenizer(phrases=phrases)
    again = Tokenizer.from_dict(json.loads(json.dumps(tokenizer.to_dict())))
    assert again == tokenizer
    assert tokenizer.decided.phrases == (("a b", "b a") if isinstance(phrases, list) else ())
    assert counted(Tokenizer(stop_words=None), "aa bb") == {"aa": 1, "bb": 1}
