"""Errors: each is one sentence that states the remedy."""

import os
import re
import subprocess
import sys
import venv
from uuid import uuid4

import numpy as np
import pytest
from pyspark.ml.linalg import DenseVector, SparseVector
from pyspark.sql.functions import udf

from opelda import TopicModel
from opelda.errors import EngineError, InputError
from opelda.spark import LDA, LDAEvaluator, LDAModel, learn
from opelda.spark._session import check_java

from .made import SCHEMA, documents


def vectors(spark, *some):
    return spark.createDataFrame([(i, 0, one) for i, one in enumerate(some)], SCHEMA)


@pytest.fixture(scope="module")
def model():
    return TopicModel(2, preset="fast", random_state=0).fit(documents(50))


def refused(match, call, kind=InputError):
    with pytest.raises(kind, match=match) as caught:
        call()
    output = str(caught.value)
    assert "\n" not in output
    assert output.endswith(".")


def test_invalid_columns_are_rejected(spark):
    frame = vectors(spark, DenseVector([1.0, 2.0]))
    other = spark.createDataFrame([("a", [1.0])], "words string, features array<double>")
    for match, settings, some in (
        (
            "featuresCol is 'f', a missing column; the table has the columns id, part",
            {"featuresCol": "f"},
            frame,
        ),
        ("textCol is 't', a missing column", {"textCol": "t"}, frame),
        ("featuresCol is 'features', a column of array<double>; pass vectors", {}, other),
        ("textCol is 'features', a column of array<double>; pass", {"textCol": "features"}, other),
    ):
        refused(match, lambda settings=settings, some=some: LDA(k=2, **settings).fit(some))


def test_invalid_vectors_are_rejected(spark):
    good, long = DenseVector([1.0, 2.0]), SparseVector(5, {3: 1.0})
    for match, some in (
        ("entries, but the model has . words", (good, long)),
        ("-1", (good, DenseVector([1.0, -1.0]))),
        ("nan|finite", (good, DenseVector([1.0, np.nan]))),
        ("The table has no documents", (None, None)),
        ("The table has no documents", ()),
    ):
        frame = vectors(spark, *some)
        refused(match, lambda frame=frame: LDA(k=2, seed=0).fit(frame))
    refused(
        "has 2 entries, but the model has 3 words",
        lambda: LDA(k=2, vocabulary=["a", "b", "c"]).fit(vectors(spark, good)),
    )
    apart = vectors(spark, good, good, long, long).repartition(4, "id")
    refused("entries, but the model has . words", lambda: LDA(k=2, seed=0).fit(apart))


def test_invalid_texts_are_rejected(spark):
    nothing = spark.createDataFrame([(None,)], "text string")
    refused("The column text has no texts", lambda: LDA(textCol="text").fit(nothing))


def test_invalid_parameters_are_rejected(spark):
    refused("LDA has no parameter 'topics'; it has k, maxIter", lambda: LDA(topics=3))
    frame = vectors(spark, DenseVector([1.0, 2.0]))
    for match, settings in (
        ("optimizer must be one of online, em, sda, got 'gibbs'", {"optimizer": "gibbs"}),
        ("preset", {"preset": "bad"}),
        ("n_components|k", {"k": 0}),
        ("prevalence needs sweeps", {"prevalence": "id", "preset": "fast"}),
        ("prevalence needs sweeps", {"prevalence": "id", "optimizer": "sda"}),
        ("prevalence is 'x', a missing column", {"prevalence": "x"}),
        (r"formula 'id \*' is invalid", {"prevalence": "id *"}),
    ):
        refused(match, lambda settings=settings: LDA(**settings).fit(frame))


def test_invalid_columns_of_prevalence_are_rejected(spark, monkeypatch):
    frame = vectors(spark, DenseVector([1.0, 2.0]), DenseVector([2.0, 1.0]))
    changing = frame.withColumn(
        "x", udf(lambda: uuid4().int / 2.0**128, "double").asNondeterministic()()
    )
    refused("table changed while it was read", lambda: LDA(prevalence="x").fit(changing))
    monkeypatch.setattr("opelda.spark._rows.MOST_COMBINATIONS", 1)
    refused("more than 1 distinct combinations", lambda: LDA(prevalence="id").fit(frame))


def test_invalid_models_are_rejected(spark, model):
    frame = vectors(spark, DenseVector([1.0, 2.0]))
    ours = LDAModel(model)
    refused(
        "has 3 words, but the model was fitted to vectors of 200 entries",
        lambda: ours.setVocabulary(["a", "b", "c"]),
    )
    refused("has no topics; fit an LDA, or load one", lambda: LDAModel().transform(frame))
    refused("already has a column 'part'", lambda: ours.copy().setScoreCol("part").transform(frame))
    refused("has 2 entries, but the model has 200 words", lambda: ours.logPerplexity(frame))
    texts = spark.createDataFrame([("a b",)], "text string")
    refused(
        "has no vocabulary to count texts with",
        lambda: LDAModel(model).setTextCol("text").transform(texts),
    )
    refused("scoreCol is 'score', a missing column", lambda: LDAEvaluator().evaluate(frame))
    empty = vectors(spark, SparseVector(200, {}))
    refused("no document with at least two tokens", lambda: LDAModel(model).logPerplexity(empty))


def test_invalid_streams_are_rejected(spark, tmp_path):
    frame = vectors(spark, DenseVector([1.0, 2.0]))
    refused("is not a stream; fit an LDA to it", lambda: learn(frame, tmp_path))
    stream = spark.readStream.text(str(tmp_path))
    refused("featuresCol is 'features', a missing column", lambda: learn(stream, tmp_path / "m"))
    refused(
        "spread needs a fixed vocabulary",
        lambda: learn(stream, tmp_path / "m", textCol="value", spread=True),
    )
    refused("preset", lambda: learn(stream, tmp_path / "m", textCol="value", preset="bad"))
    assert not (tmp_path / "m").exists()


def java(folder, version):
    (folder / "bin").mkdir(parents=True)
    path = folder / "bin" / "java"
    path.write_text(f"#!/bin/sh\necho 'openjdk {version}' >&2\n")
    path.chmod(0o755)


def test_missing_java_is_one_error(tmp_path, monkeypatch):
    check_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    refused("JAVA_HOME, .*, has no bin/java; install Java 17 or later", check_java, EngineError)
    for home, version, match in (
        ("old", 'version "11.0.2" 2019-01-15', "is Java 11, too old for Spark; install Java 17"),
        ("older", 'version "1.8.0_292"', "is Java 8, too old for Spark; install Java 17"),
    ):
        java(tmp_path / home, version)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / home))
        refused(match, check_java, EngineError)
    java(tmp_path / "new", 'version "21" 2023-09-19')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "new"))
    check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    refused("Spark needs Java, but no Java was found; install", check_java, EngineError)


BARE = """
from pyspark.ml.linalg import DenseVector
from opelda.errors import EngineError
from opelda.spark import LDA, session

spark = session("local[1]", spark_ui_enabled=False)
spark.sparkContext.setLogLevel("OFF")
try:
    LDA(k=2).fit(spark.createDataFrame([(DenseVector([1.0, 2.0]),)], ["features"]))
except EngineError as error:
    print(error)
"""


def test_executors_without_opelda_are_one_error(tmp_path):
    """The Python of the executors lacks opelda only."""
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    (site,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    others = [path for path in sys.path if path.endswith("site-packages")]
    hidden = "import sys; sys.modules['opelda'] = None"
    (site / "others.pth").write_text("\n".join([*others, hidden]))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", BARE],
        env=os.environ | {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    (message,) = run.stdout.splitlines()
    assert re.match("The executors have no module opelda; install it", message)
