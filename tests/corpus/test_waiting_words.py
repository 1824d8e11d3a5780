"""Words that get a column at their n-th document; `test_vocabulary.py` has the rules."""

import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda import OnlineOPE, load, save
from opelda.corpus import Vocabulary, read, stream
from opelda.errors import InputError
from tests.cases import cases

words = st.sampled_from([f"w{i}" for i in range(9)])
batches = st.lists(st.lists(st.lists(words, max_size=6), max_size=6), max_size=10)


def frequencies(stream):
    return Counter(word for batch in stream for document in batch for word in set(document))


@given(batches, st.integers(1, 5))
def test_words_have_at_least_min_df_documents(stream, min_df):
    """For any mini-batches; every token has a column or is counted as unknown."""
    vocabulary = Vocabulary(growing=True, min_df=min_df)
    n_tokens = 0.0
    for batch in stream:
        X, change = vocabulary.learn(batch)
        n_tokens += X.sum() + change.n_unknown_tokens
    expected = {word for word, n in frequencies(stream).items() if n >= min_df}
    assert set(vocabulary) == expected
    assert n_tokens == sum(len(document) for batch in stream for document in batch)


@given(batches, st.integers(1, 5), st.integers(0, 10))
def test_pending_words_are_saved(stream, min_df, cut):
    whole = Vocabulary(growing=True, min_df=min_df, max_features=5)
    for batch in stream[:cut]:
        whole.learn(batch)
    again = whole.copy()
    for batch in stream[cut:]:
        (mine, _), (theirs, _) = whole.learn(batch), again.learn(batch)
        assert (mine != theirs).nnz == 0
    assert again == whole
    arrays, others = whole.to_arrays()[0], again.to_arrays()[0]
    assert [(k, v.tobytes()) for k, v in arrays.items()] == [
        (k, v.tobytes()) for k, v in others.items()
    ]


def test_pending_words_count_in_equality():
    one, two, three = (Vocabulary(growing=True, min_df=2) for _ in range(3))
    one.learn([["tea"]])
    two.learn([["cup"]])
    three.learn([[]])
    assert one != two
    assert one != three
    assert three != one


def test_memory_is_bounded_and_current_words_are_added():
    vocabulary = Vocabulary(growing=True, min_df=3, max_features=50)
    sizes = []
    for day in range(400):
        # a word that occurs once a day for three days, among words that occur once
        vocabulary.learn([[f"now{day // 3}"], *([f"junk{day}-{i}"] for i in range(40))])
        assert (f"now{day // 3}" in vocabulary) == (day % 3 == 2)
        assert len(vocabulary._waiting) <= 100
        sizes.append(sys.getsizeof(vocabulary._waiting))
    assert max(sizes) == max(sizes[:200])
    assert not any(word.startswith("junk") for word in vocabulary)


def test_repeated_pending_word_is_kept():
    vocabulary = Vocabulary(growing=True, min_df=5, max_features=4)  # at most 8 pending words
    vocabulary.learn([["again"]])
    vocabulary.learn([*([word] for word in "ppqqrrss"), ["again"]])
    vocabulary.learn([word] for word in "ttuuvvww")  # nine of two documents each
    vocabulary.learn([["again", "p"]] * 3)
    assert set(vocabulary) == {"again"}


def test_rare_stale_pending_words_are_forgotten_first():
    vocabulary = Vocabulary(growing=True, min_df=3, max_features=4)  # at most 8 pending words
    vocabulary.learn([["twice"], ["twice"], ["once"]])
    vocabulary.learn([[f"x{i}"] for i in range(7)])
    vocabulary.learn([["twice"], ["once"], ["once"]])
    assert set(vocabulary) == {"twice"}  # the count of "once" was reset


def test_default_min_df_matches_read():
    texts = ["alpha beta", "gamma"] * 20
    vocabulary = Vocabulary(growing=True, min_df=None)
    vocabulary.learn(["first", *texts])  # 41 documents: every word
    assert set(vocabulary) == {"first", "alpha", "beta", "gamma"}
    vocabulary.learn(["second", "twice", "twice"] + texts * 4)  # 204: words of two
    assert {"second", "twice"} & set(vocabulary) == {"twice"}
    vocabulary.learn(["four"] * 4 + ["five"] * 5 + texts * 20)
    assert {"four", "five"} & set(vocabulary) == {"five"}
    vocabulary.learn(["four", "second"])
    assert {"four", "second"} & set(vocabulary) == {"four"}
    corpus = [f"common rare{number // 4}" for number in range(1200)]
    made = stream(corpus, batch_size=1200)
    list(made)
    assert set(made.vocabulary) == {"common"} == set(read(corpus, max_df=1.0).words)


def test_min_df_applies_to_texts_not_to_lists_of_words(tmp_path):
    texts = [f"tea cup rare{number}" for number in range(200)]
    model = OnlineOPE(2, batch_size=100, random_state=0).fit_stream(iter(texts))
    assert set(model.vocabulary_) == {"tea", "cup"}
    assert model.n_unknown_tokens_ == 200
    by_words = OnlineOPE(2, batch_size=100, random_state=0)
    by_words.fit_stream(text.split() for text in texts)
    assert len(by_words.vocabulary_) == 202
    every = OnlineOPE(2, random_state=0).fit_stream(stream(texts, batch_size=100, min_df=1))
    assert every.components_.tobytes() == by_words.components_.tobytes()
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.vocabulary_ == model.vocabulary_
    again.fit_stream([{"rare7": 1}])
    assert "rare7" in again.vocabulary_  # with its second document of 201
    other = Vocabulary(growing=True, min_df=1, max_features=100_000)
    with pytest.raises(InputError, match="has min_df=None; remove"):
        model.fit_stream(texts, vocabulary=other)


@cases("wrong", [0, -1, 0.5, "3", True])
def test_invalid_min_df_is_rejected(wrong):
    with pytest.raises(InputError, match=r"^min_df must be a whole number, at least 1"):
        Vocabulary(growing=True, min_df=wrong)
    with pytest.raises(InputError, match="min_df"):
        stream(["tea"], min_df=3, vocabulary=Vocabulary(["tea"]))


def test_corrupted_pending_words_are_rejected_and_older_files_loaded():
    vocabulary = Vocabulary(["pot"], growing=True, min_df=3)
    vocabulary.learn([["tea", "pot"], ["cup", "tea"]])
    arrays, header = vocabulary.to_arrays()
    for name, value in {
        "waiting.bytes": np.frombuffer(b"potcup", np.uint8),  # it has a column
        "waiting.offsets": np.array([0, 3, 7]),
        "waiting.document_frequency": np.array([2, 0]),
    }.items():
        with pytest.raises(InputError, match="corrupted"):
            Vocabulary.from_arrays(arrays | {name: value}, header)
        without = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(InputError, match="corrupted"):
            Vocabulary.from_arrays(without, header)
    old = {key: value for key, value in header.items() if key not in ("min_df", "n_docs")}
    plain = {key: array for key, array in arrays.items() if not key.startswith("waiting.")}
    found = Vocabulary.from_arrays(plain, old)
    assert (found.min_df, found.n_docs) == (1, 0)
    assert found.learn([["new"]])[1].n_added == 1
