"""Systems and time limits of each corpus: the small version and the full one."""

from __future__ import annotations

from .run import Run
from .systems import MODULES, module

SMALL_LIMIT = 10.0


def small() -> list[Run]:
    """Every system with every settings, some seconds each."""
    return [
        Run("small", system, label, SMALL_LIMIT)
        for system in MODULES
        for label in module(system).SETTINGS
    ]


def full() -> list[Run]:
    """About an hour on two cores: seconds of training at most, and passes that are made anyhow."""
    return [Run(corpus, *what) for corpus, runs in FULL.items() for what in runs]


# opelda ends long before its limit. Left out where documents are many: Spark's EM and
# scikit-learn's batch method, where one pass takes minutes; and on the two other corpora
# systems that made little progress on the first.
FULL = {
    "arxiv-100k": [
        ("opelda", "paper", 60),
        ("opelda", "fast", 60),
        ("opelda", "fast, 10 passes", 60),
        ("opelda", "best", 300),
        ("scikit-learn", "paper", 80, 1),
        ("scikit-learn", "best", 80, 1),
        ("scikit-learn", "larger batches", 120, 2),
        ("gensim", "paper", 80, 1),
        ("gensim", "best", 80, 1),
        ("gensim-multicore", "paper", 60, 1),
        ("tomotopy", "best", 120, 200),
        ("vowpal-wabbit", "paper", 60, 1),
        ("vowpal-wabbit", "best", 60, 1),
        ("spark", "best", 60),
        ("lda", "best", 30),
    ],
    "reddit": [
        ("opelda", "fast", 60),
        ("opelda", "fast, 10 passes", 60),
        ("opelda", "best", 300),
        ("scikit-learn", "larger batches", 60),
        ("tomotopy", "best", 90),
        ("vowpal-wabbit", "best", 45),
    ],
    "arxiv-250k": [
        ("opelda", "fast", 60),
        ("opelda", "best", 300),
        ("scikit-learn", "larger batches", 60),
        ("tomotopy", "best", 100),
        ("vowpal-wabbit", "best", 60),
    ],
}
