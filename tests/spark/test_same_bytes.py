"""Models are identical for any partitioning, and identical to one machine's."""

import numpy as np
import pytest
from pyspark.sql.functions import spark_partition_id, udf
from pyspark.sql.types import IntegerType

from opelda import TopicModel
from opelda.learning._closing_sweeps import HeldCollection
from opelda.spark import LDA, _cluster

from .made import columns, documents, same, table

SETTINGS = {"k": 4, "seed": 3, "maxIter": 3}


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return documents()


def local():
    return TopicModel(4, random_state=3, n_sweeps=3)


@pytest.fixture(scope="module")
def alone(X):
    return local().fit(X)


def sizes(frame):
    """Return the numbers of rows of non-empty partitions."""
    return sorted(row["count"] for row in frame.groupBy(spark_partition_id()).count().collect())


def shuffled(X):
    return np.random.default_rng(1).permutation(X.shape[0])


def fitted(frame, **settings):
    return LDA(**SETTINGS, **settings).fit(frame).toLocal()


def test_driver_gives_identical_bytes(spark, X, alone):
    frame = table(spark, X, order=shuffled(X), dense=0.3, nulls=7).repartition(3)
    same(fitted(frame), alone)


def test_one_partition_gives_identical_bytes(spark, X, alone):
    same(fitted(table(spark, X, dense=1.0).coalesce(1), localDocs=0), alone)


@pytest.mark.parametrize("fractions", [False, True])
def test_skewed_and_empty_partitions_give_identical_bytes(spark, fractions):
    """Copies lie in several partitions: the first has 90% of the rows, others are empty."""
    X = documents(fractions=fractions)
    frame = table(
        spark, X, order=shuffled(X), dense=0.3, nulls=9, part=lambda i: 0 if i % 10 else i % 3
    ).repartition(7, "part")
    found = sizes(frame)
    assert 1 < len(found) < 7
    assert found[-1] > 0.85 * sum(found)
    same(fitted(frame, localDocs=0), local().fit(X))


@pytest.fixture(scope="module")
def by_columns(X):
    model = TopicModel(4, random_state=3, n_sweeps=8)
    return model.fit(X, prevalence="party + s(day)", data=columns(X.shape[0]))


@pytest.mark.parametrize(("n_parts", "here"), [(3, 10_000), (1, 0), (5, 0)])
def test_topics_by_columns_are_identical(spark, X, by_columns, n_parts, here):
    """With copies of documents in several rows, and more combinations of values than rows."""
    frame = table(spark, X, order=shuffled(X), nulls=7, data=columns(X.shape[0]))
    settings = SETTINGS | {"maxIter": 8, "prevalence": "party + s(day)", "localDocs": here}
    ours = LDA(**settings).fit(frame.repartition(n_parts))
    same(ours.toLocal(), by_columns)


def test_sample_by_columns_does_not_depend_on_partitions(spark, X):
    frame = table(spark, X, data=columns(X.shape[0]))
    options = {"prevalence": "party", "localDocs": 0, "sampleSize": 300}
    one, other = (fitted(frame.repartition(n), **options) for n in (1, 4))
    assert len(one._state.prevalence.rows) == 5
    same(one, other)


def test_executors_add_counts(spark, X, alone, monkeypatch):
    """Process ranges of 16 words."""
    monkeypatch.setattr(_cluster, "MOST_ADDED", 0)
    monkeypatch.setattr(_cluster, "RANGE_BYTES", 16 * 4 * 8)
    same(fitted(table(spark, X, nulls=2).repartition(2), localDocs=0), alone)


def test_checkpoints_give_identical_bytes(spark, X, alone, tmp_path):
    folder = spark.sparkContext.getCheckpointDir()
    spark.sparkContext.setCheckpointDir(str(tmp_path))
    try:
        frame = table(spark, X).repartition(2)
        same(fitted(frame, localDocs=0, checkpointInterval=2), alone)
    finally:
        spark.sparkContext._jsc.sc().setCheckpointDir(folder or str(tmp_path / "later"))
    assert list(tmp_path.rglob("part-*"))


def test_retried_tasks_give_identical_bytes(spark, X, alone):
    """A partition fails halfway in its first attempt."""

    @udf(IntegerType())
    def failing(number):
        from pyspark import TaskContext

        context = TaskContext.get()
        if context.attemptNumber() == 0 and context.partitionId() == 1 and number % 7 == 0:
            raise ValueError("tried once")
        return number

    frame = table(spark, X).repartition(3)
    frame = frame.withColumn("id", failing("id")).where("id >= 0")
    same(fitted(frame, localDocs=0), alone)


@pytest.mark.parametrize("n_parts", [2, 5])
def test_sample_for_initialization(spark, X, n_parts):
    """Topics are initialized from a sample of documents, chosen by key."""
    model = local()
    engine = model._engine()
    every = engine.documents(X)
    chosen = every.keys.astype(float) < 300 / X.shape[0] * 2.0**64
    assert 200 < chosen.sum() < 400
    model._fit(
        X[np.flatnonzero(chosen)], collection=HeldCollection(engine, engine.tokens(every, 4))
    )
    frame = table(spark, X, order=shuffled(X), nulls=3).repartition(n_parts)
    same(fitted(frame, localDocs=0, sampleSize=300), model)
