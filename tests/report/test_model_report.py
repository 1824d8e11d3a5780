"""What a model can tell about its topics."""

import numpy as np
import pytest

import opelda
from opelda.corpus import Vocabulary, generate
from opelda.errors import InputError
from opelda.report import label_topics, rank_words, topic_table, topic_weights

LEARNERS = ("OnlineOPE", "StreamingOPE", "OnlineVB", "StreamingVB", "OnlineCVB0", "OnlineCGS")


@pytest.fixture(scope="module")
def corpus():
    return generate(600, n_words=80, n_topics=4, separated=True, random_state=0)


@pytest.fixture(scope="module")
def unequal():
    """Three subjects of which one has most of the tokens."""
    subjects = np.kron(np.eye(3), np.ones(5))
    return np.repeat(subjects, [420, 120, 60], axis=0) * [[4.0]]


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_are_the_shares_of_the_tokens(unequal, name):
    model = getattr(opelda, name)(3, batch_size=100, n_passes=5, random_state=0).fit(unequal)
    weights = topic_weights(model)
    assert weights.sum() == pytest.approx(1.0)
    share = model.transform(unequal).mean(axis=0)  # all documents are equally long
    assert np.abs(weights - share).max() < 0.05
    assert weights.max() > 0.6


@pytest.mark.parametrize("name", ["MLOPE", "TopicModel"])
def test_the_ml_rule_knows_no_weights(corpus, name):
    options = {"learning": "ml"} if name == "TopicModel" else {}
    model = getattr(opelda, name)(4, random_state=0, **options).fit(corpus.X)
    assert topic_weights(model) is None
    assert all(row.weight is None for row in topic_table(model))


def test_weights_of_a_model_that_has_learned_nothing_are_equal():
    model = opelda.StreamingOPE(4, random_state=0)
    model.partial_fit(np.zeros((3, 5)))
    assert topic_weights(model).tolist() == pytest.approx([0.25] * 4)


@pytest.mark.parametrize("by", ["probability", "relevance", "frex"])
def test_rows_hold_what_the_parts_say(by):
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


def test_a_model_of_matrices_has_numbered_words(corpus):
    rows = topic_table(opelda.OnlineOPE(2, random_state=0).fit(corpus.X), 2)
    assert all(word.startswith("x") for row in rows for word in row.words)


@pytest.mark.parametrize("number", [-1, 4, "1"])
def test_topics_that_are_not_there(corpus, number):
    model = opelda.OnlineOPE(4, random_state=0).fit(corpus.X)
    with pytest.raises(InputError, match="0 to 3"):
        topic_table(model, only=[number])
