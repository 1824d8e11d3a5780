"""`learn`: every micro-batch exactly once, like a local stream."""

import os
import shutil
from zlib import crc32

import numpy as np
import pytest
from pyspark.sql.types import StructType

import opelda
from opelda import TopicModel
from opelda.corpus import Vocabulary
from opelda.errors import InputError
from opelda.learning import OnEvent
from opelda.learning.streaming import _watch, _window
from opelda.spark import learn
from opelda.spark._structured_streaming import MicroBatchLearner

from .made import SCHEMA, WORDS, documents, same, table, texts

FILE = "checkpoint.opelda"
NOW = {"availableNow": True}


def write(folder, number, lines):
    """Write a file; its modification time orders the micro-batches."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{number}.txt"
    path.write_text("".join(line + "\n" for line in lines))
    os.utime(path, (10**9 + number, 10**9 + number))


def batches(n, each=100):
    made = texts(n * each)
    return [made[at : at + each] for at in range(0, n * each, each)]


def run(spark, source, path, **settings):
    """Learn from the files of a folder, one in each micro-batch; return the file's bytes."""
    stream = spark.readStream.option("maxFilesPerTrigger", 1).text(str(source))
    stream = stream.withColumnRenamed("value", "text")
    query = learn(stream, path, 3, textCol="text", seed=1, trigger=NOW, **settings)
    query.awaitTermination()
    return (path / FILE).read_bytes()


def by_hand(parts, **settings):
    """Learn from micro-batches without Spark."""
    model = TopicModel(3, random_state=1, **settings)
    for part in parts:
        model.fit_stream(sorted(part, key=lambda text: (crc32(text.encode()), text)))
    return model


def test_new_files_are_learned_once(spark, tmp_path):
    """Any order of lines and number of queries gives the bytes of a local stream."""
    parts = batches(4)
    for number, part in enumerate(parts):
        write(tmp_path / "all", number, part[::-1])
    whole = run(spark, tmp_path / "all", tmp_path / "whole")
    for number, part in enumerate(parts[:2]):
        write(tmp_path / "source", number, part)
    some = run(spark, tmp_path / "source", tmp_path / "model")
    assert run(spark, tmp_path / "source", tmp_path / "model") == some
    assert opelda.load(tmp_path / "model").n_docs_seen_ == 200
    for number in (2, 3):
        write(tmp_path / "source", number, parts[number])
    assert run(spark, tmp_path / "source", tmp_path / "model") == whole
    same(opelda.load(tmp_path / "model"), by_hand(parts))
    # positions of another query belong to other documents
    shutil.rmtree(tmp_path / "model" / "spark")
    with pytest.raises(Exception, match="belongs to another query, whose positions are not in"):
        run(spark, tmp_path / "source", tmp_path / "model")
    assert (tmp_path / "model" / FILE).read_bytes() == whole


def learning(path, *, vocabulary=None, words=True, spread=False, **settings):
    if spread:
        settings |= {"learning": "streaming", "n_sweeps": 0}
    model = TopicModel(3, random_state=1, **settings)
    return MicroBatchLearner(model, path, str(path / "spark"), vocabulary, words, spread)


def column(spark, lines):
    return spark.createDataFrame([(line,) for line in lines], "document string")


@pytest.mark.parametrize("spread", [False, True])
def test_repeated_and_empty_batches_are_skipped(spark, tmp_path, spread):
    first, second = (column(spark, part) for part in batches(2, each=40))
    nothing, nulls = column(spark, []), column(spark, [None, None])
    words = {"vocabulary": Vocabulary(sorted(sum(WORDS, ())))} if spread else {}

    def seen():
        return opelda.load(tmp_path).n_docs_seen_

    one = learning(tmp_path, spread=spread, **words)
    for number, some in enumerate((nothing, nulls, first, first)):
        one(some, number)
        assert (tmp_path / FILE).exists() == (number > 1)
    assert seen() == 80  # the same documents may come twice; the same batch is learned once
    one(first, 3)
    assert seen() == 80
    other = learning(tmp_path, spread=spread, **words)
    other(second, 3)
    assert seen() == 80
    other(nothing, 4)
    other(second, 5)
    assert seen() == 120
    with pytest.raises(InputError, match="was changed by another run during learning"):
        one(second, 6)
    assert seen() == 120


@pytest.mark.parametrize("spread", [False, True])
def test_stream_of_vectors(spark, tmp_path, spread):
    X = documents(200)
    for part in range(2):
        frame = table(spark, X[part::2], dense=0.2, nulls=2).coalesce(1)
        frame.write.mode("append").parquet(str(tmp_path / "source"))
    schema = StructType.fromJson(SCHEMA.jsonValue())
    stream = spark.readStream.schema(schema).parquet(str(tmp_path / "source"))
    query = learn(stream, tmp_path / "model", 4, seed=1, spread=spread, trigger=NOW)
    query.awaitTermination()
    model = opelda.load(tmp_path / "model")
    assert model.n_docs_seen_ == X.shape[0]
    assert model.components_.shape == (4, 200)
    if not spread:
        other = TopicModel(4, random_state=1)
        keys = other._engine().documents(X).keys
        X = X[np.argsort(keys, kind="stable")]
        size = other._schedule().batch_size
        other.fit_stream(X[at : at + size] for at in range(0, X.shape[0], size))
        same(model, other)


def test_saved_models_are_complete_and_callbacks_run(spark, tmp_path):
    parts, found, reports = batches(3), [], []
    for number, part in enumerate(parts):
        write(tmp_path / "source", number, part)

    def look(report):
        reports.append(report.n_docs)
        if (tmp_path / "model" / FILE).exists():
            found.append(opelda.load(tmp_path / "model").n_docs_seen_)

    run(spark, tmp_path / "source", tmp_path / "model", callbacks=look)
    assert sum(reports) == 300
    assert set(found) == {100, 200}


def test_stream_events(spark, tmp_path, monkeypatch):
    """New-word events match a local stream, and are saved."""
    monkeypatch.setattr(_watch, "BLOCK", 50)
    monkeypatch.setattr(_window, "MOST_DOCS", 400)
    tea = [" ".join(f"tea{n}" for n in (number % 9, number % 7, 3)) for number in range(100)]
    parts = [texts(800), tea + texts(100), tea + texts(100)]
    told, expected = [], []
    for number, part in enumerate(parts):
        write(tmp_path / "source", number, part)
    settings = {"batch_size": 50}
    callbacks = OnEvent(told.append)
    run(spark, tmp_path / "source", tmp_path / "model", callbacks=callbacks, **settings)
    by_hand(parts, callbacks=OnEvent(expected.append), **settings)

    def plain(events):
        return [(event.kind, event.document, event.words) for event in events]

    assert plain(told) == plain(expected) != []
    assert plain(opelda.load(tmp_path / "model").events_) == plain(told)
