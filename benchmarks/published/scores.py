"""Scores of models: gensim's coherence, diversity, and agreement with labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .corpora import Labelled
from .systems import Found

WINDOW = 10  # tokens, as gensim's c_npmi has by default
N_WORDS = 10  # for coherence and diversity; topic diversity (TD) has 15


def scored(corpus: Labelled, models: Iterable[Found]) -> Iterator[dict[str, Any]]:
    """Yield a row for each model and each ranking of words.

    The words of all models are looked for in one go through the documents.
    """
    from sklearn.metrics import normalized_mutual_info_score

    models = list(models)
    every = [topic for found in models for topics in found.words.values() for topic in topics]
    every = [topic[:N_WORDS] for topic in every]
    coherence = iter(npmi(corpus, every))
    for found in models:
        agreement = {
            "nmi": float(normalized_mutual_info_score(corpus.labels, found.topics)),
            "purity": purity(corpus.labels, found.topics),
            "outliers": sum(topic < 0 for topic in found.topics) / len(found.topics),
        }
        for ranking, topics in found.words.items():
            words = [word for topic in topics for word in topic[:N_WORDS]]
            times = Counter(word for topic in topics for word in topic)
            yield {
                "corpus": corpus.name,
                "system": found.system,
                "words": ranking,
                "n_topics": found.n_topics,
                "found": len(topics),
                "seed": found.seed,
                "npmi": float(np.mean([next(coherence) for _ in topics])),
                "diversity": len(set(words)) / len(words),
                "td": sum(n == 1 for n in times.values()) / sum(times.values()),
                **agreement,
                "seconds": found.seconds,
                "memory_mb": found.memory_mb,
            }


def npmi(corpus: Labelled, topics: list[list[str]]) -> list[float]:
    """Return gensim's c_npmi of each topic; words that the documents lack are left out."""
    from gensim.corpora import Dictionary
    from gensim.models import CoherenceModel

    known = set(corpus.words)
    kept = [[word for word in topic if word in known] for topic in topics]
    model = CoherenceModel(
        topics=kept,
        texts=corpus.documents,
        dictionary=Dictionary(corpus.documents),
        coherence="c_npmi",
        window_size=WINDOW,
        topn=max(map(len, kept)),
        processes=1,
    )
    return [float(value) for value in model.get_coherence_per_topic()]


def purity(labels: list[str], topics: list[int]) -> float:
    """Return the share of documents whose label is the most frequent one of their topic.

    >>> purity(["a", "a", "b", "b"], [0, 0, 0, 1])
    0.75
    """
    pairs = Counter(zip(topics, labels, strict=True))
    most: dict[int, int] = {}
    for (topic, _), times in pairs.items():
        most[topic] = max(most.get(topic, 0), times)
    return sum(most.values()) / len(labels)
