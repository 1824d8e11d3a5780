"""TPS: topics that are functions of word vectors."""

import numpy as np
import pytest

from opelda import TopicModel
from opelda.corpus import Vocabulary, generate
from opelda.engines.seam import Task
from opelda.errors import InputError, ModelFileError
from opelda.inference import OPE
from opelda.learning import TPS, word_vectors
from tests.cases import cases

MADE = generate(300, n_words=30, n_topics=3, random_state=0).X
OPTIONS = {"preset": "paper", "batch_size": 100, "random_state": 0}


def vectors(n_words=30, n_dimensions=4, seed=1):
    return np.random.default_rng(seed).standard_normal((n_words, n_dimensions))


def places(topics, E):
    """Return pi (n, K) of topics (K, V)."""
    logs = np.log(topics.T.astype(np.float64))
    return np.linalg.lstsq(E - E.mean(axis=0), logs - logs.mean(axis=0))[0]


@cases("deviation", [0.05, 1.0, 20.0])
def test_an_update_ends_where_the_gradient_is_zero(deviation):
    E = vectors()
    model = TopicModel(3, learning=TPS(vectors=E, deviation=deviation), **OPTIONS)
    model.partial_fit(MADE[:100])
    before = places(model.components_, E)
    engine, state, plan = model._engine(), model._state, model._plan()
    task = Task(plan.method, plan.alpha, state.seed | 2 << 32)
    batch = engine.documents(MADE[100:200])
    found = engine.statistics(state.weights, batch, task, divide=True)
    counts = np.zeros((30, 3))
    counts[found.words] = found.values
    model.partial_fit(MADE[100:200])
    beta = model.components_.T.astype(np.float64)
    slope = E.T @ (counts - counts.sum(axis=0) * beta)
    slope -= (places(model.components_, E) - before) / deviation**2
    assert np.abs(slope).max() < 1e-3 * counts.sum(axis=0).max()


def test_with_a_dimension_per_word_and_no_prior_a_topic_is_the_share_of_words():
    model = TopicModel(1, learning=TPS(vectors=np.eye(30), deviation=1e4), **OPTIONS)
    model.partial_fit(MADE[:100])
    shares = MADE[:100].sum(axis=0) / MADE[:100].sum()
    np.testing.assert_allclose(model.components_[0], shares, atol=1e-3)


def test_rotated_vectors_give_the_same_topics():
    E = vectors()
    turned = E @ np.linalg.qr(vectors(4))[0]
    made = [
        TopicModel(3, learning=TPS(vectors=each), **OPTIONS).fit(MADE).components_
        for each in (E, turned)
    ]
    np.testing.assert_allclose(made[0], made[1], rtol=0.02)


def test_words_of_equal_vectors_have_equal_probabilities():
    E = vectors()
    E[7] = E[3]
    topics = TopicModel(3, learning=TPS(vectors=E), **OPTIONS).fit(MADE).components_
    np.testing.assert_array_equal(topics[:, 7], topics[:, 3])


def test_words_that_a_stream_adds_have_the_vector_zero():
    texts = [[f"word{word}" for word in row.nonzero()[0]] for row in MADE.toarray()]
    model = TopicModel(3, learning=TPS(vectors=vectors(5)), **OPTIONS)
    model.fit_stream(iter(texts), vocabulary=Vocabulary(growing=True))
    topics = model.components_
    assert topics.shape[1] > 20
    np.testing.assert_array_equal(
        topics[:, 5:], np.broadcast_to(topics[:, 5:6], topics[:, 5:].shape)
    )
    np.testing.assert_allclose(topics.sum(axis=1), 1.0, rtol=1e-5)


def test_vectors_of_words_that_share_documents_are_similar():
    separated = generate(2000, n_words=60, n_topics=3, separated=True, random_state=0)
    E = word_vectors(separated.X)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    topic = separated.topics.argmax(axis=0)
    cosines = E @ E.T
    same = topic[:, None] == topic
    assert cosines[same].mean() > cosines[~same].mean() + 0.3


def test_interrupted_update_changes_nothing(monkeypatch):
    model = TopicModel(3, learning=TPS(vectors=vectors()), **OPTIONS).partial_fit(MADE[:100])
    before = model.components_.copy()

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(TPS, "topics", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(MADE[100:200])
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_batch_iter_ == 1


def test_documents_without_words_change_nothing():
    model = TopicModel(3, learning=TPS(vectors=vectors()), **OPTIONS).partial_fit(MADE[:100])
    before = model.components_.copy()
    np.testing.assert_array_equal(model.partial_fit(MADE[:5] * 0).components_, before)


def test_stream_does_not_resume_with_other_vectors(tmp_path):
    def learn(E, n):
        model = TopicModel(3, learning=TPS(vectors=E), **OPTIONS)
        texts = [[f"word{word}" for word in row.nonzero()[0]] for row in MADE[:n].toarray()]
        return model.fit_stream(texts, vocabulary=Vocabulary(growing=True), checkpoint=tmp_path)

    learn(vectors(), 100)
    with pytest.raises(ModelFileError, match="learning"):
        learn(vectors(seed=2), 200)


@cases(
    ("settings", "said"),
    [
        ({"learning": "tps"}, "vectors must have a row per word"),
        ({"learning": TPS(vectors=[[np.nan]])}, r"vectors is nan at \[0, 0\]"),
        ({"learning": TPS(vectors=["a"])}, "vectors must hold real numbers"),
        ({"learning": TPS(vectors=vectors(), deviation=0)}, "deviation must be a number"),
        ({"learning": TPS(vectors=vectors()), "inference": "vb"}, "inference must use"),
        ({"learning": TPS(vectors=vectors()), "seeds": {"a": [1]}}, "seeds has no effect"),
    ],
)
def test_mistakes_have_one_sentence(settings, said):
    with pytest.raises(InputError, match=said):
        TopicModel(3, preset="paper", **settings).fit(MADE)


def test_inference_method_is_the_given_one():
    rule = TPS(vectors=vectors())
    a, b = (
        TopicModel(3, learning=rule, inference=OPE(n_iter=n), **OPTIONS).fit(MADE).components_
        for n in (2, 50)
    )
    assert not np.array_equal(a, b)
