"""What is run on which corpus, and for how long: the small version and the full one."""

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


# opelda ends by itself, long before its limit. Left out where documents are many: Spark's EM and
# scikit-learn's batch method, a single pass of which takes minutes.
FULL = {
    "arxiv-100k": [
        ("opelda", "paper", 60),
        ("opelda", "advice", 60),
        ("scikit-learn", "paper", 90, 1),
        ("scikit-learn", "best", 100, 1),
        ("gensim", "paper", 90, 1),
        ("gensim", "best", 100, 1),
        ("gensim-multicore", "paper", 90, 1),
        ("gensim-multicore", "best", 90, 1),
        ("tomotopy", "paper", 90, 50),
        ("tomotopy", "best", 120, 200),
        ("vowpal-wabbit", "paper", 120, 1),
        ("vowpal-wabbit", "best", 120, 1),
        ("spark", "paper", 60),
        ("spark", "best", 90),
        ("lda", "best", 75),
    ],
    "arxiv-250k": [
        ("opelda", "paper", 60),
        ("opelda", "advice", 60),
        ("scikit-learn", "best", 150),
        ("gensim", "best", 150),
        ("gensim-multicore", "best", 150),
        ("tomotopy", "best", 200),
        ("vowpal-wabbit", "best", 150),
        ("spark", "best", 100),
        ("lda", "best", 60),
    ],
    "reddit": [
        ("opelda", "paper", 60),
        ("opelda", "advice", 60),
        ("scikit-learn", "best", 90),
        ("gensim", "best", 90),
        ("gensim-multicore", "best", 90),
        ("tomotopy", "best", 120),
        ("vowpal-wabbit", "best", 90),
        ("spark", "best", 80),
        ("lda", "best", 40),
    ],
}
