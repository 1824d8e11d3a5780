"""scikit-learn: LatentDirichletAllocation, batch and online variational Bayes."""

from __future__ import annotations

import numpy as np

PACKAGES = {"scikit-learn": "sklearn"}

# The user guide advises learning_method="online" for large data; kappa = .7, tau = 10 and batches
# of 128 are the defaults. On 100,000 abstracts larger batches learn better topics, and faster.
ONLINE = {"learning_method": "online", "learning_decay": 0.7, "learning_offset": 10.0}
SETTINGS = {
    "paper": {
        "learning_method": "online",
        "batch_size": 5000,
        "learning_decay": 0.9,
        "learning_offset": 1.0,
        "passes": 1,
    },
    "best": {**ONLINE, "batch_size": 128, "passes": 10},
    "larger batches": {**ONLINE, "batch_size": 4096, "passes": 10},
    "batch": {"learning_method": "batch", "passes": 100},
}


def prepare(corpus, settings, n_jobs):
    """Make counts of doubles, and let joblib start its workers, which takes it seconds."""
    from joblib import Parallel, delayed

    Parallel(n_jobs)(delayed(abs)(number) for number in range(n_jobs))
    return corpus.train.astype(np.float64)


def train(counts, settings, checkpoint, n_jobs):
    """Fit, looking on after each EM step.

    The run ends with its last step: the pass that `fit` adds to report a perplexity is not counted.
    """
    from sklearn.decomposition import LatentDirichletAllocation

    class Watched(LatentDirichletAllocation):
        seen = 0

        def _em_step(self, X, *args, **kwargs):
            super()._em_step(X, *args, **kwargs)
            Watched.seen += X.shape[0]
            checkpoint(Watched.seen, lambda: self.components_)

    options = {name: value for name, value in settings.items() if name != "passes"}
    model = Watched(
        100,
        doc_topic_prior=0.01,  # 1/K, the default
        topic_word_prior=0.01,
        max_iter=settings["passes"],
        n_jobs=n_jobs,
        random_state=0,
        **options,
    )
    model.fit(counts)
