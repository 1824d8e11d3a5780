"""The one evaluator: how well topics predict held-out words, and how coherent they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability

from .corpora import Corpus

FLOOR = 1e-12  # weight of an unseen word where a system has no prior on words


def normalised(topics: ArrayLike) -> NDArray[np.float64]:
    """Return topics as rows that sum to one and have no zero."""
    weights = np.array(topics, dtype=np.float64)
    weights /= weights.sum(axis=1, keepdims=True)
    np.maximum(weights, FLOOR, out=weights)
    return weights / weights.sum(axis=1, keepdims=True)


def score(topics: ArrayLike, corpus: Corpus, n_jobs: int = 2) -> dict[str, float]:
    """Score topics on a corpus: LPP by VB, alpha = 1/K, 70:30, five splits; NPMI of ten words."""
    beta = normalised(topics)
    lpp = log_predictive_probability(
        beta, corpus.held_out, method="vb", n_splits=5, random_state=0, n_jobs=n_jobs
    )
    return {
        "lpp": round(float(lpp), 5),
        "npmi": round(float(npmi(beta, corpus.train, n_words=10).mean()), 5),
    }
