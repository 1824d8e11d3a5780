"""Word rankings against their definitions."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from opelda.errors import InputError
from opelda.report import label_topics, rank_words
from tests.cases import cases

# few distinct values, for ties, and zeros, as in ML learning
TABLES = npst.arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 12)),
    elements=st.sampled_from([0.0, 1e-40, 1e-12, 0.1, 0.25, 0.5, 1.0]),
)


def best(scores, n):
    """Return the highest scores; ties go to the lower id."""
    return sorted(range(len(scores)), key=lambda j: (-scores[j], j))[:n]


def ecdf(values):
    return [sum(other <= value for other in values) / len(values) for value in values]


def relevance(topics, weights, lambda_):
    p = np.maximum(topics, 1e-30)
    marginal = np.maximum((weights / weights.sum()) @ topics, 1e-30)
    return lambda_ * np.log(p) + (1 - lambda_) * np.log(p / marginal)


def frex(topics):
    total = np.maximum(topics.sum(axis=0), 1e-30)
    scores = []
    for row in topics:
        pairs = zip(ecdf(row), ecdf(row / total), strict=True)
        scores.append([2 / (1 / f + 1 / e) for f, e in pairs])
    return scores


@given(TABLES, st.integers(1, 15))
def test_most_probable_words(topics, n):
    expected = [best(row, n) for row in topics]
    assert rank_words(topics, n, by="probability").tolist() == expected


@given(TABLES, st.integers(1, 15))
def test_frex_is_the_harmonic_mean_of_ranks(topics, n):
    expected = [best(row, n) for row in frex(topics)]
    assert rank_words(topics, n, by="frex").tolist() == expected


@given(TABLES, st.integers(1, 15), st.sampled_from([0.0, 0.3, 0.6, 1.0]), st.randoms())
def test_relevance_matches_its_formula(topics, n, lambda_, random):
    weights = np.array([random.choice([0.5, 1.0, 3.0]) for _ in topics])
    found = rank_words(topics, n, by="relevance", weights=weights, lambda_=lambda_)
    scores = relevance(topics, weights, lambda_)
    for row, own in zip(scores, found, strict=True):
        # the same words up to rounding: no omitted word beats a chosen word
        assert len(own) == len(set(own)) == min(n, len(row))
        assert np.allclose(row[own], np.sort(row)[::-1][: len(own)])


def test_integer_weights_are_accepted():
    assert rank_words(np.array([[3, 0, 7]], np.uint8), 2, by="probability").tolist() == [[2, 0]]


def test_relevance_with_lambda_one_is_probability():
    topics = np.random.default_rng(0).dirichlet(np.full(50, 0.3), 4)
    assert np.array_equal(rank_words(topics, lambda_=1.0), rank_words(topics, by="probability"))


@given(TABLES, st.integers(1, 15))
def test_tfidf_treats_topics_as_documents(topics, n):
    frequency = np.maximum(topics.mean(axis=0), 1e-30)
    scores = np.maximum(topics, 1e-30) * np.log1p(1 / (len(topics) * frequency))
    for row, own in zip(scores, rank_words(topics, n, by="tfidf"), strict=True):
        assert np.allclose(row[own], np.sort(row)[::-1][: len(own)])


@given(TABLES, st.integers(1, 15))
def test_exclusive_words_are_of_the_topic_that_has_them_most(topics, n):
    found = rank_words(topics, n, by="exclusive", weights=np.ones(len(topics)))
    listed = set()
    for k, own in enumerate(found.tolist()):
        first = [all(topics[k, j] >= topics[:, j]) and j not in listed for j in own]
        owner = topics.argmax(axis=0)  # of equals the first
        n_own = ((owner == k) & (topics[k] > 0)).sum()
        has = own[: min(n, n_own)]
        assert all(first[: len(has)])  # before all others
        assert (np.diff(topics[k, has]) <= 0).all()
        listed |= set(has)


def independent_words(topics, n, X):
    """From 2n words, remove the least coherent word until n remain."""
    shares = [(X[:, j] > 0).mean() for j in range(X.shape[1])]

    def npmi(a, b):
        both = ((X[:, a] > 0) & (X[:, b] > 0)).mean()
        if both in (0.0, 1.0):
            return 2 * both - 1
        return np.log(both / (shares[a] * shares[b])) / -np.log(both)

    for row in rank_words(topics, 2 * n):
        left = row.tolist()
        while len(left) > n:
            sums = [sum(npmi(a, b) for b in left if b != a) for a in left]
            least = min(sums)
            left.pop(max(i for i, value in enumerate(sums) if value < least + 1e-9))
        yield left


def test_coherence_ranking_matches_the_reference():
    rng = np.random.default_rng(5)
    topics = rng.dirichlet(np.full(30, 0.5), 4)
    X = rng.poisson(rng.dirichlet(np.full(4, 0.2), 60) @ topics * 20)
    found = rank_words(topics, 5, by="coherence", X=X)
    assert found.tolist() == list(independent_words(topics, 5, X))
    assert np.array_equal(rank_words(topics, 30, by="coherence", X=X), rank_words(topics, 30))


def test_relevance_depends_on_weights():
    # word 0 is common in the heavy topic; word 1 is as common in a light one
    topics = np.array([[0.4, 0.4, 0.2], [0.9, 0.05, 0.05], [0.05, 0.9, 0.05]])
    heavy = rank_words(topics, 1, by="relevance", weights=[0.1, 0.89, 0.01], lambda_=0.0)
    light = rank_words(topics, 1, by="relevance", weights=[0.1, 0.01, 0.89], lambda_=0.0)
    assert heavy[0, 0] != 0
    assert light[0, 0] != 1


def test_float32_and_strided_topics_are_accepted():
    topics = np.random.default_rng(1).dirichlet(np.full(40, 0.3), 3)
    strided = np.asfortranarray(topics.astype(np.float32))
    for by in ("probability", "relevance", "exclusive", "tfidf", "frex"):
        assert np.array_equal(
            rank_words(strided, 5, by=by), rank_words(strided.astype(np.float64), 5, by=by)
        )


@cases(
    ("options", "message"),
    [
        ({"by": "beauty"}, "by must be"),
        ({"by": "relevance", "lambda_": 1.5}, "lambda_ must be"),
        ({"by": "relevance", "lambda_": float("nan")}, "lambda_ must be"),
        ({"by": "relevance", "weights": [1.0]}, "weights has shape"),
        ({"by": "relevance", "weights": [1.0, -1.0]}, "must be non-negative"),
        ({"by": "relevance", "weights": [0.0, 0.0]}, "not all 0"),
        ({"n_words": 0}, "n_words must be"),
        ({"by": "coherence"}, 'X must be given with by="coherence"'),
        ({"X": [[1, 1]]}, 'X has no effect without by="coherence"'),
    ],
)
def test_invalid_options_are_rejected(options, message):
    with pytest.raises(InputError, match=message):
        rank_words([[0.5, 0.5], [0.1, 0.9]], **options)


@given(TABLES)
def test_labels_are_words_of_the_topic(topics):
    words = [f"{j}word" for j in range(topics.shape[1])]
    labels = label_topics(topics, n_words=2, feature_names=words)
    assert len(labels) == len(topics)
    for label in labels:
        parts = re.sub(r" \(\d+\)$", "", label).split(", ")
        assert len(parts) >= 1
        assert set(parts) <= set(words)
    assert len(set(labels)) == len(labels)


def test_labels_are_extended_only_when_ambiguous():
    topics = np.array([[0.5, 0.3, 0.2, 0.0, 0.0], [0.5, 0.3, 0.0, 0.2, 0.0], [0, 0, 0, 0.1, 0.9]])
    labels = label_topics(topics, n_words=1, feature_names=["tea", "cup", "pot", "mug", "jug"])
    assert labels[2] == "jug"
    again = label_topics(topics, n_words=1, feature_names=list("abcde"), only=[2, 0])
    assert again == [
        label_topics(topics, n_words=1, feature_names=list("abcde"))[k] for k in (2, 0)
    ]
    alike = label_topics([[0.6, 0.4]] * 3, feature_names=["tea", "cup"])
    assert len(set(alike)) == 3


def test_labels_prefer_frequent_and_exclusive_words():
    rng = np.random.default_rng(3)
    topics = rng.dirichlet(np.full(200, 0.01), 2)
    shared, own = 0, (10, 20)
    topics[:, shared] = 5.0
    topics[0, own[0]], topics[1, own[1]] = 3.0, 3.0
    topics[0, own[1]] = topics[1, own[0]] = 0.0
    topics /= topics.sum(axis=1, keepdims=True)
    words = [f"w{j:03}" for j in range(200)]
    assert [label.split(", ")[0] for label in label_topics(topics, feature_names=words)] == [
        "w010",
        "w020",
    ]


def test_labels_have_no_two_inflections_of_a_word():
    topics = [[0.3, 0.3, 0.3, 0.1]]
    words = ["model", "models", "modeling", "data"]
    assert label_topics(topics, feature_names=words) == ["model, data"]


def test_invalid_label_arguments_are_rejected():
    with pytest.raises(InputError, match="feature_names has 3 words but the topics have 2"):
        label_topics([[0.5, 0.5]], feature_names=["a", "b", "c"])
    with pytest.raises(InputError, match="n_words must be"):
        label_topics([[0.5, 0.5]], n_words=0)
