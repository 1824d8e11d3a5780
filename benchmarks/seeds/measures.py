"""What became of themes: how many seed words lead their topics, and whose documents these have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from opelda.metrics import coherence as npmi

from .corpora import Labelled

TOP = 20


@dataclass(frozen=True)
class Found:
    """Means over the themes of a corpus."""

    seeds_in_top: float  # share of a theme's words among the 20 most likely words of the topic
    precision: float  # share of the documents whose heaviest topic it is that have its label
    recall: float  # share of the documents with its label whose heaviest topic it is
    f1: float
    coherence: float  # NPMI of the ten most likely words, over the training documents
    size: float  # smallest over mean share of documents of a seeded topic


def measure(corpus: Labelled, topics: np.ndarray, theta: np.ndarray, seeded: bool) -> Found:
    """Measure topics (K, V) and the mixtures of the test documents.

    Without seeds a theme's topic is the one with most weight on its words, each theme another one.
    """
    index = {word: column for column, word in enumerate(corpus.vocabulary.words)}
    words = [[index[w] for w in ws if w in index] for ws in corpus.seeds.values()]
    of_theme = np.arange(len(words))
    if not seeded:
        weight = np.array([topics[:, columns].sum(axis=1) for columns in words])
        of_theme = linear_sum_assignment(weight, maximize=True)[1]
    top = np.argsort(-topics, axis=1, kind="stable")[:, :TOP]
    hits = [np.isin(ws, top[k]).mean() for ws, k in zip(words, of_theme, strict=True)]
    heaviest = theta.argmax(axis=1)
    rows = []
    for name, topic in zip(corpus.themes, of_theme, strict=True):
        is_theme, mine = corpus.is_theme(name), heaviest == topic
        both = (is_theme & mine).sum()
        rows.append(
            (
                both / max(mine.sum(), 1),
                both / max(is_theme.sum(), 1),
                2 * both / max(mine.sum() + is_theme.sum(), 1),
                mine.mean(),
            )
        )
    precision, recall, f1, size = np.array(rows).T
    coherence = npmi(top[of_theme, :10], corpus.train).mean()
    return Found(
        float(np.mean(hits)),
        float(precision.mean()),
        float(recall.mean()),
        float(f1.mean()),
        float(coherence),
        float(size.min() * len(topics)),
    )
