"""Held-out predictions by words of groups, beside those by common topics.

    python -m benchmarks.content --data DIR

Collections are the 4,000 abstracts of `opelda.corpus.ABSTRACTS` by field, and 12,000 articles each
of Reuters-21578 and English Wikinews by source. A fifth of the documents is held out. The last
column has groups drawn at random: what the words of groups cost where there are none.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.quality.corpora import reuters, wikinews
from opelda import TopicModel
from opelda.corpus import ABSTRACTS, read

MOST_ARTICLES = 12_000


def collections(data: Path) -> Iterator[tuple[str, int, sparse.csr_array, np.ndarray]]:
    """Yield a name, a number of topics, counts and groups."""
    corpus = read(ABSTRACTS, metadata="category")
    fields = [name.split(".")[0].split("-")[0] for name in corpus.metadata["category"]]
    yield "abstracts by field", 20, corpus.X, np.array(fields)
    agency = list(reuters(data))[:MOST_ARTICLES]
    news = list(wikinews(data))
    order = np.random.default_rng(0).permutation(len(news))[:MOST_ARTICLES]
    X = read(agency + [news[i] for i in order], min_df=10).X
    source = np.repeat(["reuters", "wikinews"], [len(agency), len(order)])
    kept = X.sum(axis=1) >= 10
    yield "news by source", 30, X[kept], source[kept]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    options = parser.parse_args()
    print("| documents | common topics | words of groups | cells that deviate | random groups |")
    print("|---|---|---|---|---|")
    for name, n_topics, X, group in collections(options.data):
        test = np.random.default_rng(0).random(len(group)) < 0.2
        scores = []
        for labels in (group, np.random.default_rng(5).permutation(group)):
            given = {"group": labels[~test]}
            model = TopicModel(n_topics, random_state=0).fit(X[~test], content="group", data=given)
            content = model._state.content
            share = len(content.cells) / (len(content.groups) * model.components_.size)
            score = model.score(X[test], data={"group": labels[test]})
            scores.append((model.score(X[test]), score, share))
        (common, own, share), (before, random, _) = scores
        lost = random - before
        print(f"| {name} | {common:.3f} | {own:.3f} | {share:.1%} | {lost:+.3f} |", flush=True)


if __name__ == "__main__":
    main()
