"""Combine seeded and free topics, and print the share of each seeded topic by category.

    python examples/seeded_topics.py articles.jsonl category sky=stars,galaxy markets=stock,price

A theme is a name with some words.
"""

import sys

from opelda import TopicModel
from opelda.corpus import read
from opelda.report import topics_by


def main(source: str, column: str, *themes: str) -> None:
    """Train with a seeded topic for each theme, and print its shares."""
    seeds = {
        name: words.split(",") for name, _, words in (theme.partition("=") for theme in themes)
    }
    corpus = read(source, metadata=[column])
    model = TopicModel(len(seeds) + 10, seeds=seeds, random_state=0).fit(corpus)
    for topic, name in enumerate(seeds):
        print(f"{name}: {' '.join(model.top_words(8)[topic])}")
        for row in topics_by(model, corpus, column, topics=[topic]):
            print(f"  {row.bin}: {row.corrected_share:.1%} ({row.low:.1%} to {row.high:.1%})")


if __name__ == "__main__":
    main(*sys.argv[1:])
