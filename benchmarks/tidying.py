"""Losses from merging similar topics, and shares of near-duplicate documents and topics.

    python -m benchmarks.tidying topics --data DIR [--corpora newsgroups wikinews reuters debian]
    python -m benchmarks.tidying documents --data DIR [--corpora debian reddit wikinews reuters ...]

Thresholds were chosen on the newsgroups and Wikinews (topics), and on Debian's descriptions, titles
and Wikinews (documents); the other corpora are reports.
"""

import argparse
from collections.abc import Iterator
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.quality import corpora
from benchmarks.streams.corpora import tweets
from opelda import OnlineVB, TopicModel
from opelda.corpus import Corpus, near_duplicates, read
from opelda.report import similar_topics

TOPICS = ["newsgroups", "wikinews", "reuters", "debian"]
DOCUMENTS = ["debian", "reddit", "wikinews", "reuters", "tweets", "newsgroups"]
BINS = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.01)
PAIRS = 6  # of a bin
N_DOCS, N_HELD_OUT = 6_000, 500


def texts(name: str, data: Path) -> list[str]:
    """Return the documents of a corpus."""
    if name == "tweets":
        return tweets(data)
    return list(getattr(corpora, "packages" if name == "debian" else name)(data))


def merged(corpus: Corpus, seed: int = 0) -> Iterator[tuple[str, float, float]]:
    """Merge pairs of topics; yield learner, similarity, and the nats lost a token of theirs."""
    order = np.random.default_rng(seed).permutation(len(corpus))
    held_out = corpus.X[order[:N_HELD_OUT]]
    train = corpus.X[order[N_HELD_OUT : N_HELD_OUT + N_DOCS]]
    learners: dict[str, Any] = {
        "OnlineVB(50)": OnlineVB(50, batch_size=500, random_state=seed, n_jobs=1),
        "fast(100)": TopicModel(100, preset="fast", random_state=seed, n_jobs=1),
    }
    for name, model in learners.items():
        model.fit(train)
        pairs, shares = similar_topics(model, BINS[0]), model._shares()
        score = model.score(held_out, n_splits=2, method="vb")
        for low, high in pairwise(BINS):
            here = [row for row in pairs if low <= row.similarity < high]
            for row in here[:: max(len(here) // PAIRS, 1)][:PAIRS]:
                other = deepcopy(model)
                other.merge_topics([row.topic, row.other])
                weight = shares[row.topic] + shares[row.other]
                lost = (score - other.score(held_out, n_splits=2, method="vb")) / weight
                yield name, row.similarity, lost


def report_topics(data: Path, names: list[str]) -> None:
    """Print the mean loss by similarity."""
    for name in names:
        corpus = read(texts(name, data)[: 3 * N_DOCS], n_jobs=1)
        rows = list(merged(corpus))
        for learner in dict.fromkeys(row[0] for row in rows):
            found = np.array([row[1:] for row in rows if row[0] == learner])
            print(f"{name}, {learner}: nats lost a token of the two topics")
            for low, high in pairwise(BINS):
                lost = found[(found[:, 0] >= low) & (found[:, 0] < high), 1]
                if len(lost):
                    print(f"  similarity {low:.2f}: {lost.mean():6.3f} ({len(lost)} pairs)")


def report_documents(data: Path, names: list[str], n_topics: int) -> None:
    """Print the shares of documents and of topics that are near copies."""
    for name in names:
        corpus = read(texts(name, data), n_jobs=1)
        started = process_time()
        copies = near_duplicates(corpus) >= 0
        seconds = process_time() - started
        shares = [f"{(near_duplicates(corpus, t) >= 0).mean():.1%}" for t in (0.6, 0.7, 0.9, 1.0)]
        print(
            f"{name}: {len(corpus):,} documents, {copies.mean():.1%} near copies in {seconds:.2f} "
            f"s of one core; at .6, .7, .9, 1: {', '.join(shares)}"
        )
        if n_topics:
            model = TopicModel(n_topics, preset="fast", random_state=0, n_jobs=1).fit(corpus.X)
            tokens = np.asarray(corpus.X.sum(axis=1)).ravel()[:, None] * model.transform(corpus.X)
            of_copies = tokens[copies].sum(axis=0) / tokens.sum(axis=0)
            print(
                f"  topics of {n_topics} with half of their tokens in those: "
                f"{(of_copies >= 0.5).sum()}"
            )


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("topics", "documents"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+")
    parser.add_argument("--fit", type=int, default=100, help="topics to learn of the documents")
    asked = parser.parse_args()
    if asked.what == "topics":
        report_topics(asked.data, asked.corpora or TOPICS)
    else:
        report_documents(asked.data, asked.corpora or DOCUMENTS, asked.fit)


if __name__ == "__main__":
    main()
