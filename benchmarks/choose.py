"""Choosing the number of topics, and which topics to trust, where the truth is known.

    python -m benchmarks.choose generated [--seeds 20] [--preset best|fast] [--threads 2]
    python -m benchmarks.choose trust [--seeds 5]
    python -m benchmarks.choose labelled --data DIR [--corpora bbc newsgroups reuters]
    python -m benchmarks.choose time --data DIR

generated: documents drawn from 5, 10, 20 and 40 topics; numbers from half to twice as many are
tried, and how often each rule takes the true one is counted. The rule was chosen on other sizes,
lengths and priors, and on seeds below 10; these are from 100 on. trust: twice and four times as
many topics as the documents were drawn from; whether stability tells true topics from the
others (area under the ROC curve). labelled: the advised number and the number whose topics agree
best with the labels (normalised mutual information of each document's largest topic). time: the
whole curve for Wikinews' 19,491 articles and for 28,000 arXiv abstracts.
"""

from __future__ import annotations

import argparse
import json
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars

from benchmarks.quality.corpora import wikinews
from opelda import TopicModel
from opelda.corpus import generate, read
from opelda.metrics import match_topics
from opelda.selection import Choice, choose_n_topics, stability

# n_topics, n_docs, n_tokens, n_words, doc_topic_prior, topic_word_prior, separated
GENERATED = (
    (5, 600, 50, 600, 0.1, 0.05, False),
    (10, 1000, 60, 1000, 0.1, 0.1, False),
    (10, 2000, 12, 500, 0.05, 0.05, False),
    (20, 1200, 70, 1000, 0.1, 0.05, True),
    (40, 2000, 70, 2000, 0.05, 0.05, False),
)
AROUND = (0.5, 0.7, 1.0, 1.4, 2.0)
TRIED = {"bbc": (3, 5, 10, 20, 40), "newsgroups": (5, 10, 20, 40, 80)}
TRIED["reuters"] = TRIED["newsgroups"]
NAMES = ("n_topics", "n_docs", "n_tokens", "n_words", "doc_topic_prior", "topic_word_prior")


def drawn(setting: tuple, seed: int):
    how = dict(zip(NAMES, setting[:6], strict=True))
    return generate(how.pop("n_docs"), **how, separated=setting[6], random_state=seed)


def rules(found: Choice) -> dict[str, int]:
    """Return the choice of each measure alone, and the advice."""

    def largest(name: str) -> int:
        return max(found.table, key=lambda row: getattr(row, name)).n_topics

    return {
        "largest LPP": largest("lpp"),
        "LPP within one s.e.": found.n_predictive,
        "coherence": largest("coherence"),
        "stability": largest("stability"),
        "advised": found.n_topics,
    }


def generated(options: argparse.Namespace) -> None:
    """Print how often each rule takes the true number."""
    first = True
    for setting in GENERATED:
        true, right, advised = setting[0], Counter(), Counter()
        numbers = sorted({max(1, round(true * factor)) for factor in AROUND})
        for seed in range(100, 100 + options.seeds):
            model = TopicModel(preset=options.preset, n_jobs=options.threads)
            X = drawn(setting, seed).X
            taken = rules(choose_n_topics(X, numbers, model=model, random_state=seed))
            right.update(name for name, number in taken.items() if number == true)
            advised[taken["advised"]] += 1
        if first:
            print(f"| topics, documents, tokens | {' | '.join(taken)} | advised, times |")
            print("|---" * (len(taken) + 2) + "|")
            first = False
        times = ", ".join(f"{number}: {n}" for number, n in sorted(advised.items()))
        counts = " | ".join(f"{right[name]}/{options.seeds}" for name in taken)
        print(f"| {setting[0]}, {setting[1]}, {setting[2]} | {counts} | {times} |", flush=True)


def trust(options: argparse.Namespace) -> None:
    """Print how well stability separates true topics from spurious ones."""
    from sklearn.metrics import roc_auc_score

    print("| fitted / true | AUC | stability of true topics | of the others | true ones found |")
    print("|---|---|---|---|---|")
    for factor in (2, 4):
        found = []
        for setting in GENERATED[:4]:
            for seed in range(100, 100 + options.seeds):
                made = drawn(setting, seed)
                model = TopicModel(
                    factor * setting[0],
                    preset=options.preset,
                    random_state=seed,
                    n_jobs=options.threads,
                ).fit(made.X)
                again = stability(model, made.X, n_runs=5).topics
                order, cosine = match_topics(model, made.topics)
                true = (order >= 0) & (cosine > 0.8)
                area = roc_auc_score(true, again)
                found.append(
                    (area, again[true].mean(), again[~true].mean(), true.sum() / setting[0])
                )
        area, own, others, share = np.mean(found, axis=0)
        print(f"| {factor} | {area:.3f} | {own:.2f} | {others:.2f} | {share:.0%} |", flush=True)


def documents(name: str, data: Path) -> tuple[list[str], list[str]]:
    """Return texts and labels; of Reuters, documents with exactly one topic."""
    if name == "bbc":
        with tarfile.open(data / "octis_small" / "octis-BBC-DBLP-M10.tar.xz") as files:
            lines = files.extractfile("./BBC_News/corpus.tsv").read().decode().splitlines()
        pairs = [(line.split("\t")[0], line.split("\t")[2]) for line in lines]
    else:
        pairs = list(newsgroups(data) if name == "newsgroups" else reuters(data))
    kept, labels = zip(*pairs, strict=True)
    return list(kept), list(labels)


def newsgroups(data: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(data / "20news_bydate" / "20news-bydate.tar.xz") as files:
        for member in files:
            if member.isfile():
                content = files.extractfile(member).read().decode("latin-1")
                yield content.partition("\n\n")[2], member.name.split("/")[-2]


def reuters(data: Path) -> Iterator[tuple[str, str]]:
    import re

    with tarfile.open(data / "reuters21578" / "reuters21578-sgm.tar.xz") as files:
        for member in files:
            content = files.extractfile(member).read().decode("latin-1") if member.isfile() else ""
            for item in re.findall(r"<REUTERS.*?</REUTERS>", content, re.DOTALL):
                topics = re.findall(r"<D>(.*?)</D>", item.partition("</TOPICS>")[0])
                body = re.search(r"<(?:BODY|CONTENT)>(.*?)</(?:BODY|CONTENT)>", item, re.DOTALL)
                if len(topics) == 1 and body:
                    yield body[1], topics[0]


def labelled(options: argparse.Namespace) -> None:
    """Print the table of each corpus, its advice, and the agreement with labels."""
    from sklearn.metrics import normalized_mutual_info_score

    for name in options.corpora:
        given, labels = documents(name, options.data)
        corpus = read(given, min_df=5, max_df=0.3)
        model = TopicModel(preset=options.preset, n_jobs=options.threads)
        found = choose_n_topics(corpus, TRIED[name], model=model, random_state=0)
        print(f"\n{name}: {len(labels):,} documents, {len(set(labels))} labels\n{found}")
        for number in TRIED[name]:
            fitted = TopicModel(
                number, preset=options.preset, random_state=0, n_jobs=options.threads
            )
            largest = fitted.fit_transform(corpus).argmax(axis=1)
            agreement = normalized_mutual_info_score(labels, largest)
            print(f"{number:>4} topics: NMI with the labels {agreement:.3f}", flush=True)


def timed(options: argparse.Namespace) -> None:
    """Print the seconds of the whole curve."""
    path = options.data / "arxiv" / "abstracts-250k.parquet"
    for name, articles in (
        ("Wikinews", [text for text in wikinews(options.data) if text]),
        ("arXiv", polars.read_parquet(path, n_rows=28_000)["abstract"].to_list()),
    ):
        corpus = read(articles, n_jobs=options.threads)
        for preset in ("fast", "best"):
            model = TopicModel(preset=preset, n_jobs=options.threads)
            started = time.perf_counter()
            found = choose_n_topics(corpus, (20, 40, 80, 160), model=model, random_state=0)
            seconds = round(time.perf_counter() - started, 1)
            print(json.dumps({name: len(corpus), "preset": preset, "seconds": seconds}))
            print(found, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = {"generated": generated, "trust": trust, "labelled": labelled, "time": timed}
    parser.add_argument("part", choices=parts)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--corpora", nargs="+", choices=list(TRIED), default=list(TRIED))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--preset", default="best", choices=("best", "fast"))
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    if options.part in ("labelled", "time") and options.data is None:
        parser.error("--data is where the corpora are")
    parts[options.part](options)


if __name__ == "__main__":
    main()
