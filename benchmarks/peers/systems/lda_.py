"""lda: collapsed Gibbs sampling on one core."""

from __future__ import annotations

import logging

PACKAGES = {"lda": "lda"}

SETTINGS = {
    "paper": {"alpha": 0.01, "eta": 0.01, "passes": 2000},
    "best": {"alpha": 0.1, "eta": 0.01, "passes": 2000},  # the defaults, iterations included
}


def prepare(corpus, settings, n_jobs):
    """Make the list of tokens with their first topics, which `fit` would make."""
    import lda

    logging.getLogger("lda").setLevel(logging.ERROR)
    model = lda.LDA(100, alpha=settings["alpha"], eta=settings["eta"], random_state=0)
    model._initialize(corpus.train)
    return model, corpus.n_docs


def train(prepared, settings, checkpoint, n_jobs):
    """Do what `fit` does, less the likelihood it reports every ten iterations."""
    import lda

    model, n_docs = prepared
    shuffling = lda.utils.check_random_state(0)
    numbers = model._rands.copy()
    for iteration in range(settings["passes"]):
        shuffling.shuffle(numbers)
        model._sample_topics(numbers)
        checkpoint((iteration + 1) * n_docs, lambda: model.nzw_ + model.eta)
