"""Arrays, Topics and fitted models give equal measures for equal topics."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import NMF, LatentDirichletAllocation

from opelda import MLOPE, OnlineOPE, StreamingVB, TopicModel
from opelda.corpus import Vocabulary, generate, read, stream
from opelda.metrics import (
    coherence,
    inference_spread,
    log_predictive_probability,
    match_topics,
    predict_held_out,
    split_tokens,
    topic_diversity,
    topic_exclusivity,
    topic_stability,
)
from tests.cases import cases

MADE = generate(120, n_words=40, n_topics=4, n_tokens=30, random_state=3)
X = MADE.X
SPLITS = [split_tokens(X, random_state=0)]
TEXTS = ["green tea in a cup", "black tea", "red wine", "a glass of red wine", "tea or wine"] * 8

MEASURES = {
    "log_predictive_probability": lambda t, x: log_predictive_probability(t, x, random_state=0),
    "inference_spread": lambda t, x: inference_spread(t, x, n_runs=2, random_state=0).mean,
    "coherence": lambda t, x: coherence(t, x, measure="c_v"),
    "npmi": lambda t, x: coherence(t, x, n_words=5),
}
INFERRING = ("log_predictive_probability", "inference_spread")
OF_TOPICS = {
    "predict_held_out": lambda t: predict_held_out(t, SPLITS, random_state=0),
    "topic_diversity": topic_diversity,
    "topic_exclusivity": topic_exclusivity,
    "match_topics": lambda t: match_topics(t, MADE.topics)[1],
    "topic_stability": lambda t: topic_stability([t, MADE.topics]),
}


def numbers(found):
    return np.asarray(found if isinstance(found, np.ndarray) else float(found))


@pytest.fixture(
    scope="module",
    params=[OnlineOPE, MLOPE, StreamingVB, TopicModel],
    ids=lambda learner: learner.__name__,
)
def learner(request):
    return request.param(4, doc_topic_prior=0.3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def texts_model():
    return OnlineOPE(2, random_state=0).fit(read(TEXTS))


@cases("name", MEASURES)
def test_learner_equals_its_topics_and_prior(learner, name):
    options = {} if name not in INFERRING else {"doc_topic_prior": learner.doc_topic_prior}
    by_array = {
        "log_predictive_probability": log_predictive_probability,
        "inference_spread": lambda *given, **how: inference_spread(*given, **how, n_runs=2),
        "coherence": lambda *given: coherence(*given, measure="c_v"),
        "npmi": lambda *given: coherence(*given, n_words=5),
    }[name]
    seed = {"random_state": 0} if name in INFERRING else {}
    expected = by_array(learner.components_, X, **options, **seed)
    expected = getattr(expected, "mean", expected) if name == "inference_spread" else expected
    assert np.array_equal(numbers(MEASURES[name](learner, X)), numbers(expected))
    if name in INFERRING:  # one that is given counts
        other = by_array(learner, X, doc_topic_prior=2.0, **seed)
        other = other.mean if name == "inference_spread" else other
        assert not np.array_equal(numbers(other), numbers(expected))


@cases("name", OF_TOPICS)
def test_measures_without_documents_take_learners(name):
    learner = OnlineOPE(4, random_state=0).fit(X)
    found, expected = OF_TOPICS[name](learner), OF_TOPICS[name](learner.components_)
    assert np.array_equal(numbers(found), numbers(expected))


def test_score_equals_log_predictive_probability(learner):
    seed = learner._state.seed
    found = log_predictive_probability(learner, X, method=None, random_state=seed)
    assert learner.score(X) == pytest.approx(found.macro, abs=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        LatentDirichletAllocation(3, doc_topic_prior=0.7, max_iter=2, random_state=0),
        NMF(3, init="random", max_iter=500, tol=1e-3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_topics_of_other_models_are_normalised(other):
    other.fit(X)
    assert abs(other.components_.sum(axis=1) - 1).max() > 0.1
    topics = other.components_ / other.components_.sum(axis=1, keepdims=True, dtype=np.float64)
    prior = getattr(other, "doc_topic_prior_", None)
    for name in ("log_predictive_probability", "inference_spread"):
        found = numbers(MEASURES[name](other, X))
        if prior is None:
            assert np.array_equal(found, numbers(MEASURES[name](topics, X)))
    given = log_predictive_probability(topics, X, doc_topic_prior=prior, random_state=0)
    assert log_predictive_probability(other, X, random_state=0) == given
    np.testing.assert_allclose(topic_exclusivity(other), topic_exclusivity(topics))
    assert topic_stability([other, topics]) == pytest.approx(1)
    assert np.array_equal(coherence(other, X), coherence(topics, X))


def test_any_object_with_components_is_a_model():
    unnormalised = SimpleNamespace(components_=MADE.topics * 7)
    found = log_predictive_probability(unnormalised, X, random_state=0)
    expected = log_predictive_probability(MADE.topics, X, random_state=0)
    assert found.macro == pytest.approx(expected.macro, abs=1e-9)
    counts = SimpleNamespace(components_=np.array([[3, 1, 0], [0, 2, 2]]))  # no word ids
    assert topic_diversity(counts, 1) == 1.0
    assert topic_diversity(counts, 2) == 0.75
    assert topic_diversity(SimpleNamespace(components_=np.eye(3, dtype=int)), 1) == 1.0


KINDS = {
    "list": lambda texts: texts,
    "tuple": tuple,
    "iterator": iter,
    "NumPy": np.array,
    "pandas": pd.Series,
    "polars": pl.Series,
    "word lists": lambda texts: [text.split() for text in texts],
    "corpus": read,
    "corpus of other words": lambda texts: read([*texts, "wine zebra apple", "apple zebra wine"]),
}


@pytest.mark.parametrize("name", MEASURES)
@cases("kind", KINDS)
def test_texts_are_counted_with_the_models_vocabulary(texts_model, kind, name):
    given = KINDS[kind](TEXTS[:7])
    matrix = texts_model._checked(KINDS[kind](TEXTS[:7]))
    assert matrix.shape[1] == len(texts_model.vocabulary_)
    found = numbers(MEASURES[name](texts_model, given))
    assert np.array_equal(found, numbers(MEASURES[name](texts_model, matrix)))


def test_splits_may_be_texts(texts_model):
    seen, held = ["green tea", "red wine"], ["black tea", "wine glass"]
    count = texts_model.vocabulary_.count
    found = predict_held_out(texts_model, [(seen, held)], random_state=0)
    expected = predict_held_out(
        texts_model.components_, [(count(seen), count(held))], random_state=0
    )
    assert found == expected
    assert found.n_documents == 2


def test_streams_are_counted_over_the_words_of_the_model(texts_model):
    """A separate stream numbers words in order of occurrence, unlike the model."""
    others = ["zebra wine", "apple tea cup", "wine tea", "red wine cup"] * 5
    own = Vocabulary(growing=True)
    expected = coherence(texts_model, others)
    before = texts_model.vocabulary_.words
    for batches in (stream(others, batch_size=3), stream(others, batch_size=8, vocabulary=own)):
        assert np.array_equal(coherence(texts_model, batches), expected)
    parts = [read(others[:9]), read(others[9:])]
    assert parts[0].words != before
    assert np.array_equal(coherence(texts_model, parts), expected)
    assert texts_model.vocabulary_.words == before


def test_models_with_words_are_matched_by_words():
    words = [f"w{j}" for j in range(40)]
    order = np.random.default_rng(0).permutation(40)
    a = OnlineOPE(4, random_state=0).fit(X, vocabulary=Vocabulary(words))
    moved = Vocabulary([words[j] for j in order])
    b = OnlineOPE(4, random_state=0).partial_fit(X[:, order])
    b.fit(X[:, order], vocabulary=moved)
    aligned = b.components_[:, np.argsort(order)]
    for similarity in ("cosine", "jaccard", "jensen_shannon"):
        found, expected = (
            match_topics(a, other, similarity=similarity, n_words=3)[1] for other in (b, aligned)
        )
        np.testing.assert_allclose(found, expected, atol=1e-6)
    assert topic_stability([a, b]) == pytest.approx(topic_stability([a, aligned]), abs=1e-6)


def test_words_of_one_model_have_zero_weight_in_the_other():
    a = SimpleNamespace(components_=[[0.5, 0.5]], feature_names_in_=np.array(["tea", "cup"]))
    b = SimpleNamespace(components_=[[0.5, 0.5]], feature_names_in_=np.array(["cup", "wine"]))
    assert match_topics(a, b)[1] == pytest.approx([0.5])
    assert match_topics(a, b, similarity="jaccard", n_words=2)[1] == pytest.approx([1 / 3])
    assert match_topics(a, [[0.5, 0.5]])[1] == pytest.approx([1.0])  # who knows no words
