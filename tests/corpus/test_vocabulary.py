"""The vocabulary against a slow reference implementation."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import Vocabulary
from opelda.errors import InputError
from tests.cases import cases

words = st.sampled_from([f"w{i}" for i in range(14)])
counts = st.sampled_from([0, 1, 2, 0.5])
documents = st.one_of(st.lists(words, max_size=6), st.dictionaries(words, counts, max_size=6))
streams = st.lists(st.lists(documents, max_size=5), max_size=8)
settings = st.fixed_dictionaries(
    {
        "growing": st.booleans(),
        "max_features": st.sampled_from([None, 2, 4, 7]),
        "when_full": st.sampled_from(["refuse", "evict"]),
        "min_df": st.sampled_from([1, 1, 2, 3, 5]),
    }
)


class Slow:
    """A reference: word by word, with sorted lists instead of arrays."""

    def __init__(self, first, growing, max_features, when_full, min_df=1):
        self.columns = [[word, 0, 0] for word in first]  # word, document frequency, last seen
        self.growing, self.evict = growing, when_full == "evict"
        self.most = max_features or 10**9
        self.min_df, self.waiting = min_df, []  # [word, documents], most recent last
        self.time = 0

    def learn(self, batch):
        self.time += 1
        bags = [
            {word: n for word, n in (doc if isinstance(doc, dict) else Counter(doc)).items() if n}
            for doc in batch
        ]
        frequency = Counter()
        for bag in bags:
            frequency.update(bag.keys())
        for column in self.columns:
            if column[0] in frequency:
                column[1:] = [column[1] + frequency[column[0]], self.time]
        have = {column[0] for column in self.columns}
        # a Counter keeps the order of first appearance, and sorting is stable
        new = sorted((w for w in frequency if w not in have), key=lambda w: -frequency[w])
        reused = []
        ready = self.waited(frequency, have) if self.growing else []
        new = [word for word in new if word in ready]
        dropped = [word for word in frequency if word not in have and word not in ready]
        for word in new if self.growing else []:
            if len(self.columns) < self.most:
                self.columns.append([word, frequency[word], self.time])
                continue
            idle = [i for i, column in enumerate(self.columns) if column[2] < self.time]
            victim = min(
                idle, key=lambda i: (self.strength(i), self.columns[i][2], i), default=None
            )
            if self.evict and victim is not None and self.strength(victim) <= frequency[word]:
                self.columns[victim] = [word, frequency[word], self.time]
                reused.append(victim)
            else:
                dropped.append(word)
        order = [column[0] for column in self.columns]
        X = [[bag.get(word, 0) for word in order] for bag in bags]
        mass = sum(n for bag in bags for word, n in bag.items() if word not in order)
        return X, sorted(reused), len(dropped), mass

    def waited(self, frequency, have):
        """Return the words with `min_df` documents, and keep some words pending."""
        ready = []
        for word in (w for w in frequency if w not in have):
            before = [n for other, n in self.waiting if other == word]
            self.waiting = [entry for entry in self.waiting if entry[0] != word]
            if sum(before) + frequency[word] >= self.min_df:
                ready.append(word)
            else:
                self.waiting.append([word, sum(before) + frequency[word]])
        while len(self.waiting) > 2 * self.most:
            old = self.waiting[: -(-len(self.waiting) // 2)]
            old = sorted(old, key=lambda entry: (entry[1], old.index(entry)))
            self.waiting = [e for e in self.waiting if e not in old[: -(-len(old) // 2)]]
        return ready

    def strength(self, i):
        _, frequency, last_seen = self.columns[i]
        return frequency * 0.9 ** float(self.time - last_seen)


def compare(fast, slow, batch):
    before = len(fast)
    X, change = fast.learn(batch)
    expected, reused, n_dropped, mass = slow.learn(batch)
    assert X.toarray().tolist() == expected or not X.shape[1]
    assert X.shape == (len(batch), len(slow.columns))
    assert X.dtype == np.float32
    assert X.indices.dtype == np.int32
    assert X.has_canonical_format
    assert list(fast.words) == [column[0] for column in slow.columns]
    assert fast.document_frequency.tolist() == [column[1] for column in slow.columns]
    assert (change.n_words_before, change.n_words) == (before, len(slow.columns))
    assert change.reused.dtype == np.int32
    assert change.reused.tolist() == reused
    assert change.n_evicted == len(reused)
    assert change.n_added == len(fast) - before + len(reused)
    assert (change.n_dropped, change.n_unknown_tokens) == (n_dropped, mass)
    return change


@given(streams, settings, st.integers(0, 2))
def test_learning_matches_the_reference(stream, parameters, n_first):
    first = ["w3", "never"][:n_first]
    fast, slow = Vocabulary(first, **parameters), Slow(first, **parameters)
    changes = [compare(fast, slow, batch) for batch in stream]
    assert fast.n_updates == len(stream)
    for name in ("n_added", "n_evicted", "n_dropped", "n_unknown_tokens"):
        assert getattr(fast, name) == sum(getattr(change, name) for change in changes)
    for column, word in enumerate(fast.words):
        assert fast.index(word) == column
        assert word in fast


def test_formerly_common_words_are_evicted():
    vocabulary = Vocabulary(growing=True, max_features=2)
    vocabulary.learn([["old", "dear"]] * 5)
    for day in range(30):
        vocabulary.learn([["dear", f"news{day}"]])
    assert "dear" in vocabulary
    assert "old" not in vocabulary


def test_weakest_column_is_evicted_for_the_strongest_new_word():
    vocabulary = Vocabulary(["a", "b", "c"], growing=True, max_features=3)
    vocabulary.learn([["a", "c"], ["a"]])
    vocabulary.learn([["b"]])
    # c and b had one document each, c longer ago; a had two
    X, change = vocabulary.learn([["y", "x"], ["x", "y"], ["x", "z"]])
    assert vocabulary.words == ("a", "y", "x")
    assert vocabulary.document_frequency.tolist() == [2, 2, 3]
    assert X.toarray().tolist() == [[0, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert change.reused.tolist() == [1, 2]
    assert (change.n_added, change.n_evicted, change.n_dropped) == (2, 2, 1)  # z is weaker than a


@given(streams, settings)
def test_counting_does_not_change_the_vocabulary(stream, parameters):
    vocabulary = Vocabulary(["w1"], **parameters)
    for batch in stream:
        before = vocabulary.copy()
        X = vocabulary.count(batch)
        assert vocabulary == before
        fixed = Vocabulary(vocabulary.words)
        assert np.array_equal(X.toarray(), fixed.learn(batch)[0].toarray())
        vocabulary.learn(batch)


@given(streams, settings, st.integers(0, 8))
def test_saved_vocabulary_learns_like_the_original(stream, parameters, cut):
    vocabulary = Vocabulary(["", "日本"][: parameters["max_features"] or 2], **parameters)
    for batch in stream[:cut]:
        vocabulary.learn(batch)
    copies = [vocabulary.copy(), Vocabulary.from_arrays(*vocabulary.to_arrays())]
    for other in copies:
        assert other == vocabulary
    for batch in stream[cut:]:
        X, change = vocabulary.learn(batch)
        for other in copies:
            X2, change2 = other.learn(batch)
            assert np.array_equal(X.toarray(), X2.toarray())
            assert change.reused.tolist() == change2.reused.tolist()
            assert other == vocabulary


def test_copy_is_independent():
    vocabulary = Vocabulary(["a"], growing=True)
    other = vocabulary.copy()
    other.learn([["a", "b"]])
    assert vocabulary.words == ("a",)
    assert vocabulary.document_frequency.tolist() == [0]
    assert vocabulary != other
    assert vocabulary != "a"
    vocabulary.document_frequency[0] = 9
    assert vocabulary.document_frequency[0] == 0


def test_equality_compares_content():
    seen, unseen = Vocabulary(["a"]), Vocabulary(["a"])
    assert seen == unseen
    seen.learn([["a"]])
    assert seen != unseen
    assert Vocabulary(["a"]) != Vocabulary(["a"], growing=True)
    assert Vocabulary(["a", "b"]) != Vocabulary(["b", "a"])


@cases("growing", [True, False])
def test_lone_surrogates_are_unknown_words(growing):
    vocabulary = Vocabulary(["good"], growing=growing)
    broken = "odd\ud800"
    X, change = vocabulary.learn([["good", broken, broken], {broken: 0.5}])
    assert X.toarray().tolist() == [[1], [0]]
    assert (change.n_words, change.n_dropped, change.n_unknown_tokens) == (1, 1, 2.5)
    assert vocabulary.count([[broken]]).nnz == 0
    vocabulary.to_arrays()


def test_memory_is_bounded_by_max_features():
    vocabulary = Vocabulary(growing=True, max_features=100)

    def learn(first, last):
        for t in range(first, last):
            vocabulary.learn([[f"word{t}x{i}" for i in range(200)] for _ in range(3)])

    learn(0, 30)
    tracemalloc.start()
    try:
        learn(30, 40)
        before = tracemalloc.get_traced_memory()[0]
        learn(40, 140)
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # 20,000 words passed; storing them would take more than 1 MB
    assert after - before < 100_000
    assert len(vocabulary) == 100
    assert vocabulary.n_added + vocabulary.n_dropped == 140 * 200


def test_numpy_strings_become_str():
    vocabulary = Vocabulary(np.array(["a", "b"]), growing=True)
    vocabulary.learn([[np.str_("c")]])
    assert {type(word) for word in vocabulary.words} == {str}


@cases(
    ("arguments", "message"),
    [
        ({"words": ["a", "b", "a"]}, "number 2, 'a', is a duplicate"),
        ({"words": ["a", "b\ud800"]}, "cannot be encoded as UTF-8"),
        ({"words": ["a", 3]}, "number 1 is 3"),
        ({"words": "abc"}, "got one text"),
        ({"words": ["a", "b"], "max_features": 1}, "max_features is 1, but there are 2 words"),
        ({"max_features": 0}, "max_features must be a whole number, from 1"),
        ({"max_features": 2.5}, "max_features must be a whole number"),
        ({"max_features": True}, "max_features must be a whole number"),
        ({"growing": "yes"}, "growing must be True or False"),
        ({"when_full": "forget"}, "when_full must be 'refuse' or 'evict'"),
    ],
)
def test_invalid_parameters_are_rejected(arguments, message):
    with pytest.raises(InputError, match=message):
        Vocabulary(**arguments)


def test_repr_is_short():
    vocabulary = Vocabulary(map(str, range(1000)), growing=True, max_features=2000)
    assert repr(vocabulary) == "Vocabulary(1000 words, growing=True, max_features=2000)"
