"""Coherence against explicit sets of documents."""

import math
from decimal import Decimal, localcontext
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from opelda.corpus import Corpus, MiniBatch, Vocabulary, mini_batches, stream
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import _coherence, coherence
from opelda.metrics._coherence import Cooccurrences
from tests.cases import cases

MEASURES = ("npmi", "c_v", "u_mass", "c_uci")
EPSILON = 1e-12
LEAST = math.log(EPSILON)

# few different weights: ties everywhere
weights = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 4), st.just(7)),
    elements=st.sampled_from([0, 0.1, 0.2, 0.5]),
)
# words of zero, few and all documents
matrices = st.builds(
    lambda n_docs, densities, seed: (
        (np.random.default_rng(seed).random((n_docs, 7)) < densities)
        * np.random.default_rng(seed).choice([0.5, 1, 3, 1e13], (n_docs, 7))
    ),
    st.integers(1, 12),
    hnp.arrays(np.float64, 7, elements=st.sampled_from([0, 0.2, 0.5, 0.9, 1])),
    st.integers(0, 999),
)


def by_sets(measure, words, X):
    """Return a topic's coherence, pair by pair."""
    n = len(X)
    docs = {w: {d for d in range(n) if X[d][w] > 0} for w in words}

    def p(*pair):
        return len(set.intersection(*(docs[w] for w in pair))) / n

    def smoothed(i, j):
        if not docs[i] or not docs[j]:
            return 0.0
        return math.log((p(i, j) + EPSILON) / p(i) / p(j)) / -math.log(p(i, j) + EPSILON)

    if measure == "c_v":
        vectors = [[smoothed(i, j) for j in words] for i in words]
        total = [sum(column) for column in zip(*vectors, strict=True)]
        cosines = []
        for vector in vectors:
            length = math.hypot(*vector) * math.hypot(*total)
            inner = sum(v * t for v, t in zip(vector, total, strict=True))
            cosines.append(inner / length if length else 0.0)
        return sum(cosines) / len(cosines)
    scores = []
    for i, j in combinations(words, 2):
        if measure == "npmi":
            scores.append(
                -1.0
                if p(i, j) == 0
                else 1.0
                if p(i, j) == 1
                else math.log(p(i, j) / (p(i) * p(j))) / -math.log(p(i, j))
            )
        elif measure == "u_mass":
            scores.append(math.log((p(i, j) + EPSILON) / p(i)) if docs[i] else LEAST)
        else:
            known = docs[i] and docs[j]
            scores.append(math.log((p(i, j) + EPSILON) / p(i) / p(j)) if known else LEAST)
    return sum(scores) / len(scores)


def top(row, n):
    return sorted(range(len(row)), key=lambda j: (-row[j], j))[:n]


@pytest.mark.parametrize("measure", MEASURES)
@given(weights, matrices, st.integers(2, 9))
def test_coherence_equals_set_counts(measure, topics, X, n_words):
    found = coherence(topics, X, measure=measure, n_words=n_words)
    expected = [by_sets(measure, top(row, n_words), X) for row in topics]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if measure == "npmi" else 1e-9)
    assert found.dtype == np.float64
    low, high = {"u_mass": (LEAST, 1e-9), "c_uci": (LEAST, math.log(len(X)) + 1e-9)}.get(
        measure, (-1, 1)
    )
    assert ((found >= low - 1e-9) & (found <= high)).all()  # and so never NaN
    ids = np.array([top(row, n_words) for row in topics])
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        assert np.array_equal(coherence(ids, kind(X), measure=measure, n_words=n_words), found)


def test_rows_of_word_ids_are_not_counts():
    """Beside one document whose counts add up to one, as a topic's probabilities do."""
    X = np.array([[0, 0, 0, 0, 0, 0.5, 0.5]])
    ids = np.array([[3, 1, 2, 0, 5, 4, 6]])
    words = np.array([[0.2, 0.5, 0.3, 0.6, 0.05, 0.1, 0.0]])
    assert coherence(ids, X, n_words=7) == coherence(words, X, n_words=7)


@pytest.mark.parametrize("measure", MEASURES)
@given(weights, matrices, st.data())
def test_coherence_does_not_depend_on_order_and_batches(measure, topics, X, data):
    found = coherence(topics, X, measure=measure)
    order = data.draw(st.permutations(range(len(X))))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=4)))
    parts = np.split(X[order], cuts)
    kinds = [
        np.asarray,
        sparse.csr_array,
        lambda part: SimpleNamespace(X=part),
        lambda part: MiniBatch(sparse.csr_array(part), None, None, 0.0),
        # words that have not been seen yet have no column yet
        lambda part: part[:, : max(np.flatnonzero(part.any(axis=0)), default=0) + 1],
    ]
    batches = [data.draw(st.sampled_from(kinds))(part) for part in parts]
    for many in (iter(batches), batches, tuple(batches), (batch for batch in batches)):
        assert np.array_equal(coherence(topics, many, measure=measure), found)
    swapped = data.draw(st.permutations(range(len(topics))))
    moved = coherence(topics[list(swapped)], X, measure=measure)
    assert np.array_equal(moved, found[list(swapped)])


def test_coherence_does_not_depend_on_how_pairs_are_counted(monkeypatch):
    rng = np.random.default_rng(0)
    topics, X = rng.dirichlet(np.ones(30), 6), rng.random((100, 30)) < 0.3
    by_masks = coherence(topics, X)
    monkeypatch.setattr(_coherence, "MOST_BITS", 0)
    assert np.array_equal(coherence(topics, X), by_masks)


def test_npmi_is_the_default():
    rng = np.random.default_rng(0)
    topics, X = rng.dirichlet(np.ones(30), 6), rng.random((100, 30)) < 0.3
    for options in ({}, {"n_words": 4}):
        found = coherence(topics, X, **options)
        assert np.array_equal(coherence(topics, iter([X]), measure="npmi", **options), found)


def test_npmi_of_known_pairs():
    X = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 0, 0, 1, 0], [1, 0, 1, 0, 0]])
    always = coherence([[0, 1]], X)  # one word is everywhere: no news
    assert always == pytest.approx([0.0])
    assert coherence([[1, 4]], X).tolist() == [-1.0]  # never seen
    assert coherence([[2, 3]], X).tolist() == [-1.0]  # never together
    assert coherence([[0, 1]], X[:2]).tolist() == [1.0]  # always together, everywhere
    assert coherence([[0, 1], [0, 4]], np.zeros((3, 5))).tolist() == [-1.0, -1.0]


@given(st.integers(2, 2 * 10**9), st.data())
def test_npmi_of_very_many_documents(n_docs, data):
    """In 60 digits, because logarithms of shares near 1 nearly cancel."""
    some = st.one_of(st.integers(1, n_docs - 1), st.integers(max(1, n_docs - 9), n_docs - 1))
    both = data.draw(some)
    a = data.draw(st.integers(both, n_docs))
    b = data.draw(st.integers(both, n_docs + both - a))
    together = Cooccurrences(np.array([[0, 1]]))
    together.n_docs = n_docs
    together.counts[:] = [[a, both], [both, b]]
    with localcontext() as context:
        context.prec = 60
        n, n_a, n_b, n_ab = map(Decimal, (n_docs, a, b, both))
        expected = float((n * n_ab / (n_a * n_b)).ln() / (n / n_ab).ln())
    assert _coherence._npmi(together)[0] == pytest.approx(expected, abs=1e-12)


def test_undefined_cases():
    X = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    assert coherence([[3, 0]], X, measure="u_mass") == pytest.approx([LEAST])
    assert coherence([[0, 3]], X, measure="u_mass") == pytest.approx([LEAST])
    assert coherence([[0, 3]], X, measure="c_uci") == pytest.approx([LEAST])
    assert coherence([[0, 3]], X, measure="c_v") == pytest.approx([0.5])  # one word, all its own
    for measure in MEASURES:
        nowhere = coherence([[0, 1, 2]], 0 * X, measure=measure)
        assert nowhere == pytest.approx([{"npmi": -1, "c_v": 0}.get(measure, LEAST)])
        everywhere = coherence([[0, 1, 2]], 0 * X + 1, measure=measure)
        assert everywhere == pytest.approx([{"npmi": 1, "c_v": 1}.get(measure, 0)], abs=1e-9)


def test_explicit_zeros_and_repeated_entries():
    full = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    X = sparse.csr_array((full.ravel(), np.tile([0, 1], 3), np.arange(4) * 2), shape=(3, 2))
    twice = sparse.coo_array((np.ones(5), ([0, 0, 0, 1, 2], [0, 0, 1, 0, 1])), shape=(3, 2))
    for measure in MEASURES:
        expected = coherence([[0, 1]], full, measure=measure)
        assert np.array_equal(coherence([[0, 1]], X, measure=measure), expected)
        assert np.array_equal(coherence([[0, 1]], twice, measure=measure), expected)


def test_anything_with_counts_is_accepted():
    texts = ["green tea", "black tea with milk", "green cup", "milk and tea"] * 5
    vocabulary = Vocabulary(["tea", "milk", "green", "cup"])
    X = vocabulary.count(texts)
    expected = coherence([[0, 1, 2], [0, 2, 3]], X, measure="c_v")
    for source in (
        Corpus(X, vocabulary),
        stream(texts, batch_size=3, vocabulary=vocabulary),
        mini_batches(texts, batch_size=6, vocabulary=vocabulary),
        X.toarray().tolist(),
        list(X.toarray()),
        [X[:7], Corpus(X[7:])],
    ):
        found = coherence([[0, 1, 2], [0, 2, 3]], source, measure="c_v")
        assert np.array_equal(found, expected)
    topics = Topics(np.full((1, 4), 0.25))
    assert np.array_equal(coherence(topics, X, n_words=3), coherence([[0, 1, 2]], X))


def test_stream_with_a_growing_vocabulary():
    texts = ["tea", "tea cup", "green tea", "green cup", "black tea"]
    vocabulary = Vocabulary(growing=True)
    batches = list(mini_batches(texts, batch_size=2, vocabulary=vocabulary))
    assert len({batch.X.shape[1] for batch in batches}) > 1
    X = vocabulary.count(texts)
    topics = np.eye(len(vocabulary)) + np.linspace(0.3, 0, len(vocabulary))
    assert np.array_equal(coherence(topics, batches), coherence(topics, X))


def test_reassigned_columns_are_rejected():
    evicting = stream(["tea", "cup", "pot", "pot"], batch_size=2, max_features=2)
    with pytest.raises(InputError, match="Mini-batch 1 replaced words of columns"):
        coherence([[0, 1]], evicting)


@cases("measure", ["npmi", "c_v", "u_mass", "c_uci"])
def test_result_does_not_depend_on_document_order(measure):
    rng = np.random.default_rng(0)
    documents, topics = rng.poisson(0.5, (40, 12)), rng.dirichlet(np.ones(12), 3)
    found = coherence(topics, documents, measure=measure, n_words=5)
    again = coherence(topics, rng.permutation(documents), measure=measure, n_words=5)
    assert np.array_equal(found, again)


X = np.ones((2, 3))


@cases(
    ("call", "message"),
    [
        (lambda: coherence([[0.5, 0.5]], X), "X has 3 columns but the topics have 2 words"),
        (lambda: coherence([[0, 3]], X), "have word 3, but X has only 3 columns"),
        (lambda: coherence([[0, 0]], X), r"row 0 is \[0, 0\]"),
        (lambda: coherence([[0, 1], [-1, 2]], X), r"row 1 is \[-1, 2\]"),
        (lambda: coherence([[1.0]], [[1]]), "at least 2 words"),
        (lambda: coherence([[0, 1]], X, n_words=1), "n_words must be a whole number, at least 2"),
        (lambda: coherence([[0, 1]], X[:0]), "no documents"),
        (lambda: coherence([[0, 1]], -X), "counts must be"),
        (lambda: coherence([[0, 1]], X, measure="c_w"), "measure must be 'npmi', .* got 'c_w'"),
        (lambda: coherence([[0, 1]], X, measure=["npmi"]), "measure must be"),
        (lambda: coherence([[0, 1]], iter([])), "no documents"),
        (lambda: coherence([[0, 1]], [X[:0], X[:0]]), "no documents"),
        (lambda: coherence([[0, 1]], [X, -X]), "counts must be"),
        (lambda: coherence([[0, 1]], iter([X, "tea"])), "X must"),
        (lambda: coherence([[0.5, 0.5]], [X]), "2 words but mini-batch 0 has 3 columns"),
        (lambda: coherence([[0, 3]], [X, X]), "have word 3, but X has only 3 columns"),
        (lambda: coherence([[0, 1]], None), "X must have shape"),
        (lambda: coherence([[0, 1]], "tea"), "X contains texts"),
        (lambda: coherence([[0, 1]], []), "X must have shape"),
        (lambda: coherence([[0, 1]], np.ones(3)), "X must have shape"),
    ],
)
def test_bad_input_is_rejected(call, message):
    with pytest.raises(InputError, match=message):
        call()
