"""Texts that executors tokenize give the topics of a single machine."""

import numpy as np
import pytest

from opelda import TopicModel
from opelda.corpus import read
from opelda.spark import LDA, LDAModel

from .made import WORDS, same, texts

N_DOCS = 300


@pytest.fixture(scope="module")
def some():
    """Texts with one rare and one very common word."""
    made = texts(N_DOCS)
    made = [text + " science" * (number % 9 != 0) for number, text in enumerate(made)]
    return [text + " quasar" * (number < 1) for number, text in enumerate(made)]


@pytest.fixture(scope="module")
def frame(spark, some):
    rows = [*enumerate(some), (N_DOCS, None)]
    return spark.createDataFrame(rows, "id int, text string").repartition(3).cache()


def test_topics_and_mixtures_match_one_machine(frame, some):
    local = TopicModel(3, random_state=1, n_sweeps=3).fit(some)
    assert set(local.vocabulary_.words) == {word for words in WORDS for word in words}
    model = LDA(k=3, seed=1, maxIter=3, textCol="text").fit(frame)
    assert model.toLocal().vocabulary_.words == local.vocabulary_.words
    same(model.toLocal(), local)
    rows = model.transform(frame).orderBy("id").collect()
    theta = np.array([row["topicDistribution"].toArray() for row in rows[:-1]])
    assert rows[-1]["topicDistribution"] is None
    assert np.array_equal(theta, local.transform(some))
    assert np.array_equal(theta, local.transform(local.vocabulary_.count(some)))
    # and sweeps over one partition give the same
    swept = LDA(k=3, seed=1, maxIter=3, textCol="text", localDocs=0).fit(frame.coalesce(1))
    same(swept.toLocal(), local)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"minDF": 1.0, "maxDF": 0.5}, {"min_df": 1, "max_df": 0.5}),
        ({"minDF": 0.1, "maxVocabSize": 7}, {"min_df": 0.1, "max_features": 7}),
    ],
)
def test_vocabulary_matches_read(frame, some, ours, theirs):
    corpus = read(some, **theirs)
    model = LDA(k=2, seed=1, preset="fast", textCol="text", **ours).fit(frame).toLocal()
    assert sorted(model.vocabulary_.words) == sorted(corpus.vocabulary.words)
    assert ("quasar" in model.vocabulary_.words) == (ours["minDF"] == 1)
    same(model, TopicModel(2, random_state=1, preset="fast").fit(corpus))


@pytest.mark.parametrize("language", ["none", "auto"])
def test_stop_words_follow_the_language(frame, language):
    lda = LDA(k=2, seed=1, preset="fast", textCol="text", language=language, maxDF=1e9)
    words = lda.fit(frame).toLocal().vocabulary_.words
    assert "science" in words
    assert ("the" in words) == (language == "none")


@pytest.mark.parametrize("method", ["ope", "vb"])
def test_streaming_bayes_over_partitions_finds_topics(frame, method):
    lda = LDA(k=3, seed=1, maxIter=4, textCol="text", optimizer="sda", inference=method, maxDF=0.5)
    model = lda.fit(frame)
    same(model.toLocal(), lda.fit(frame).toLocal())
    heaviest = {frozenset(words[:5]) for words in model.toLocal().top_words(5)}
    assert heaviest == {frozenset(words) for words in WORDS}
    assert model.toLocal().n_docs_seen_ == N_DOCS


def test_local_model_transforms_texts(frame, some):
    local = TopicModel(2, preset="fast", random_state=0).fit(some)
    rows = LDAModel(local).setTextCol("text").transform(frame.where("id = 7")).collect()
    assert np.array_equal(rows[0]["topicDistribution"].toArray(), local.transform(some[7:8])[0])
