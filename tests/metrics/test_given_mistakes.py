"""Errors of measures about models, topics and documents."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA, LatentDirichletAllocation
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline

from opelda import OnlineOPE
from opelda.corpus import read, stream
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.metrics import (
    coherence,
    inference_spread,
    log_predictive_probability,
    match_topics,
    predict_held_out,
    topic_diversity,
    topic_stability,
)
from tests.cases import cases
from tests.metrics.test_given_topics import MADE, MEASURES, SPLITS, TEXTS, X


@cases("name", MEASURES)
@cases("given", [OnlineOPE(), LatentDirichletAllocation()])
def test_unfitted_models_are_rejected(name, given):
    with pytest.raises(NotFittedError, match="not fitted"):
        MEASURES[name](given, X)


@cases(
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
def test_models_without_topics_are_rejected(given, message):
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


@cases("name", MEASURES)
@cases("kind", DOCUMENTS)
def test_swapped_documents_and_topics_are_rejected(name, kind):
    for topics in (Topics(MADE.topics), OnlineOPE(2, random_state=0).fit(X)):
        with pytest.raises(InputError, match="pass the topics first"):
            MEASURES[name](DOCUMENTS[kind], topics)


def test_swapped_splits_and_topics_are_rejected():
    for topics in (Topics(MADE.topics), OnlineOPE(2, random_state=0).fit(X)):
        with pytest.raises(InputError, match="pass the topics first"):
            predict_held_out(SPLITS, topics)
    with pytest.raises(InputError, match="topics must be a numeric array"):
        predict_held_out(SPLITS, MADE.topics)


def test_correct_argument_order_is_accepted():
    """Counts as weights beside shares as documents: fewer topics than documents."""
    shares = X.toarray() / X.sum(axis=1)[:, None]
    weights = (MADE.topics * 1000).round()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(coherence(weights, shares), coherence(weights, X))
    assert coherence([[0, 1], [1, 2]], shares).shape == (2,)
    assert coherence([[2.0, 3.0, 1.0]] * 2, [[1, 0, 0]]).tolist() == [
        -1,
        -1,
    ]  # a word


def test_texts_need_a_model():
    with pytest.raises(InputError, match="X contains texts, which need a model with a vocabulary"):
        log_predictive_probability([[0.5, 0.5]], ["green tea"])
    lda = LatentDirichletAllocation(2, max_iter=1).fit(X)
    with pytest.raises(InputError, match="X contains texts"):
        coherence(lda, ["green tea"])


@cases(
    ("call", "parameter"),
    [
        (lambda: log_predictive_probability(MADE.topics, X, n_splits=0), "n_splits"),
        (lambda: log_predictive_probability(MADE.topics, X, held_out=2.0), "held_out"),
        (lambda: log_predictive_probability(MADE.topics, X, random_state=-1), "random_state"),
        (lambda: log_predictive_probability(MADE.topics, X, n_jobs=0), "n_jobs"),
        (lambda: log_predictive_probability(MADE.topics, X[:, :3]), "X"),
        (lambda: inference_spread(MADE.topics, X, n_runs=1), "n_runs"),
        (lambda: coherence(MADE.topics, X, measure="c"), "measure"),
        (lambda: coherence(MADE.topics, X, n_words=1), "n_words"),
        (lambda: match_topics(MADE.topics, MADE.topics, n_words=0), "n_words"),
        (lambda: topic_stability([MADE.topics]), "runs"),
        (lambda: topic_diversity([[np.nan]]), "topics"),
    ],
)
def test_errors_name_the_parameter(call, parameter):
    with pytest.raises(InputError) as caught:
        call()
    assert caught.value.parameter == parameter
    assert str(caught.value).startswith(parameter)
