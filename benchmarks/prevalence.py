"""Seconds and predictions of topics that depend on columns, beside topics that do not.

    python -m benchmarks.prevalence --data DIR [--documents N] [--topics K] [--seeds N] [--topica]
                                    [--stream]

Documents are arXiv abstracts by category and date, and tweets of members of the US Congress by
account and time. LPP is that of 2,000 other documents, with the prior of their columns and without:
30% of their words are predicted from the others (VB). The clock runs while `fit` learns.
With --topica, its DMR and STM (two threads, own defaults) learn from the same words and the 20 most
frequent levels of the first column; all scores are then of the topics alone, with alpha = 1/K.
With --stream, `fit_stream` learns from Reddit titles by subreddit and from tweets by account, and
seconds are those of the processor.
"""

import argparse
import json
import lzma
import tarfile
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import polars as pl

from opelda import TopicModel
from opelda.corpus import Corpus, read
from opelda.metrics import log_predictive_probability

N_TESTED = 2_000


def abstracts(data: Path) -> tuple[pl.DataFrame, str]:
    table = pl.read_parquet(data / "arxiv" / "abstracts-250k.parquet")
    text = pl.concat_str("title", "abstract", separator=" ").alias("text")
    return table.select(text, "category", "date"), "category + s(date)"


def tweets(data: Path) -> tuple[pl.DataFrame, str]:
    rows = []
    with tarfile.open(data / "congress_tweets_2017_07" / "congresstweets-2017-07.tar.xz") as days:
        for day in days:
            if day.isfile():
                rows += json.load(days.extractfile(day))
    table = pl.DataFrame(
        {name: [row[name] for row in rows] for name in ("text", "screen_name", "time")}
    )
    return table, "screen_name + s(time)"


def titles(data: Path) -> tuple[pl.DataFrame, str]:
    with lzma.open(data / "reddit_titles" / "titles-1.2M.tsv.xz", "rt") as lines:
        rows = [line.rstrip("\n").split("\t", 1) for line in lines]
    return pl.DataFrame(rows, schema=["subreddit", "text"], orient="row"), "subreddit"


def parts(table: pl.DataFrame, n_docs: int, seed: int) -> tuple[Corpus, Corpus]:
    """Return documents to learn from and to test on, at random."""
    n_docs = min(n_docs, len(table) - N_TESTED)
    rows = np.random.default_rng(seed).permutation(len(table))[: n_docs + N_TESTED]
    table = table[rows]
    X = read(table["text"].to_list(), min_df=3, max_df=0.5).X
    columns = table.drop("text")
    return Corpus(X[:n_docs], metadata=columns[:n_docs]), Corpus(
        X[n_docs:], metadata=columns[n_docs:]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=5_000)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--topica", action="store_true")
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    if options.topica:
        for source in (abstracts, tweets):
            beside_topica(source, options)
        return
    print(
        "| documents | prevalence | seconds | LPP with columns | without |\n|---|---|---|---|---|"
    )
    clock = process_time if options.stream else perf_counter
    for source in (titles, tweets) if options.stream else (abstracts, tweets):
        table, formula = source(options.data)
        if options.stream:
            formula = formula.split(" ")[0]
        for given in (None, formula):
            found = []
            for seed in range(options.seeds):
                train, test = parts(table, options.documents, seed)
                model = TopicModel(options.topics, random_state=seed, n_jobs=options.threads)
                learn = model.fit_stream if options.stream else model.fit
                begun = clock()
                learn(train, prevalence=given)
                took = clock() - begun
                scores = [model.score(X, method="vb") for X in (test, test.X)]
                found.append((took, *scores))
            seconds, own, common = np.mean(found, axis=0)
            print(
                f"| {source.__name__} | {given} | {seconds:.2f} | {own:.3f} | {common:.3f} |",
                flush=True,
            )


def beside_topica(source: Callable[[Path], tuple[pl.DataFrame, str]], options: Namespace) -> None:
    """Print seconds and scores of topics, of opelda and of topica."""
    import topica

    table, formula = source(options.data)
    train, test = parts(table, options.documents, 0)
    levels = train.metadata[formula.split(" ")[0]]
    frequent = levels.value_counts(sort=True)[levels.name][1:20]
    given = np.column_stack([(levels == level).to_numpy() for level in frequent]).astype(float)
    rows = [(row.indices, row.data.astype(int)) for row in train.X]
    words = [[f"w{j}" for j in np.repeat(*row)] for row in rows]
    K = options.topics
    fits = {
        "opelda": lambda: TopicModel(K, random_state=0, n_jobs=2).fit(train, prevalence=formula),
        "topica DMR": lambda: fitted(topica.DMR(K, num_threads=2), words, given),
        "topica STM": lambda: fitted(topica.STM(K), words, given),
    }
    for name, fit in fits.items():
        begun = perf_counter()
        model = fit()
        took = perf_counter() - begun
        if name == "opelda":
            topics = model.components_
        else:
            topics = np.full((K, train.X.shape[1]), 1e-9)
            topics[:, [int(word[1:]) for word in model.vocabulary]] += model.topic_word
            topics /= topics.sum(axis=1, keepdims=True)
        score = log_predictive_probability(topics, test.X, method="vb", random_state=0)
        print(f"| {source.__name__} | {name} | {took:.1f} | {score.macro:.3f} |", flush=True)


def fitted(model: Any, words: list[list[str]], given: np.ndarray) -> Any:
    model.fit(words, given) if type(model).__name__ == "DMR" else model.fit(words, prevalence=given)
    return model


if __name__ == "__main__":
    main()
