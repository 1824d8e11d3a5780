"""Documents to learn from and to test on, and the settings of all experiments."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.errors import InputError
from reproduction import Settings, prepare
from tests.cases import cases


def numbered(n_docs, n_short=0, n_words=12, seed=0):
    """Counts whose first column tells documents apart; the last have at most one token."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n_docs + n_short, n_words))
    X[:n_docs, 0] = np.arange(n_docs) + 2
    X[n_docs:] = 0
    X[n_docs : n_docs + n_short // 2, 1] = 1
    return X


@given(
    n_docs=st.integers(2, 60),
    n_short=st.integers(0, 5),
    share=st.floats(0.05, 0.95),
    seed=st.integers(0, 99),
    part=st.data(),
)
def test_documents_are_learned_from_or_tested_on(n_docs, n_short, share, seed, part):
    n_test = part.draw(st.integers(1, n_docs - 1))
    X = numbered(n_docs, n_short)
    settings = Settings(n_test=n_test, n_splits=3, held_out=share, seed=seed)
    data = prepare(sparse.csr_matrix(X), settings, label="numbers")
    X = X[X.any(axis=1)]  # a document without words is left out
    assert data.train.shape == (len(X) - n_test, X.shape[1])
    together = np.vstack((data.train.toarray(), data.test.toarray()))
    order = np.lexsort(together.T[::-1])
    assert np.array_equal(together[order], X[np.lexsort(X.T[::-1])])
    assert len(data.splits) == 3
    n_tokens = data.test.sum(axis=1)
    assert n_tokens.min() >= 2
    for observed, held_out in data.splits:
        assert np.array_equal((observed + held_out).toarray(), data.test.toarray())
        wanted = np.clip(np.rint(share * n_tokens.astype(float)), 1, n_tokens - 1)
        assert np.array_equal(held_out.sum(axis=1), wanted)


def test_seeds_determine_documents_and_splits():
    X = numbered(400)
    settings = Settings(n_test=100, n_splits=2)
    first, again = (prepare(X, settings, label="") for _ in range(2))
    other = prepare(X, settings.changed(seed=1), label="")
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert not np.array_equal(first.test.toarray(), other.test.toarray())
    assert not np.array_equal(first.splits[0][0].toarray(), first.splits[1][0].toarray())


def test_too_few_documents_are_rejected():
    X = numbered(10, n_short=8)
    assert prepare(X, Settings(n_test=9), label="").train.shape[0] == 5
    with pytest.raises(InputError, match=r"10 documents .* 10 are to be set aside"):
        prepare(X, Settings(n_test=10), label="")


def test_given_splits_are_used():
    X = numbered(20)
    ready = [(X[:5], X[5:10]), (X[5:10], X[:5])]
    data = prepare(X, Settings(n_test=1000), label="", splits=ready)
    assert np.array_equal(data.train.toarray(), X)
    assert np.array_equal(data.test.toarray(), X[:5] + X[5:10])
    assert [part.shape for pair in data.splits for part in pair] == [(5, 12)] * 4
    with pytest.raises(InputError, match="one vocabulary"):
        prepare(X, Settings(), label="", splits=[(X[:5, :3], X[5:10, :3])])
    with pytest.raises(InputError, match="must hold counts"):
        prepare(-X, Settings(), label="")


def test_documents_without_words_are_left_out_beside_given_splits():
    X = numbered(6, n_short=4)
    data = prepare(X, Settings(), label="", splits=[(X[:2], X[2:4])])
    assert np.array_equal(data.train.toarray(), X[:8])
    zeros = sparse.csr_array(([0.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 12))  # an explicit one
    data = prepare(zeros, Settings(), label="", splits=[(X[:2], X[2:4])])
    assert np.array_equal(data.train.toarray(), zeros.toarray()[1:])


def test_fractional_counts_are_split_as_tokens():
    X = np.array([[0.5, 0.5, 0.0], [1.5, 0.0, 0.0], [0.0, 0.9, 0.0], [1.0, 0.0, 0.0]])
    with pytest.raises(InputError, match="There are 2 documents of at least two words"):
        prepare(X, Settings(n_test=2), label="")
    data = prepare(X, Settings(n_test=1), label="")
    assert data.train.shape[0] == 3
    for parts in data.splits:
        assert all(part.nnz for part in parts)


@cases("X", [np.zeros((0, 3)), np.zeros((4, 3))])
@cases("splits", [None, [([[1, 0, 0]], [[0, 1, 0]])]])
def test_empty_collections_are_rejected(X, splits):
    with pytest.raises(InputError, match="no documents with words"):
        prepare(X, Settings(n_test=1), label="", splits=splits)


ONE = np.ones((3, 12))
ODD_SPLITS = {
    "none": ([], "at least one"),
    "unequal parts": ([(ONE, ONE[:2])], "the same documents"),
    "unequal pairs": ([(ONE, ONE), (ONE[:1], ONE[:1])], "the same documents"),
    "no documents": ([(ONE[:0], ONE[:0])], "at least one"),
    "unequal words": ([(ONE, ONE[:, :5])], "the same documents"),
    "other words": ([(ONE[:, :5], ONE[:, :5])], "have 5 words, those to learn from 12"),
}


@cases("kind", ODD_SPLITS)
def test_inconsistent_splits_are_rejected(kind):
    splits, message = ODD_SPLITS[kind]
    with pytest.raises(InputError, match=message):
        prepare(numbered(20), Settings(), label="", splits=splits)


def test_small_settings_keep_given_values():
    small = Settings.small(n_topics=77, seed=3, n_seeds=2)
    assert (small.n_topics, small.quick, list(small.seeds())) == (77, True, [3, 4])
    assert small.n_test < Settings().n_test
    assert Settings(**small.to_dict()) == small
    assert small.changed(n_topics=5).n_topics == 5
    assert set(small.to_dict()) == set(Settings.names())


@cases(
    ("name", "values"),
    {
        "held_out": [0.0, 1.0, -0.3, 2, np.nan, None, "0.3"],
        "doc_topic_prior": [0, -1.0, 1e7, np.nan, "0.1", True],
        "topic_word_prior": [0, -1.0, 1e7, np.inf, "0.1", [0.1]],
        "learning_decay": [-0.1, 1.1, np.nan, None],
        "learning_offset": [-1, 1e13, np.nan, None],
        "n_iter": [1],
        "n_jobs": [0, 1.5, "2"],
    }.items(),
)
def test_out_of_range_settings_are_rejected(name, values):
    for value in values:
        with pytest.raises(InputError, match=name):
            Settings(**{name: value})


@cases("name", Settings.WHOLE)
@cases("value", [-1, 1.5, True, None, "3"])
def test_bad_integer_settings_are_rejected(name, value):
    with pytest.raises(InputError, match=name):
        Settings(**{name: value})


def test_unknown_scoring_method_is_rejected():
    with pytest.raises(InputError, match="'magic' to score with"):
        Settings(scoring="magic")
