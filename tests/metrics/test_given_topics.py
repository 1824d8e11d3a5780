"""Topics as arrays, Topics and fitted models: the same measures of the same topics."""

import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from opelda import MLOPE, OnlineOPE, StreamingVB, TopicModel
from opelda.corpus import Vocabulary, generate, read, stream
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import (
    coherence,
    inference_stability,
    log_predictive_probability,
    match_topics,
    npmi,
    perplexity,
    predict_held_out,
    split_tokens,
    topic_diversity,
    topic_exclusivity,
    topic_stability,
)

MADE = generate(120, n_words=40, n_topics=4, n_tokens=30, random_state=3)
X = MADE.X
SPLITS = [split_tokens(X, random_state=0)]
TEXTS = ["green tea in a cup", "black tea", "red wine", "a glass of red wine", "tea or wine"] * 8

MEASURES = {
    "log_predictive_probability": lambda t, x: log_predictive_probability(t, x, random_state=0),
    "perplexity": lambda t, x: perplexity(t, x, random_state=0),
    "inference_stability": lambda t, x: inference_stability(t, x, n_runs=2, random_state=0).mean,
    "coherence": lambda t, x: coherence(t, x, measure="c_v"),
    "npmi": lambda t, x: npmi(t, x, n_words=5),
}
INFERRING = ("log_predictive_probability", "perplexity", "inference_stability")
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


@pytest.mark.parametrize("name", MEASURES)
def test_a_learner_is_its_topics_and_its_prior(learner, name):
    options = {} if name not in INFERRING else {"doc_topic_prior": learner.doc_topic_prior}
    by_array = {
        "log_predictive_probability": log_predictive_probability,
        "perplexity": perplexity,
        "inference_stability": lambda *given, **how: inference_stability(*given, **how, n_runs=2),
        "coherence": lambda *given: coherence(*given, measure="c_v"),
        "npmi": lambda *given: npmi(*given, n_words=5),
    }[name]
    seed = {"random_state": 0} if name in INFERRING else {}
    expected = by_array(learner.components_, X, **options, **seed)
    expected = getattr(expected, "mean", expected) if name == "inference_stability" else expected
    assert np.array_equal(numbers(MEASURES[name](learner, X)), numbers(expected))
    if name in INFERRING:  # one that is given counts
        other = by_array(learner, X, doc_topic_prior=2.0, **seed)
        other = other.mean if name == "inference_stability" else other
        assert not np.array_equal(numbers(other), numbers(expected))


@pytest.mark.parametrize("name", OF_TOPICS)
def test_measures_without_documents_take_learners(name):
    learner = OnlineOPE(4, random_state=0).fit(X)
    found, expected = OF_TOPICS[name](learner), OF_TOPICS[name](learner.components_)
    assert np.array_equal(numbers(found), numbers(expected))


def test_score_is_the_same_measure(learner):
    seed = learner._state.seed
    found = log_predictive_probability(learner, X, random_state=seed)
    assert learner.score(X) == pytest.approx(found.macro, abs=1e-6)


@pytest.mark.parametrize(
    "other",
    [
        LatentDirichletAllocation(3, doc_topic_prior=0.7, max_iter=2, random_state=0),
        NMF(3, init="random", max_iter=500, tol=1e-3, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_are_divided_by_their_sums(other):
    other.fit(X)
    assert abs(other.components_.sum(axis=1) - 1).max() > 0.1
    topics = other.components_ / other.components_.sum(axis=1, keepdims=True, dtype=np.float64)
    prior = getattr(other, "doc_topic_prior_", None)
    for name in ("log_predictive_probability", "inference_stability"):
        found = numbers(MEASURES[name](other, X))
        if prior is None:
            assert np.array_equal(found, numbers(MEASURES[name](topics, X)))
    given = log_predictive_probability(topics, X, doc_topic_prior=prior, random_state=0)
    assert log_predictive_probability(other, X, random_state=0) == given
    np.testing.assert_allclose(topic_exclusivity(other), topic_exclusivity(topics))
    assert topic_stability([other, topics]) == pytest.approx(1)
    assert np.array_equal(npmi(other, X), npmi(topics, X))


def test_anything_with_components_is_a_model():
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MEASURES)
def test_texts_are_counted_by_the_model(texts_model, kind, name):
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
    """A stream of its own numbers the words as they come, and so others than the model."""
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


def test_words_of_one_model_only_count_as_missing_in_the_other():
    a = SimpleNamespace(components_=[[0.5, 0.5]], feature_names_in_=np.array(["tea", "cup"]))
    b = SimpleNamespace(components_=[[0.5, 0.5]], feature_names_in_=np.array(["cup", "wine"]))
    assert match_topics(a, b)[1] == pytest.approx([0.5])
    assert match_topics(a, b, similarity="jaccard", n_words=2)[1] == pytest.approx([1 / 3])
    assert match_topics(a, [[0.5, 0.5]])[1] == pytest.approx([1.0])  # who knows no words


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("given", [OnlineOPE(), LatentDirichletAllocation()])
def test_models_that_are_not_fitted(name, given):
    with pytest.raises(NotFittedError, match="not fitted"):
        MEASURES[name](given, X)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (PCA(2).fit(X.toarray()), "topics is a PCA with negative components_"),
        (
            make_pipeline(CountVectorizer(), OnlineOPE(2)).fit(TEXTS),
            "is a Pipeline, which has no components_; .* the last step of a pipeline",
        ),
        (
            SimpleNamespace(components_=np.eye(2, 40) * [[1], [0]]),
            "sum to 1 in every row, but row 1",
        ),
        (SimpleNamespace(components_=[1.0]), "topics must be a numeric array"),
    ],
)
def test_models_without_topics(given, message):
    with pytest.raises(InputError, match=message):
        log_predictive_probability(given, X)


DOCUMENTS = {
    "sparse counts": X,
    "sparse whole numbers": sparse.coo_array(X.astype(np.int64)),
    "counts": X.toarray(),
    "lists": X.toarray().tolist(),
    "corpus": read(TEXTS),
    "texts": TEXTS,
    "stream": stream(TEXTS),
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("kind", DOCUMENTS)
def test_documents_first_are_told(name, kind):
    for topics in (MADE.topics, Topics(MADE.topics), OnlineOPE(2, random_state=0).fit(X)):
        with pytest.raises(InputError, match="topics come first"):
            MEASURES[name](DOCUMENTS[kind], topics)


def test_splits_first_are_told():
    for topics in (Topics(MADE.topics), OnlineOPE(2, random_state=0).fit(X)):
        with pytest.raises(InputError, match="topics come first"):
            predict_held_out(SPLITS, topics)
    with pytest.raises(InputError, match="topics must be a numeric array"):
        predict_held_out(SPLITS, MADE.topics)


def test_counts_in_place_of_topics_are_told_without_documents_to_compare():
    with pytest.raises(InputError, match=r"sum to 1 in every row, but .* topics come first"):
        log_predictive_probability(X[:5].toarray(), X)


def test_an_order_that_is_right_is_never_refused():
    """Counts as weights beside shares as documents: fewer topics than documents."""
    shares = X.toarray() / X.sum(axis=1)[:, None]
    weights = (MADE.topics * 1000).round()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(npmi(weights, shares), npmi(weights, X))
    assert npmi([[0, 1], [1, 2]], shares).shape == (2,)
    assert npmi([[2.0, 3.0, 1.0]] * 2, [[1, 0, 0]]).tolist() == [-1, -1]  # one word, not one topic


def test_texts_need_a_model():
    with pytest.raises(InputError, match="X holds texts, which take a model with a vocabulary"):
        log_predictive_probability([[0.5, 0.5]], ["green tea"])
    lda = LatentDirichletAllocation(2, max_iter=1).fit(X)
    with pytest.raises(InputError, match="X holds texts"):
        coherence(lda, ["green tea"])


@pytest.mark.parametrize(
    ("call", "parameter"),
    [
        (lambda: log_predictive_probability(MADE.topics, X, n_splits=0), "n_splits"),
        (lambda: log_predictive_probability(MADE.topics, X, held_out=2.0), "held_out"),
        (lambda: log_predictive_probability(MADE.topics, X, random_state=-1), "random_state"),
        (lambda: log_predictive_probability(MADE.topics, X, n_jobs=0), "n_jobs"),
        (lambda: log_predictive_probability(MADE.topics, X[:, :3]), "X"),
        (lambda: inference_stability(MADE.topics, X, n_runs=1), "n_runs"),
        (lambda: coherence(MADE.topics, X, measure="c"), "measure"),
        (lambda: npmi(MADE.topics, X, n_words=1), "n_words"),
        (lambda: match_topics(MADE.topics, MADE.topics, n_words=0), "n_words"),
        (lambda: topic_stability([MADE.topics]), "runs"),
        (lambda: topic_diversity([[np.nan]]), "topics"),
    ],
)
def test_errors_carry_the_parameter(call, parameter):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(parameter)
