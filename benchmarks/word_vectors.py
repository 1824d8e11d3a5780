"""Streams of short texts: rules with a fixed prior, KPS, and TPS with vectors of the collection.

    python -m benchmarks.word_vectors --data DIR [--corpora reddit pascal biomedical snippets m10]

One pass, K = 50, batches of 500 documents, eta = .01: held-out LPP, and NPMI of ten words in the
held-out documents, where words that are never together count -1. "first tenth": TPS with vectors of
the first tenth of the documents.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.quality.corpora import CORPORA
from opelda import TopicModel
from opelda.learning import TPS, Online, Streaming, word_vectors
from opelda.metrics import coherence, log_predictive_probability

HOW = {"preset": "paper", "batch_size": 500, "doc_topic_prior": 0.02, "topic_word_prior": 0.01}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    names = ["reddit", "pascal", "biomedical", "snippets", "m10"]
    parser.add_argument("--corpora", nargs="+", default=names)
    options = parser.parse_args()
    for name in options.corpora:
        X, held_out = CORPORA[name].counts(name, options.data)
        rules = {
            "Streaming": Streaming(),
            "KPS": Streaming(keep_prior=True),
            "Online": Online(),
            "TPS": TPS(vectors=word_vectors(X)),
            "TPS, first tenth": TPS(vectors=word_vectors(X[: X.shape[0] // 10])),
        }
        for rule, learning in rules.items():
            model = TopicModel(50, learning=learning, random_state=0, **HOW).partial_fit(X)
            score = log_predictive_probability(model, held_out).macro
            print(name, rule, f"{score:.3f}", f"{coherence(model, held_out).mean():.3f}")


if __name__ == "__main__":
    main()
