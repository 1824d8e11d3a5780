"""How well topics predict that are learned by sums over partitions (`optimizer="sda"`).

    python -m benchmarks.spark.sda --data DIR [--docs 20000] [--topics 50] [--out FILE]

The sums do not depend on the order of rows, so partitions are shuffled documents here. Beside them
the streaming rule in sequence, with the same inference and mini-batches of as many documents, and
`preset="fast"`. LPP of held-out documents and NPMI of the training ones; no times.
"""

from __future__ import annotations

import argparse
import json
from itertools import product
from pathlib import Path

from benchmarks.spark.setting import counts, quality, start, table, written
from opelda import TopicModel
from opelda.spark import LDA


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--docs", type=int, default=20_000)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--rounds", type=int, nargs="*", default=[20, 100])
    parser.add_argument("--partitions", type=int, nargs="*", default=[1, 2, 8])
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--tables", type=Path, default=Path("/tmp/opelda-spark"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    train, held_out = counts(options.data, options.docs)
    k = options.topics

    def say(name: str, model: TopicModel, **more: object) -> None:
        line = {"name": name, **more, **quality(model.components_, train, held_out)}
        print(json.dumps(line), flush=True)
        if options.out:
            with open(options.out, "a") as out:
                out.write(json.dumps(line) + "\n")

    say("fast", TopicModel(k, preset="fast", random_state=0).fit(train))
    for inference, n in product(("ope", "vb"), options.rounds):
        how = {"learning": "streaming", "n_passes": 1, "n_sweeps": 0, "random_state": 0}
        model = TopicModel(k, inference=inference, batch_size=train.shape[0] // n, **how)
        say("sequential", model.fit(train), inference=inference, rounds=n)
    spark = start(options.master)
    documents = table(spark, written(train, options.tables))
    for n_parts in options.partitions:
        parts = documents.repartition(n_parts).persist()
        for inference, n in product(("ope", "vb"), options.rounds):
            lda = LDA(k=k, seed=0, optimizer="sda", inference=inference, maxIter=n)
            more = {"inference": inference, "rounds": n, "partitions": n_parts}
            say("sda", lda.fit(parts).toLocal(), **more)
        parts.unpersist()
    spark.stop()


if __name__ == "__main__":
    main()
