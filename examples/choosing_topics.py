"""Choose a number of topics, and mark the topics that are stable across random seeds.

python examples/choosing_topics.py articles.jsonl 5 10 20
"""

import sys

import opelda
from opelda.corpus import read
from opelda.report import topic_table
from opelda.selection import choose_n_topics, stability


def main(source: str, *numbers: str) -> None:
    """Compare numbers of topics, train with the best, and mark stable topics."""
    corpus = read(source)
    learner = opelda.TopicModel(preset="fast", random_state=0)
    found = choose_n_topics(corpus, [int(number) for number in numbers], model=learner, n_runs=2)
    for row in found.table:
        print(f"{row.n_topics:4} topics: quality {row.quality:.3f}, LPP {row.lpp:.3f}")
    print(found.advice)
    model = learner.set_params(n_components=found.n_topics).fit(corpus)
    trusted = stability(model, corpus, n_runs=3).topics >= 0.5
    for topic in topic_table(model, n_words=5):
        print("*" if trusted[topic.topic] else " ", " ".join(topic.words))


if __name__ == "__main__":
    main(*sys.argv[1:])
