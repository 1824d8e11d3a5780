"""Windows against explicit slices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import Vocabulary
from opelda.errors import InputError
from opelda.metrics import _coherence, coherence, windows
from tests.cases import cases

COLUMNS = {"a": 0, "b": 3, "c": 1}
documents = st.lists(st.lists(st.sampled_from("abcxy"), max_size=25), max_size=8)


def cut_out(documents, size):
    rows = []
    for document in documents:
        for first in range(max(1, len(document) - size + 1)):
            held = set(document[first : first + size])
            rows.append([float(word in held) for word in ("a", "c", None, "b")])
    return rows


@given(documents, st.integers(1, 30), st.integers(1, 200))
def test_windows_equal_explicit_slices(documents, size, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_coherence, "TOKENS_AT_ONCE", at_once)
        parts = list(windows(documents, COLUMNS, size=size))
    assert all(part.shape[1] == 4 and part.shape[0] > 0 for part in parts)
    assert all(part.shape[0] < 2 * max(1, at_once // size) for part in parts)  # bounded
    assert all(part.has_canonical_format and part.dtype == np.float32 for part in parts)
    rows = sparse.vstack(parts).toarray().tolist() if parts else []
    assert rows == cut_out(documents, size)


@given(documents, st.integers(1, 30))
def test_window_longer_than_documents_is_the_document(documents, more):
    longest = max(map(len, documents), default=0)
    found = [row for part in windows(documents, COLUMNS, size=longest + more) for row in part]
    vocabulary = Vocabulary(["a", "c", "-", "b"])
    expected = vocabulary.count(documents).toarray() > 0
    assert [row.toarray().ravel().tolist() for row in found] == expected.astype(float).tolist()


def test_vocabularies_of_every_kind():
    documents = [["a", "b", "x", "a"], ["b"]]
    expected = next(windows(documents, {"a": 0, "b": 1}, size=2)).toarray()
    for vocabulary in (Vocabulary(["a", "b"]), ["a", "b"], ("a", "b"), iter("ab")):
        assert np.array_equal(next(windows(documents, vocabulary, size=2)).toarray(), expected)
    generated = (tuple(document) for document in documents)
    assert np.array_equal(next(windows(generated, ["a", "b"], size=2)).toarray(), expected)


def test_coherence_needs_only_the_top_words():
    rng = np.random.default_rng(0)
    documents = [rng.choice(list("abcdefgh"), 30).tolist() for _ in range(20)]
    columns = {word: column for column, word in enumerate("abcdefgh")}
    expected = coherence([[1, 4, 2]], windows(documents, columns, size=5), measure="c_v")
    few = {word: columns[word] for word in "bec"}
    found = coherence([[1, 4, 2]], windows(documents, few, size=5), measure="c_v")
    assert np.array_equal(found, expected)


@cases(
    ("arguments", "message"),
    [
        (([["a"]], COLUMNS, 0), "size must be"),
        (([["a"]], COLUMNS, 1.5), "size must be"),
        (([["a"]], {}, 2), "vocabulary has no words"),
        (("a b", COLUMNS, 2), "Document 0 must be a sequence of words"),
        (([["a"], "a b"], COLUMNS, 2), "Document 1 must be a sequence of words, got str"),
    ],
)
def test_bad_input_is_rejected(arguments, message):
    documents, vocabulary, size = arguments
    with pytest.raises(InputError, match=message):
        list(windows(documents, vocabulary, size=size))
