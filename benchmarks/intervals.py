"""Coverage of credible intervals of shares, and their speed.

    python -m benchmarks.intervals [--learned] [--level 0.95] [--lengths 5 10 40 150 1000]
    python -m benchmarks.intervals --speed [--data DIR]

Documents are generated from K topics over 1,000 words (Dirichlet, .05), with a symmetric prior of
sum 1 (K = 100: 3) or an asymmetric one of sum 3. Topics and the prior are given; with --learned,
`TopicModel` learns both from the same documents, in one run and in several. "all" are all topics of
all documents, "shown" those with an estimated share above .02. "main" is the topic with the largest
estimated share; its probability is compared with how often the topic has the largest true share.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.corpora import load_counts, trained_topics
from opelda import TopicModel
from opelda.inference import CGS, Topics, infer
from opelda.metrics import match_topics

N_WORDS = 1_000


def collection(n_topics, length, n_docs, kind):
    """Return topics, prior, mixtures and counts."""
    rng = np.random.default_rng([n_topics, length, n_docs])
    topics = np.maximum(rng.dirichlet(np.full(N_WORDS, 0.05), n_topics), 1e-12)
    topics /= topics.sum(axis=1, keepdims=True)
    alpha = np.full(n_topics, (1.0 if n_topics < 100 else 3.0) / n_topics)
    if kind == "asymmetric":
        alpha = 3.0 * rng.dirichlet(np.full(n_topics, 0.5)) + 0.002
    theta = rng.dirichlet(alpha, n_docs)
    X = np.array([rng.multinomial(length, mixture @ topics) for mixture in theta])
    return topics, alpha, theta, sparse.csr_array(X)


def row(found, theta, *names):
    """Print the coverage of intervals, their width, and the main topics."""
    covered = (found.lower <= theta) & (theta <= found.upper)
    main = found.theta.argmax(axis=1)
    of_main = np.arange(len(main)), main
    figures = [
        f"{covered.mean():.1%}",
        f"{covered[found.theta > 0.02].mean():.1%}",
        f"{covered[of_main].mean():.1%}",
        f"{(found.upper - found.lower)[of_main].mean():.2f}",
        f"{found.main_topic_probability.mean():.1%}",
        f"{(main == theta.argmax(axis=1)).mean():.1%}",
    ]
    print("| " + " | ".join([*map(str, names), *figures]) + " |", flush=True)


COLUMNS = "covered: all | shown | main | width, main | P(main) | main is right |"


def given(level, lengths):
    """Compare intervals for given topics."""
    print(f"| K | prior | tokens | {COLUMNS}\n|---|---|---|---|---|---|---|---|---|")
    for n_topics in (5, 20, 100):
        for kind in ("symmetric", "asymmetric"):
            for length in lengths:
                n_docs = 3_000 if length < 1_000 else 1_000
                topics, alpha, theta, X = collection(n_topics, length, n_docs, kind)
                how = {"method": "em", "doc_topic_prior": alpha, "random_state": 0}
                found = infer(X, topics, interval=level, **how)
                row(found, theta, n_topics, kind, length)


def learned(level, lengths, n_docs, n_runs):
    """Compare intervals with topics learned from the same documents."""
    print(f"| tokens | runs | {COLUMNS}\n|---|---|---|---|---|---|---|---|")
    for length in lengths:
        topics, _, theta, X = collection(20, length, n_docs, "asymmetric")
        for n in n_runs:
            model = TopicModel(20, n_runs=n, random_state=0).fit(X)
            match = match_topics(model, topics)[0]
            row(model.infer(X, interval=level), theta[:, match], length, n)


def speed(data):
    """Compare the time of intervals with that of 25 + 25 sweeps of CGS, on one core."""
    train, held_out, label = load_counts(data)
    table = Topics(trained_topics(train, 100, label))
    X = sparse.csr_array(sparse.vstack([held_out] * 4), dtype=np.float32)
    contenders = {
        "EM": {"method": "em"},
        "EM with intervals": {"method": "em", "interval": 0.95},
        "CGS, 50 sweeps": {"method": CGS()},
    }
    best = dict.fromkeys(contenders, np.inf)
    for _ in range(7):
        for name, how in contenders.items():
            started = time.perf_counter()
            infer(X, table, doc_topic_prior=0.05, random_state=0, n_jobs=1, **how)
            best[name] = min(best[name], time.perf_counter() - started)
    for name, seconds in best.items():
        print(f"{label}, K = 100, one core, {name}: {X.shape[0] / seconds:,.0f} documents/s")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--lengths", type=int, nargs="+", default=[5, 10, 40, 150, 1000])
    parser.add_argument("--learned", action="store_true")
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--runs", type=int, nargs="+", default=[1, 5, 10])
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--data", type=Path)
    asked = parser.parse_args()
    if asked.speed:
        speed(asked.data)
    elif asked.learned:
        learned(asked.level, asked.lengths, asked.documents, asked.runs)
    else:
        given(asked.level, asked.lengths)


if __name__ == "__main__":
    main()
