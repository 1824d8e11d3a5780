"""opelda's own learners."""

from __future__ import annotations

import numpy as np

PACKAGES = {"opelda": "opelda"}

SETTINGS = {
    "paper": {"learner": "OnlineOPE", "n_passes": 1},  # S, kappa, tau and T are the defaults
    "fast": {"learner": "TopicModel", "preset": "fast"},
    "best": {"learner": "TopicModel", "preset": "best"},
    "fast, 10 passes": {"learner": "TopicModel", "preset": "fast", "n_passes": 10},
}


def prepare(corpus, settings, n_jobs):
    return corpus.train.astype(np.float32)


def train(counts, settings, checkpoint, n_jobs):
    import opelda

    class Watch:
        needs_gap = False

        def __call__(self, report):
            checkpoint(report.n_docs, lambda: report.model.components_)

    options = {name: value for name, value in settings.items() if name != "learner"}
    learner = getattr(opelda, settings["learner"])
    learner(100, n_jobs=n_jobs, random_state=0, callbacks=Watch(), **options).fit(counts)
