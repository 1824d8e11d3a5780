"""`LDAModel`: MLlib's methods, mixtures as on one machine, files, pipelines."""

import numpy as np
import polars as pl
import pytest
from pyspark.ml import Pipeline, PipelineModel, clustering
from pyspark.ml.feature import CountVectorizer, RegexTokenizer
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

import opelda
from opelda.corpus import Corpus
from opelda.corpus._design import Columns
from opelda.metrics import split_tokens
from opelda.spark import LDA, LDAEvaluator, LDAModel

from .made import columns, documents, same, table, texts, vector

N_DOCS = 300  # the first rows, all different


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return documents()


@pytest.fixture(scope="module")
def frame(spark, X):
    return table(spark, X[:N_DOCS], dense=0.3, nulls=4).repartition(3).cache()


@pytest.fixture(scope="module")
def model(X):
    return opelda.TopicModel(4, random_state=3, n_sweeps=3).fit(X)


def test_transform_matches_one_machine(frame, model, X):
    ours = LDAModel(model).setCertificateCol("proof").setTopicDistributionCol("theta")
    rows = ours.transform(frame).orderBy("id").collect()
    assert rows[0].asDict().keys() == {"id", "part", "features", "theta", "proof"}
    assert [row["id"] for row in rows] == list(range(N_DOCS + 4))
    assert all(row["features"].toArray() @ np.ones(200) == X[[row["id"]]].sum() for row in rows[:9])
    assert all(row["theta"] is None and row["proof"] is None for row in rows[N_DOCS:])
    found = model.infer(X[:N_DOCS])
    theta = np.array([row["theta"].toArray() for row in rows[:N_DOCS]])
    assert np.array_equal(theta, found.theta)
    assert np.array_equal(theta, model.transform(X[:N_DOCS]))
    for name in rows[0]["proof"].asDict():
        proofs = np.array([row["proof"][name] for row in rows[:N_DOCS]])
        assert np.array_equal(proofs, getattr(found, name)), name


@pytest.mark.parametrize("given", [("party", "day"), ("day",), ("party",), ()])
def test_columns_of_the_table_are_used(spark, X, given):
    """By prevalence if it has all its columns, and by content if it has its own."""
    data = columns(N_DOCS)
    local = opelda.TopicModel(4, random_state=3, n_sweeps=8)
    local.fit(X[:N_DOCS], prevalence="party + s(day)", content="party", data=data)
    frame = table(spark, X[:N_DOCS], data=data, nulls=3).repartition(3).cache()
    ours = LDAModel(local).setCertificateCol("proof")
    frame = frame.select("id", "features", *given)
    rows = ours.transform(frame).orderBy("id").collect()[:N_DOCS]
    known = Corpus(X[:N_DOCS], metadata=pl.DataFrame({name: data[name] for name in given}))
    theta = np.array([row["topicDistribution"].toArray() for row in rows])
    assert np.array_equal(theta, local.transform(known))
    assert np.array_equal([row["proof"]["gap"] for row in rows], local.infer(known).gap)
    observed, held = split_tokens(X[:N_DOCS], random_state=0)
    logs = held_out_logs(local, observed, held, known.metadata)
    assert ours.logLikelihood(frame) == pytest.approx(logs, rel=1e-3)


def held_out_logs(model, observed, held, metadata):
    """Sum log sum_k theta_k beta_kj of held-out tokens, document by document."""
    theta = model.transform(Corpus(observed.astype(np.float32), metadata=metadata))
    content, total = model._state.content, 0.0
    groups = np.full(len(theta), -1)
    if "party" in metadata.columns:
        groups = content.members(Columns(metadata))
    for d, group in enumerate(groups):
        topics = content.topics(int(group), model.components_).components.astype(float)
        words = held[[d]].indices
        total += (held[[d]].data * np.log(theta[d].astype(float) @ topics[:, words])).sum()
    return total


def test_requested_accuracy_is_met(frame, model, X, tmp_path):
    opelda.save(model, tmp_path / "m.opelda")
    ours = LDAModel(tmp_path / "m.opelda").setMaxLoss(0.01).setCertificateCol("proof")
    rows = ours.transform(frame).orderBy("id").collect()[:N_DOCS]
    assert model.infer(X[:N_DOCS]).loss.max() > 0.011  # or the bound holds trivially
    assert max(row["proof"]["loss"] for row in rows) <= 0.01
    local = opelda.load(tmp_path / "m.opelda").set_params(max_loss=0.01)
    theta = np.array([row["topicDistribution"].toArray() for row in rows])
    assert np.array_equal(theta, local.transform(X[:N_DOCS]))


def test_mllib_methods(frame, model, X):
    ours = LDAModel(model)
    words = [f"w{j}" for j in range(200)]
    assert "terms" not in ours.describeTopics().columns
    rows = ours.setVocabulary(words).describeTopics(3).collect()
    topics = model.components_
    assert [row["topic"] for row in rows] == [0, 1, 2, 3]
    for row in rows:
        of = topics[row["topic"]]
        assert np.array_equal(row["termWeights"], np.sort(of)[::-1][:3])
        assert np.array_equal(of[row["termIndices"]], row["termWeights"])
        assert row["terms"] == [words[j] for j in row["termIndices"]]
    assert np.array_equal(ours.topicsMatrix().toArray(), topics.T)
    assert ours.vocabSize() == 200
    assert not ours.isDistributed()
    prior = ours.estimatedDocConcentration().toArray()
    assert prior.shape == (4,)
    found = model.infer(X[:N_DOCS])
    log_prior = np.log(found.theta.astype(float)) @ (prior - 1)
    np.testing.assert_allclose(found.log_prior, log_prior, rtol=1e-5)


def test_perplexity(frame, model, X):
    """Perplexity against log sum_k theta_k beta_kj of held-out tokens, per document."""
    observed, held = split_tokens(X[:N_DOCS], random_state=0)
    topics = model.components_.astype(float)
    theta = model.transform(observed.astype(np.float32))
    logs = sum(
        held[[d], j] * np.log(theta[d].astype(float) @ topics[:, j])
        for d in range(N_DOCS)
        for j in held[[d]].indices
    )[0]
    assert LDAModel(model).logLikelihood(frame) == pytest.approx(logs, rel=1e-3)
    assert LDAModel(model).logPerplexity(frame) == pytest.approx(-logs / held.sum(), rel=1e-3)


def test_parameter_names_match_mllib(spark):
    theirs, ours = clustering.LDA(), LDA()
    assert {param.name for param in theirs.params} <= {param.name for param in ours.params}
    methods = {name for name in dir(theirs) if name.startswith(("get", "set"))}
    assert {name for name in methods if not hasattr(ours, name)} == set()
    every = {
        "k": 7,
        "maxIter": 11,
        "seed": -5,
        "featuresCol": "f",
        "topicDistributionCol": "t",
        "optimizer": "em",
        "learningOffset": 3.0,
        "learningDecay": 0.6,
        "subsamplingRate": 0.2,
        "optimizeDocConcentration": False,
        "docConcentration": [0.5],
        "topicConcentration": 0.1,
        "checkpointInterval": 3,
        "keepLastCheckpoint": False,
    }
    assert every.keys() == {param.name for param in theirs.params}
    made = LDA(**every)
    for name, value in every.items():
        upper = name[0].upper() + name[1:]
        assert getattr(made, f"get{upper}")() == value
        assert getattr(LDA(), f"set{upper}")(value).getOrDefault(name) == value


def test_estimators_and_models_round_trip(spark, frame, model, tmp_path, monkeypatch):
    monkeypatch.setattr("opelda.spark._model.CHUNK", 1000)  # a model is many rows
    path = str(tmp_path / "lda")
    LDA(k=7, textCol="text", vocabulary=["a", "b"]).save(path)
    found = LDA.load(path)
    assert (found.getK(), found.getTextCol(), found.getVocabulary()) == (7, "text", ["a", "b"])
    path = str(tmp_path / "model")
    LDAModel(model).save(path)
    ours = LDAModel(model).setCertificateCol("proof")
    with pytest.raises(Exception, match="already exists"):
        ours.save(path)
    ours.write().overwrite().save(path)
    found = LDAModel.load(path)
    assert (found.uid, found.getCertificateCol()) == (ours.uid, "proof")
    same(found.toLocal(), model)


def test_pipeline_from_texts(spark, tmp_path):
    """After CountVectorizer, saved, loaded, and by cross validation."""
    frame = spark.createDataFrame([(text,) for text in texts(300)], "text string").cache()
    lda = LDA(k=3, seed=1, maxIter=3)
    stages = [
        RegexTokenizer(inputCol="text", outputCol="tokens"),
        CountVectorizer(inputCol="tokens", outputCol="features"),
        lda,
    ]
    fitted = Pipeline(stages=stages).fit(frame)
    words = fitted.stages[1].vocabulary
    vectors = [row["features"] for row in fitted.transform(frame).select("features").collect()]
    counts = np.array([one.toArray() for one in vectors])
    local = opelda.TopicModel(3, random_state=1, n_sweeps=3).fit(counts)
    same(fitted.stages[2].toLocal(), local)
    fitted.stages[2].setVocabulary(words)
    fitted.save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert loaded.stages[2].describeTopics(1).first()["terms"][0] in words
    theta = [
        row[0].toArray() for row in loaded.transform(frame).select("topicDistribution").collect()
    ]
    assert np.array_equal(theta, local.transform(counts))


def test_cross_validation_finds_the_number_of_topics(spark, X):
    rows = [(i, 0, vector(X, i)) for i in range(600)]
    frame = spark.createDataFrame(rows, table(spark, X[:1]).schema).repartition(2)
    lda = LDA(seed=1, maxIter=2, scoreCol="score")
    grid = ParamGridBuilder().addGrid(lda.k, [1, 4]).build()
    found = CrossValidator(
        estimator=lda, estimatorParamMaps=grid, evaluator=LDAEvaluator(), numFolds=2, seed=1
    ).fit(frame)
    assert found.bestModel.getK() == 4
    assert found.avgMetrics[0] < found.avgMetrics[1] < 0
