"""Tables, words, weights and labels of a model's topics."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import NotFittedError

import opelda
from opelda.corpus import Vocabulary, generate
from opelda.errors import InputError
from opelda.inference import Topics
from opelda.report import label_topics, rank_words, topic_table, topic_weights
from tests.cases import cases

LEARNERS = ("OnlineOPE", "StreamingOPE", "OnlineVB", "StreamingVB", "OnlineCVB0", "OnlineCGS")


@pytest.fixture(scope="module")
def corpus():
    return generate(600, n_words=80, n_topics=4, separated=True, random_state=0)


@pytest.fixture(scope="module")
def unequal():
    """Three subjects, one with most of the tokens."""
    subjects = np.kron(np.eye(3), np.ones(5))
    return np.repeat(subjects, [420, 120, 60], axis=0) * [[4.0]]


@pytest.mark.parametrize("seed", range(1))
@pytest.mark.parametrize("name", LEARNERS)
def test_weights_match_token_shares(unequal, name, seed):
    """The best of several runs, as single runs may merge two subjects."""
    runs = [
        getattr(opelda, name)(3, batch_size=100, n_passes=5, random_state=chance).fit(unequal)
        for chance in range(10 * seed, 10 * seed + 10)
    ]
    model = max(runs, key=lambda run: run.score(unequal[::10], n_splits=1))
    weights = topic_weights(model)
    assert weights.sum() == pytest.approx(1.0)
    share = model.transform(unequal).mean(axis=0)  # all documents are equally long
    assert np.abs(weights - share).max() < 0.05
    assert weights.max() > 0.6


@cases("name", ["MLOPE", "TopicModel"])
def test_ml_learners_have_no_weights(corpus, name):
    options = {"learning": "ml"} if name == "TopicModel" else {}
    model = getattr(opelda, name)(4, random_state=0, **options).fit(corpus.X)
    assert topic_weights(model) is None
    assert all(row.weight is None for row in topic_table(model))


def test_untrained_model_has_equal_weights():
    model = opelda.StreamingOPE(4, random_state=0)
    model.partial_fit(np.zeros((3, 5)))
    assert topic_weights(model).tolist() == pytest.approx([0.25] * 4)


@cases("by", ["probability", "relevance", "frex"])
def test_rows_match_their_parts(by):
    texts = ["tea cup saucer tea", "engine wheel road", "tea cup", "road wheel engine road"] * 30
    model = opelda.OnlineOPE(3, batch_size=20, random_state=0)
    model.fit_stream(texts, vocabulary=Vocabulary(growing=True))
    rows = topic_table(model, 4, by=by)
    ids = rank_words(model.components_, 4, by=by, weights=topic_weights(model))
    names = model.vocabulary_.words
    assert [row.topic for row in rows] == [0, 1, 2]
    assert [row.label for row in rows] == label_topics(model.components_, feature_names=names)
    assert len({row.label for row in rows}) > 1
    for row, own in zip(rows, ids, strict=True):
        assert row.words == tuple(names[j] for j in own)
        assert row.probabilities == pytest.approx(model.components_[row.topic, own])
    some = topic_table(model, 4, by=by, only=[2, 0])
    assert some == [rows[2], rows[0]]


def test_model_of_matrices_has_numbered_words(corpus):
    rows = topic_table(opelda.OnlineOPE(2, random_state=0).fit(corpus.X), 2)
    assert all(word.startswith("x") for row in rows for word in row.words)


@cases("number", [-1, 4, "1"])
def test_unknown_topics_are_rejected(corpus, number):
    model = opelda.OnlineOPE(4, random_state=0).fit(corpus.X)
    with pytest.raises(InputError, match="0 to 3"):
        topic_table(model, only=[number])


MEASURES = {
    "ids by relevance": lambda given, **how: rank_words(given, 4, by="relevance", **how),
    "ids by probability": lambda given, **how: rank_words(given, 4, by="probability"),
    "labels": lambda given, **how: label_topics(given, 2),
    "words": lambda given, **how: [row.words for row in topic_table(given, 5, by="probability")],
    "probabilities": lambda given, **how: [
        row.probabilities for row in topic_table(given, 5, by="probability")
    ],
}


@cases("name", MEASURES)
def test_models_topics_and_arrays_give_the_same_result(corpus, name):
    model = opelda.OnlineOPE(4, random_state=0).fit(corpus.X)
    expected = MEASURES[name](model)
    shares = topic_weights(model)
    for given in (model.components_, Topics(model.components_)):
        found = MEASURES[name](given, weights=shares)
        assert np.array_equal(np.array(found), np.array(expected))


def test_relevance_uses_the_weights_of_the_model(unequal):
    model = opelda.StreamingOPE(3, batch_size=100, random_state=0).fit(unequal + 0.2)
    own = rank_words(model, by="relevance", lambda_=0.0)
    shares = topic_weights(model)
    given = rank_words(model.components_, by="relevance", weights=shares, lambda_=0.0)
    alike = rank_words(model.components_, by="relevance", lambda_=0.0)
    assert np.array_equal(own, given)
    assert not np.array_equal(own, alike)


def test_models_of_other_libraries_have_tables(corpus):
    words = [f"word{j}" for j in range(80)]
    frame = pd.DataFrame(corpus.X.toarray(), columns=words)
    other = LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(frame)
    rows = topic_table(other, 80, by="probability")
    assert [row.weight for row in rows] == [None] * 3
    for row, weights in zip(rows, other.components_, strict=True):
        assert sum(row.probabilities) == pytest.approx(1)
        assert row.words == tuple(words[j] for j in np.argsort(-weights, kind="stable"))


def test_given_words_override_the_vocabulary():
    model = opelda.OnlineOPE(2, random_state=0)
    model.fit_stream(["tea cup", "red wine"] * 9, vocabulary=Vocabulary(growing=True))
    names = [f"{word}!" for word in model.vocabulary_.words]
    rows, plain = topic_table(model, 4, feature_names=names), topic_table(model, 4)
    assert [row.words for row in rows] == [tuple(f"{w}!" for w in row.words) for row in plain]
    assert [row.label for row in rows] == label_topics(model, feature_names=names)
    for call in (label_topics, topic_table):
        with pytest.raises(InputError, match="feature_names has 1 words but the topics have 4"):
            call(model, feature_names=["tea"])


@cases("call", [rank_words, label_topics, topic_table, topic_weights])
def test_unfitted_models_are_rejected(call):
    with pytest.raises(NotFittedError, match="not fitted"):
        call(opelda.OnlineOPE())


def test_arrays_have_no_weights(corpus):
    assert topic_weights(corpus.topics) is None
    assert topic_weights(Topics(corpus.topics)) is None
