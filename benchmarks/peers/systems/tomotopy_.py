"""tomotopy: LDAModel, collapsed Gibbs sampling in C++."""

from __future__ import annotations

import warnings

import numpy as np

PACKAGES = {"tomotopy": "tomotopy"}

# "best" is tomotopy's own defaults, with alpha learned every 10 iterations; its examples stop
# between 100 and 1,000 iterations. It has no mini-batches, so that "paper" is only the priors.
SETTINGS = {
    "paper": {"alpha": 0.01, "eta": 0.01, "optim_interval": 0, "passes": 200},
    "best": {"alpha": 0.1, "eta": 0.01, "optim_interval": 10, "passes": 1000},
}
STEP = 5  # iterations in one call of train


def prepare(corpus, settings, n_jobs):
    """Add the documents and let it draw the first topics of their tokens."""
    import tomotopy

    warnings.filterwarnings("ignore", "The training result may differ", RuntimeWarning)
    model = tomotopy.LDAModel(
        tw=tomotopy.TermWeight.ONE, k=100, alpha=settings["alpha"], eta=settings["eta"], seed=0
    )
    model.optim_interval = settings["optim_interval"]
    names = np.arange(corpus.n_words).astype(str).astype(object)
    for a, b in zip(corpus.train.indptr[:-1], corpus.train.indptr[1:], strict=True):
        tokens = np.repeat(corpus.train.indices[a:b], corpus.train.data[a:b])
        model.add_doc(names[tokens].tolist())
    model.train(0, workers=n_jobs)
    return model, corpus


def train(prepared, settings, checkpoint, n_jobs):
    model, corpus = prepared

    def topics():
        beta = np.zeros((model.k, corpus.n_words), np.float32)
        beta[:, [int(word) for word in model.used_vocabs]] = [
            model.get_topic_word_dist(topic) for topic in range(model.k)
        ]
        return beta

    for iteration in range(STEP, settings["passes"] + 1, STEP):
        model.train(STEP, workers=n_jobs)
        checkpoint(iteration * corpus.n_docs, topics)
