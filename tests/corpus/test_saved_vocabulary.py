"""A vocabulary as arrays, which are validated when a file is loaded."""

import json
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opelda.corpus import Vocabulary
from opelda.errors import InputError
from tests.cases import cases


def learned():
    vocabulary = Vocabulary(["é", "日本"], growing=True, max_features=4, when_full="refuse")
    vocabulary.learn([["é", "cup", "tea"], ["cup", "pot", "pan"]])
    vocabulary.learn([{"cup": 0.1, "lid": 0.2}])
    return vocabulary


@given(st.lists(st.text(), unique=True))
def test_arbitrary_words_round_trip(words):
    arrays, header = Vocabulary(words).to_arrays()
    header = json.loads(json.dumps(header))
    assert list(Vocabulary.from_arrays(arrays, header).words) == words
    assert arrays["bytes"].dtype == np.uint8
    assert {arrays[name].dtype for name in arrays if name != "bytes"} == {np.dtype(np.int64)}
    assert arrays["bytes"].tobytes().decode() == "".join(words)


def test_state_round_trips_through_json():
    vocabulary = learned()
    arrays, header = vocabulary.to_arrays()
    again = Vocabulary.from_arrays(arrays, json.loads(json.dumps(header)))
    assert again == vocabulary
    assert (again.growing, again.max_features, again.when_full) == (True, 4, "refuse")
    assert again.n_unknown_tokens == vocabulary.n_unknown_tokens > 0
    assert again.n_dropped == vocabulary.n_dropped > 0


def test_arrays_are_copies():
    vocabulary = learned()
    arrays, header = vocabulary.to_arrays()
    again = Vocabulary.from_arrays(arrays, header)
    arrays["document_frequency"][:] = 77
    arrays["last_seen"][:] = 0
    assert again == vocabulary == learned()


@cases(
    ("name", "value", "message"),
    [
        ("bytes", None, "'bytes' should be a vector"),
        ("offsets", None, "'offsets' should be a vector"),
        ("document_frequency", None, "should be a vector of 4 int64"),
        ("last_seen", None, "should be a vector of 4 int64"),
        ("bytes", np.zeros(14, np.int8), "vector of uint8"),
        ("bytes", np.zeros((2, 7), np.uint8), "vector of uint8"),
        ("bytes", np.full(14, 0xFF, np.uint8), "not valid UTF-8"),
        ("bytes", np.full(14, ord("a"), np.uint8), "words must be unique"),
        ("offsets", np.zeros(0, np.int64), "offsets must increase"),
        ("offsets", np.array([0, 1, 8, 11, 14], np.int64), "not valid UTF-8"),
        ("offsets", np.array([1, 2, 8, 11, 14], np.int64), "offsets must increase"),
        ("offsets", np.array([0, 8, 2, 11, 14], np.int64), "offsets must increase"),
        ("offsets", np.array([0, 2, 8, 11, 15], np.int64), "offsets must increase"),
        ("offsets", np.array([0, 2, 8, 11, 13], np.int64), "offsets must increase"),
        ("offsets", np.array([0, -2, 8, 11, 14], np.int64), "negative"),
        ("offsets", np.array([0, 2, 8, 11, 14], np.int32), "vector of int64"),
        ("offsets", np.array([0, 2, 8, 14], np.int64), "vector of 3 int64"),
        ("document_frequency", np.zeros(3, np.int64), "vector of 4 int64"),
        ("document_frequency", np.array([1, 2, 3, -1]), "negative"),
        ("document_frequency", np.zeros(4), "vector of 4 int64"),
        ("last_seen", np.zeros(5, np.int64), "vector of 4 int64"),
        ("last_seen", np.array([0, 0, 0, 3]), "is after update 2"),
    ],
)
def test_corrupted_arrays_are_rejected(name, value, message):
    arrays, header = learned().to_arrays()
    if value is None:
        del arrays[name]
    else:
        arrays[name] = value
    with pytest.raises(InputError, match=message):
        Vocabulary.from_arrays(arrays, header)


@cases(
    ("name", "value", "message"),
    [
        ("growing", 1, "growing must be"),
        ("when_full", "forget", "when_full must be"),
        ("when_full", ["evict"], "when_full must be"),
        ("max_features", "4", "max_features must be"),
        ("max_features", 3, "max_features is 3, but there are 4 words"),
        ("n_updates", -1, "n_updates should be a whole number"),
        ("n_updates", 2.0, "n_updates should be a whole number"),
        ("n_added", True, "n_added should be a whole number"),
        ("n_evicted", None, "n_evicted should be a whole number"),
        ("n_dropped", "1", "n_dropped should be a whole number"),
        ("n_unknown_tokens", float("nan"), "should be a number from 0 on"),
        ("n_unknown_tokens", float("inf"), "should be a number from 0 on"),
        ("n_unknown_tokens", -1.0, "should be a number from 0 on"),
    ],
)
def test_corrupted_headers_are_rejected(name, value, message):
    arrays, header = learned().to_arrays()
    with pytest.raises(InputError, match=message):
        Vocabulary.from_arrays(arrays, {**header, name: value})
    del header[name]
    with pytest.raises(InputError, match=f"parameter '{name}' is missing"):
        Vocabulary.from_arrays(arrays, header)


@given(st.data())
def test_random_corruption_is_rejected_or_a_valid_vocabulary(data):
    arrays, header = learned().to_arrays()
    name = data.draw(st.sampled_from(sorted(arrays)))
    array = arrays[name]
    raw = bytearray(array.tobytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    arrays[name] = np.frombuffer(bytes(raw), array.dtype)
    try:
        vocabulary = Vocabulary.from_arrays(arrays, header)
    except InputError:
        return
    # an accepted vocabulary works and gives the same arrays
    vocabulary.learn([["é", "new"]] * 3)
    again, _ = Vocabulary.from_arrays(arrays, header).to_arrays()
    assert all(np.array_equal(again[key], arrays[key]) for key in arrays)


def test_pickles_are_not_loaded():
    with mock.patch("pickle.loads", side_effect=AssertionError), pytest.raises(InputError):
        Vocabulary.from_arrays({"bytes": np.array([object()])}, learned().to_arrays()[1])
