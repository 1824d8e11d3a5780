"""Executors in separate processes, which can be lost.

Run by OPELDA_SPARK_MASTER="local-cluster[2,1,1024]", where executors can be killed.
"""

import os
import random
from threading import Thread

import numpy as np
import pytest

import opelda
from opelda import TopicModel
from opelda.spark import LDA, LDAModel, _cluster, learn

from .made import documents, same, table, texts
from .processes import executors_of, kill

N_SWEEPS = 4


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return documents(500, fractions=True)


@pytest.fixture(scope="module")
def alone(X):
    return TopicModel(4, random_state=3, n_sweeps=N_SWEEPS).fit(X)


def fitted(frame, **settings):
    return LDA(k=4, seed=3, maxIter=N_SWEEPS, **settings).fit(frame).toLocal()


def test_sweeps_and_mixtures_match_one_machine(spark, X, alone):
    frame = table(spark, X, dense=0.3, nulls=5).repartition(3)
    same(fitted(frame, localDocs=0), alone)
    rows = LDAModel(alone).transform(frame).where("features is not null").orderBy("id").collect()
    theta = np.array([row["topicDistribution"].toArray() for row in rows])
    assert np.array_equal(theta, alone.transform(X))


def test_executors_add_counts(spark, X, alone, monkeypatch):
    monkeypatch.setattr(_cluster, "MOST_ADDED", 0)
    monkeypatch.setattr(_cluster, "RANGE_BYTES", 50 * 4 * 8)
    same(fitted(table(spark, X).repartition(3), localDocs=0), alone)


def test_stream_on_a_cluster(spark, tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a.txt").write_text("\n".join(texts(90)))
    stream = spark.readStream.text(str(tmp_path / "source"))
    now = {"availableNow": True}
    learn(stream, tmp_path / "model", 3, textCol="value", trigger=now).awaitTermination()
    assert opelda.load(tmp_path / "model").n_docs_seen_ == 90


@pytest.mark.parametrize("when", ["during the second sweep", "before the third"])
def test_lost_executor_gives_the_identical_model(spark, master, X, alone, monkeypatch, when):
    """Its topic assignments are sampled again from the start."""
    if not master.startswith("local-cluster"):
        pytest.skip("local mode has no executors to kill")
    assert executors_of(os.getpid())
    killed, drawn, redrawn = [], _cluster.Cluster._drawn, []

    def strike():
        victims = executors_of(os.getpid())
        if when == "during the second sweep":
            victims = [random.choice(victims)]
        # (or all: on a busy machine an executor may hold no data)
        for victim in victims:
            kill(victim)
            killed.append(victim)

    def draw(self, task):
        striking = Thread(target=strike)
        if self._n_sweeps == (1 if when == "during the second sweep" else 2) and not killed:
            striking.start()
            if when == "before the third":
                striking.join()
        found = drawn(self, task)
        if striking.ident is not None:
            striking.join()
        return found

    redraw = _cluster.Cluster._redraw
    monkeypatch.setattr(_cluster.Cluster, "_drawn", draw)
    monkeypatch.setattr(
        _cluster.Cluster, "_redraw", lambda self: (redrawn.append(1), redraw(self))[1]
    )
    same(fitted(table(spark, X).repartition(4), localDocs=0), alone)
    assert killed
    assert redrawn or when == "during the second sweep"
