"""Phrases found in collections, and topics with and without them.

    python -m benchmarks.phrases --data shared/data --limit 5000 -k 20

For each collection: how many phrases there are, the share of tokens in them, a random forty to be
judged by eye, and of topics with and without: mean NPMI of their ten words over the documents,
diversity, and the held-out log predictive probability of a text (not of a token: a phrase is one).
"""

import argparse
import random
import tarfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from opelda import TopicModel
from opelda.corpus import Tokenizer, read
from opelda.metrics import log_predictive_probability, topic_diversity


def collections(data: Path, limit: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the texts of each."""
    with tarfile.open(data / "octis_small" / "octis-BBC-DBLP-M10.tar.xz") as archive:
        lines = archive.extractfile("./BBC_News/corpus.tsv").read().decode().splitlines()
    random.Random(0).shuffle(lines)  # they are in the order of their labels
    yield "BBC News", [line.split("\t")[0] for line in lines[:limit]]
    table = pl.read_parquet(data / "arxiv" / "abstracts-250k.parquet", n_rows=limit)
    yield "arXiv abstracts", (table["title"] + " " + table["abstract"]).to_list()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=5_000)
    parser.add_argument("-k", type=int, default=20)
    given = parser.parse_args()
    for name, texts in collections(given.data, given.limit):
        n_held_out = len(texts) // 10
        for phrases in (False, True):
            tokenizer = Tokenizer(stop_words="en", phrases=phrases)
            corpus = read(texts[n_held_out:], tokenizer=tokenizer)
            model = TopicModel(given.k, random_state=0).fit(corpus)
            held_out = corpus.vocabulary.count(texts[:n_held_out])
            score = float(log_predictive_probability(model, held_out, random_state=0))
            tokens = float(held_out.sum()) / n_held_out
            print(
                f"{name}, phrases={phrases}: {corpus.X.shape[1]:,} words, {tokens:.1f} tokens a "
                f"text, coherence {model.coherence_.mean():.3f}, diversity "
                f"{topic_diversity(model):.3f}, {score:.3f} a token, {score * tokens:.1f} a text"
            )
        found = corpus.vocabulary.tokenizer.phrases
        columns = [i for i, word in enumerate(corpus.words) if " " in word]
        share = 2 * corpus.X[:, columns].sum() / (corpus.X.sum() + corpus.X[:, columns].sum())
        print(f"  {len(found):,} phrases, {share:.1%} of the words are in them")
        print("  " + "; ".join(random.Random(0).sample(found, min(40, len(found)))))


if __name__ == "__main__":
    main()
