"""Spark MLlib: LDA on this machine, by the online optimizer or by EM."""

from __future__ import annotations

import itertools

import numpy as np

PACKAGES = {"pyspark": "pyspark"}
PROGRAMS = {"java": "openjdk-17-jre-headless"}

SETTINGS = {
    "paper": {
        "optimizer": "online",
        "batch_size": 5000,
        "alpha": 0.01,
        "eta": 0.01,
        "tau0": 1.0,
        "kappa": 0.9,
        "optimize_alpha": False,
        "passes": 1,
    },
    # pyspark.ml's defaults; its documentation wants iterations * subsamplingRate >= 1
    "best": {
        "optimizer": "online",
        "subsampling_rate": 0.05,
        "alpha": 0.01,
        "eta": 0.01,
        "tau0": 1024.0,
        "kappa": 0.51,
        "optimize_alpha": True,
        "passes": 10,
    },
    # EM wants priors over 1: 50/K + 1 and .1 + 1 are its defaults
    "em": {"optimizer": "em", "alpha": 1.5, "eta": 1.1, "passes": 50},
}


def prepare(corpus, settings, n_jobs):
    """Start a session and make a data frame of sparse vectors, cached and counted."""
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(f"local[{n_jobs}]")
    for name, value in {
        "spark.driver.memory": "8g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    counts, ends = corpus.train, corpus.train.indptr
    rows = [
        (row, Vectors.sparse(corpus.n_words, counts.indices[a:b], counts.data[a:b].astype(float)))
        for row, (a, b) in enumerate(itertools.pairwise(ends))
    ]
    frame = session.createDataFrame(rows, ["id", "features"]).repartition(n_jobs).cache()
    frame.count()
    return session, frame, corpus.n_docs


def train(prepared, settings, checkpoint, n_jobs):
    """Make the steps that `LDA.fit` makes, one by one.

    A fit cannot be continued, so the optimizer's own `initialize` and `next` are called, as
    fit's loop does; what fit does around them, turning the frame into pairs, is on the clock.
    """
    from pyspark.mllib.common import _java2py

    session, frame, n_docs = prepared
    java, context = session._jvm, session.sparkContext
    # Scala's companion objects are called X$ in Java
    companion = getattr(java.org.apache.spark.ml.clustering, "LDA$")
    documents = getattr(companion, "MODULE$").getOldDataset(frame._jdf, "features")
    clustering = java.org.apache.spark.mllib.clustering
    lda = clustering.LDA().setK(100).setSeed(0)
    lda.setDocConcentration(settings["alpha"]).setTopicConcentration(settings["eta"])
    if settings["optimizer"] == "em":
        share, optimizer = 1.0, clustering.EMLDAOptimizer()
    else:
        share = settings.get("subsampling_rate") or min(1.0, settings["batch_size"] / n_docs)
        optimizer = clustering.OnlineLDAOptimizer().setMiniBatchFraction(share)
        optimizer.setTau0(settings["tau0"]).setKappa(settings["kappa"])
        optimizer.setOptimizeDocConcentration(settings["optimize_alpha"])
    state = optimizer.initialize(documents, lda)

    def topics():
        model = state.getLDAModel(context._gateway.new_array(java.double, 0))
        return np.array(_java2py(context, model.topicsMatrix()).toArray().T)

    for step in range(1, round(settings["passes"] / share) + 1):
        state.next()
        checkpoint(round(step * share * n_docs), topics)  # a sample of that size on average
