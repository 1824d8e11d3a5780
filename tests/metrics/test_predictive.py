"""Log predictive probability against explicit sums over documents, words and topics."""

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from opelda.corpus import generate
from opelda.errors import InputError
from opelda.inference import OPE, Topics, infer
from opelda.metrics import (
    PredictiveProbability,
    log_predictive_probability,
    split_tokens,
)
from tests.cases import cases

MADE = generate(60, n_words=40, n_topics=5, n_tokens=12, random_state=4)


def by_hand(observed, held, topics, **options):
    """Return each document's log probability and held-out mass, word by word."""
    theta = infer(observed, topics, **options).theta.astype(float)
    topics = np.asarray(topics)
    scores, masses = [], []
    for mixture, words in zip(theta, held.toarray().astype(float), strict=True):
        score = 0.0
        for j, count in enumerate(words):
            if count:
                x = sum(mixture[k] * topics[k][j] for k in range(len(topics)))
                score += count * math.log(max(x, 1e-30))
        scores.append(score)
        masses.append(words.sum())
    return np.array(scores), np.array(masses)


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["vb", "ope", "fw"]),
    st.sampled_from([None, 0.1, 2.0]),
    st.integers(1, 3),
)
def test_score_equals_explicit_sums(seed, method, alpha, n_splits):
    X = MADE.X[:25] * np.float32(1.5)
    found = log_predictive_probability(
        MADE.topics,
        X,
        doc_topic_prior=alpha,
        method=method,
        n_splits=n_splits,
        random_state=seed,
    )
    long_enough = X[np.ceil(X.toarray()).sum(axis=1) >= 2]
    rng = np.random.default_rng(seed)
    means, total, mass = [], 0.0, 0.0
    for _ in range(n_splits):
        observed, held = split_tokens(long_enough, random_state=rng)
        scores, masses = by_hand(
            observed,
            held,
            MADE.topics,
            doc_topic_prior=alpha,
            method=method,
            random_state=rng,
        )
        means.append(scores / masses)
        total, mass = total + scores.sum(), mass + masses.sum()
    per_document = np.mean(means, axis=0)
    n = len(per_document)
    assert found.n_documents == n
    assert found.n_left_out == 25 - n
    assert found.macro == pytest.approx(per_document.mean(), abs=1e-9)
    assert found.micro == pytest.approx(total / mass, abs=1e-9)
    assert found.splits == pytest.approx(np.mean(means, axis=1), abs=1e-9)
    assert found.macro == pytest.approx(np.mean(found.splits), abs=1e-12)
    spread = math.sqrt(sum((d - per_document.mean()) ** 2 for d in per_document) / (n - 1) / n)
    assert found.standard_error == pytest.approx(spread, abs=1e-9)
    assert float(found) == found.macro


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1), st.integers(0, 99))
def test_one_word_documents_have_a_known_score(documents, seed):
    """Then every split is the same, and the answer is known without one."""
    topics = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.1, 0.7]])
    X = np.zeros((len(documents), 4))
    observed, held = np.zeros_like(X), np.zeros_like(X)
    for i, (word, n) in enumerate(documents):
        X[i, word] = n
        n_held = min(max(round(0.3 * n), 1), n - 1) if n >= 2 else 0
        observed[i, word], held[i, word] = n - n_held, n_held
    usable = X.sum(axis=1) >= 2
    if not usable.any():
        with pytest.raises(InputError, match="no document with at least 2 tokens"):
            log_predictive_probability(topics, X)
        return
    found = log_predictive_probability(topics, X, random_state=seed, n_splits=2)
    scores, masses = by_hand(observed[usable], sparse.csr_array(held[usable]), topics, method="vb")
    assert found.macro == pytest.approx((scores / masses).mean(), abs=1e-9)
    assert found.micro == pytest.approx(scores.sum() / masses.sum(), abs=1e-9)
    assert found.n_left_out == (~usable).sum()
    assert math.isinf(found.standard_error) == (usable.sum() == 1)


def test_words_of_no_topic_count_as_1e_30():
    topics = [[1.0, 0.0, 0.0]]
    found = log_predictive_probability(topics, [[0, 3, 0]], random_state=0)
    assert found.macro == pytest.approx(math.log(1e-30))
    # words it has and words it has not, each with its own weight: 4 tokens, 1 held out
    found = log_predictive_probability(topics, [[2, 2, 0]], random_state=0, n_splits=40)
    assert set(np.round(found.splits, 3)) == {0.0, round(math.log(1e-30), 3)}


@pytest.mark.parametrize("seed", range(1))
def test_the_true_topics_predict_best(seed):
    made = generate(300, n_words=60, n_topics=4, n_tokens=50, separated=True, random_state=seed)
    wrong = np.random.default_rng(seed + 1).permuted(made.topics, axis=1)
    true, shuffled, flat = (
        log_predictive_probability(topics, made.X, random_state=seed, n_splits=2)
        for topics in (made.topics, wrong, np.full((1, 60), 1 / 60))
    )
    assert true.macro > flat.macro + 10 * true.standard_error
    assert true.macro > shuffled.macro + 10 * true.standard_error
    assert flat.macro == pytest.approx(-math.log(60), rel=1e-6)
    assert flat.standard_error < 1e-6


def test_score_depends_only_on_topics_documents_and_seed(monkeypatch):
    options = {"random_state": 5, "n_splits": 2}
    expected = log_predictive_probability(MADE.topics, MADE.X, **options)
    single = log_predictive_probability(Topics(MADE.topics), MADE.X, **options)
    assert single.macro == pytest.approx(expected.macro, abs=1e-6)
    rounded = Topics(MADE.topics).components
    assert log_predictive_probability(rounded, MADE.X, **options) == single
    assert log_predictive_probability(MADE.topics, MADE.X, n_jobs=2, **options) == expected
    assert log_predictive_probability(MADE.topics, MADE.X.toarray(), **options) == expected
    assert log_predictive_probability(MADE.topics, MADE.X, random_state=6).macro != expected.macro
    monkeypatch.setattr("opelda.engines.seam.PREDICTED_AT_ONCE", 7)
    assert log_predictive_probability(MADE.topics, MADE.X, **options) == expected


def test_splits_do_not_depend_on_method_and_n_splits():
    """One flat topic: the mixture is known, and only the split decides."""
    topic = MADE.topics[:1]
    five = log_predictive_probability(topic, MADE.X, random_state=1)
    two = log_predictive_probability(topic, MADE.X, random_state=1, method=OPE(), n_splits=2)
    assert two.splits == pytest.approx(five.splits[:2], rel=1e-6)
    assert len(set(five.splits)) == 5


@cases("method", ["vb", "ope", "cgs"])
def test_result_does_not_depend_on_document_order(method):
    options = {"random_state": 7, "method": method, "n_splits": 2}
    X = MADE.X[np.ceil(MADE.X.toarray()).sum(axis=1) >= 2]
    n = X.shape[0]
    whole = log_predictive_probability(MADE.topics, X, **options)
    for order in range(5):
        moved = np.random.default_rng(order).permutation(n)
        assert log_predictive_probability(MADE.topics, X[moved], **options) == whole, "every bit"
    assert len(np.unique(X.toarray(), axis=0)) == n  # a part is scored as part of the whole
    parts = [
        log_predictive_probability(MADE.topics, X[rows], **options)
        for rows in (slice(0, n // 3), slice(n // 3, n))
    ]
    together = sum(part.macro * part.n_documents for part in parts) / n
    assert together == pytest.approx(whole.macro, abs=1e-12)


def test_perplexity_is_its_exponential():
    options = {"random_state": 2, "method": "ope", "doc_topic_prior": 0.2, "held_out": 0.5}
    found = log_predictive_probability(MADE.topics, MADE.X, n_splits=2, **options)
    assert found.perplexity == math.exp(-found.macro)
    options["engine"] = "reference"
    exact = log_predictive_probability(MADE.topics, MADE.X, n_splits=2, **options)
    assert exact.perplexity == pytest.approx(found.perplexity, rel=1e-4)


def test_perplexity_of_the_impossible_is_finite():
    assert log_predictive_probability([[1.0, 0.0]], [[0, 9]]).perplexity == pytest.approx(1e30)


@cases(
    ("arguments", "message"),
    [
        ({"X": np.zeros((3, 40))}, "no document with at least 2 tokens"),
        ({"X": np.zeros((0, 40))}, "no document with at least 2 tokens"),
        ({"X": np.ones((3, 39))}, "39 columns"),
        ({"X": [[1, 0] * 20, [1e7] * 40]}, "Document 1 has 400000000 tokens"),
        ({"n_splits": 0}, "n_splits must be"),
        ({"n_splits": 1.5}, "n_splits must be"),
        ({"held_out": 1.0}, "held_out must be"),
        ({"method": "guess"}, "Unknown method"),
        ({"doc_topic_prior": -1}, "doc_topic_prior must be"),
        ({"topics": [[2.0] * 40]}, "sum to 1"),
    ],
)
def test_bad_input_is_rejected(arguments, message):
    with pytest.raises(InputError, match=message):
        log_predictive_probability(**{"X": MADE.X, "topics": MADE.topics, **arguments})


EIGHTHS = np.random.default_rng(3).multinomial(8, [0.2] * 5, 3)
KINDS = {
    "fractions": [[Fraction(int(n), 8) for n in row] for row in EIGHTHS],
    "texts": (EIGHTHS / 8).astype(str),
    "objects": (EIGHTHS / 8).astype(object),
    "half precision": (EIGHTHS / 8).astype(np.float16),
    "single precision": (EIGHTHS / 8).astype(np.float32),
    "sparse": sparse.csr_array(EIGHTHS / 8),
}


@cases("kind", KINDS)
@cases("engine", ["cpu", "reference"])
def test_topics_of_any_dtype_are_accepted(kind, engine):
    X = np.random.default_rng(4).poisson(2, (6, 5))
    options = {"n_splits": 2, "random_state": 0, "engine": engine}
    expected = log_predictive_probability(EIGHTHS / 8, X, **options)
    found = log_predictive_probability(KINDS[kind], X, **options)
    assert float(found) == pytest.approx(float(expected), rel=1e-12)


def test_integer_weights_are_valid_topics():
    X = [[3, 1], [0, 4]]
    same = [
        float(log_predictive_probability(topics, X, random_state=0, engine="reference"))
        for topics in ([[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]])
    ]
    assert same[0] == same[1]


def test_result_is_read_only():
    found = PredictiveProbability(-1.0, -1.0, 0.1, 2, 0, (-1.0,))
    with pytest.raises(AttributeError):
        found.macro = 0.0


def test_single_unnormalised_topic_is_normalised():
    other = SimpleNamespace(components_=MADE.topics * np.array([[1.0], [1.0], [5.0], [1.0], [1.0]]))
    ours, theirs = (
        log_predictive_probability(topics, MADE.X, random_state=0)
        for topics in (other, MADE.topics)
    )
    assert ours.splits == pytest.approx(theirs.splits)
