"""Ways to rank a topic's words: how well ten of them fit each other, and how many are distinct.

    python -m benchmarks.published.rankings --data DIR

12,000 documents each of 20 Newsgroups, tweets of the US Congress and arXiv abstracts, K = 20, 50
and 100, one seed; NPMI in windows of ten tokens in the documents learned from / in 4,000 others.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.best import texts
from benchmarks.web_texts import tweets
from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.metrics import coherence, windows
from opelda.report import rank_words

LEARNED, OTHERS, WORDS = 12_000, 4_000, 10
RANKINGS = {
    "probability": {"by": "probability"},
    "relevance 0.8": {"lambda_": 0.8},
    "relevance 0.6": {},
    "tfidf": {"by": "tfidf"},
    "frex": {"by": "frex"},
    "coherence": {"by": "coherence"},
}


def collections(data: Path) -> Iterator[tuple[str, list[str]]]:
    yield "20 Newsgroups", list(texts("newsgroups", data))
    yield "tweets", tweets(data)
    yield "arXiv", pl.read_parquet(data / "arxiv" / "abstracts-250k.parquet")["abstract"].to_list()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--topics", nargs="+", type=int, default=[20, 50, 100])
    options = parser.parse_args()
    rows: dict[str, list[str]] = {name: [] for name in RANKINGS}
    names = []
    for name, documents in collections(options.data):
        names.append(name)
        for ranking, (own, others, distinct) in scored(documents, options.topics).items():
            rows[ranking].append(f"{own:.3f} / {others:.3f}, {distinct:.2f}")
    print(f"| words by | {' | '.join(names)} |\n{'|---' * (len(names) + 1)}|")
    for ranking, cells in rows.items():
        print(f"| {ranking} | {' | '.join(cells)} |")


def scored(documents: list[str], numbers: list[int]) -> dict[str, np.ndarray]:
    """Return NPMI where topics were learned and elsewhere, and the share of distinct words."""
    order = np.random.default_rng(0).permutation(len(documents))[: LEARNED + OTHERS]
    chosen = [documents[n] for n in order]
    corpus = read(chosen[:LEARNED], tokenizer=Tokenizer(stop_words="en"))
    known = set(corpus.words)  # other words leave no gap, as in collections that come prepared
    cut = [[word for word in re.findall(r"\w+", text.lower()) if word in known] for text in chosen]
    parts = cut[:LEARNED], cut[LEARNED:]
    found: dict[str, list[tuple[float, ...]]] = {ranking: [] for ranking in RANKINGS}
    for number in numbers:
        model = TopicModel(number, random_state=0).fit(corpus)
        for ranking, settings in RANKINGS.items():
            seen = {"X": corpus} if ranking == "coherence" else {}
            ids = rank_words(model, WORDS, **settings, **seen)
            fit = [mean_npmi(ids, corpus.words, part) for part in parts]
            found[ranking].append((*fit, len(np.unique(ids)) / ids.size))
    return {ranking: np.mean(each, axis=0) for ranking, each in found.items()}


def mean_npmi(ids: np.ndarray, words: list[str], documents: list[list[str]]) -> float:
    """Return the mean NPMI of topics' words; only they have a column."""
    known, columns = np.unique(ids, return_inverse=True)
    table = np.zeros((len(ids), len(known)))
    np.put_along_axis(table, columns.reshape(ids.shape), np.arange(WORDS, 0, -1.0)[None], axis=1)
    seen = windows(documents, [words[n] for n in known], size=WORDS)
    return float(coherence(table, seen, n_words=WORDS).mean())


if __name__ == "__main__":
    main()
