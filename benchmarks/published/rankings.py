"""Ways to rank a topic's words: how well ten words fit each other, and how many are distinct.

    python -m benchmarks.published.rankings --data DIR

12,000 documents each of 20 Newsgroups, tweets of the US Congress and arXiv abstracts, K = 20, 50
and 100, one seed; NPMI in windows of ten tokens: gensim's c_npmi in the documents learned from / in
4,000 others, then opelda's in both, where words that are never in one window count -1 (gensim: -.5
to -.95), and the share of distinct words.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.quality.corpora import newsgroups
from benchmarks.web_texts import tweets
from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.metrics import coherence, windows
from opelda.report import rank_words

from .corpora import Labelled
from .scores import npmi

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
    yield "20 Newsgroups", list(newsgroups(data))
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
        for ranking, (*fit, distinct) in scored(documents, options.topics).items():
            rows[ranking].append(" / ".join(f"{value:.3f}" for value in fit) + f", {distinct:.2f}")
    print(f"| words by | {' | '.join(names)} |\n{'|---' * (len(names) + 1)}|")
    for ranking, cells in rows.items():
        print(f"| {ranking} | {' | '.join(cells)} |")


def scored(documents: list[str], numbers: list[int]) -> dict[str, np.ndarray]:
    """Return each ranking's NPMI by both measures, and its share of distinct words."""
    order = np.random.default_rng(0).permutation(len(documents))[: LEARNED + OTHERS]
    chosen = [documents[n] for n in order]
    corpus = read(chosen[:LEARNED], tokenizer=Tokenizer(stop_words="en"))
    known = set(corpus.words)  # other words leave no gap, as in collections that come prepared
    cut = [[word for word in re.findall(r"\w+", text.lower()) if word in known] for text in chosen]
    parts = cut[:LEARNED], cut[LEARNED:]
    found: dict[str, np.ndarray] = {}
    for number in numbers:
        model = TopicModel(number, random_state=0).fit(corpus)
        for ranking, settings in RANKINGS.items():
            looked_in = {"X": corpus} if ranking == "coherence" else {}
            ids = rank_words(model, WORDS, **settings, **looked_in)
            topics = [[corpus.words[word] for word in topic] for topic in ids]
            fit = [np.mean(measure(part, topics)) for measure in (gensims, ours) for part in parts]
            distinct = len(np.unique(ids)) / ids.size
            found[ranking] = found.get(ranking, 0) + np.array([*fit, distinct]) / len(numbers)
    return found


def gensims(documents: list[list[str]], topics: list[list[str]]) -> list[float]:
    return npmi(Labelled("", documents, []), topics)


def ours(documents: list[list[str]], topics: list[list[str]]) -> np.ndarray:
    """Return NPMI of words; only these words have columns."""
    column = {word: n for n, word in enumerate(sorted({word for each in topics for word in each}))}
    table = np.zeros((len(topics), len(column)))
    for row, words in zip(table, topics, strict=True):
        row[[column[word] for word in words]] = np.arange(len(words), 0, -1)
    return coherence(table, windows(documents, column, size=WORDS), n_words=WORDS)


if __name__ == "__main__":
    main()
