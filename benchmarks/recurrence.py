"""Intervals against known truth, and figures that predict whether a topic recurs.

    python -m benchmarks.recurrence coverage [--quick]
    python -m benchmarks.recurrence predict --data DIR [--topics 20] [--quick]

"coverage" generates documents and matches each topic with a true topic. The table has the share of
recovered topics (cosine above 0.9), and the shares of intervals that hold the truth: of their ten
first words and of their weights.

"predict" learns three models of each half of a corpus. Recurrence of a topic is its mean similarity
to the matching topics of the other half. The table has Spearman's correlation of each candidate
with recurrence within a corpus, a mean over models and corpora. The stable-topics page states how
the candidates were chosen.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import rankdata, spearmanr

from opelda import TopicModel
from opelda.corpus import generate
from opelda.metrics import match_topics
from opelda.report import topic_table

from .quality.corpora import CORPORA

TUNING = ("ap", "reuters", "arxiv", "debian", "biomedical")
REPORTING = ("20news", "kos", "bbc", "tweets", "snippets")
MOST_DOCUMENTS = 5000
GENERATED = {  # documents, words, topics, tokens, alpha, eta
    "500 documents of 50 words, K = 5": (500, 500, 5, 50, 0.1, 0.05),
    "2,000 of 80, K = 10": (2000, 1000, 10, 80, 0.1, 0.05),
    "2,000 of 80, K = 10, mixed (alpha 0.5, eta 0.1)": (2000, 1000, 10, 80, 0.5, 0.1),
    "500 of 400, K = 10": (500, 2000, 10, 400, 0.2, 0.05),
    "2,000 of 40, K = 20": (2000, 1000, 20, 40, 0.1, 0.05),
    "4,000 of 10, K = 20": (4000, 1000, 20, 10, 0.1, 0.05),
    "20,000 of 60, K = 50": (20_000, 5000, 50, 60, 0.05, 0.02),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("coverage", "predict"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--topics", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="one seed; two corpora")
    options = parser.parse_args()
    if options.what == "coverage":
        coverage(1 if options.quick else 3)
    else:
        predict(options.data, options.topics, 1 if options.quick else 5)


def coverage(n_seeds: int) -> None:
    print("| documents | topics recovered | words, 95% | words, 50% | weights, 95% |")
    print("|---" * 5 + "|")
    for name, case in GENERATED.items():
        found = np.mean([covered(*case, seed=seed) for seed in range(n_seeds)], axis=0)
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in found)} |", flush=True)


def covered(
    n_docs: int, n_words: int, n_topics: int, n_tokens: float, alpha: float, eta: float, seed: int
) -> tuple[float, float, float, float]:
    """Return the shares of recovered topics and of intervals that hold the truth."""
    made = generate(
        n_docs,
        n_words=n_words,
        n_topics=n_topics,
        n_tokens=n_tokens,
        doc_topic_prior=alpha,
        topic_word_prior=eta,
        random_state=seed,
    )
    model = TopicModel(n_topics, random_state=seed, n_jobs=1).fit(made.X)
    order, cosine = match_topics(model, made.topics)
    true = np.asarray(made.topics)[order]
    ids = {str(name): number for number, name in enumerate(model._words())}
    held = []
    for level in (0.95, 0.5):
        rows = [row for row in topic_table(model, level=level) if cosine[row.topic] > 0.9]
        words = [
            low <= true[row.topic, ids[word]] <= high
            for row in rows
            for word, low, high in zip(row.words, row.lows, row.highs, strict=True)
        ]
        weights = [row.low <= 1 / n_topics <= row.high for row in rows]
        held.append((float(np.mean(words)), float(np.mean(weights))))
    return float((cosine > 0.9).mean()), held[0][0], held[1][0], held[0][1]


def predict(data: Path, n_topics: int, n_corpora: int) -> None:
    halves = {"five to choose on": TUNING, "five to report": REPORTING}
    found: dict[str, list[float]] = defaultdict(list)
    for names in halves.values():
        of_half = defaultdict(list)
        for name in names[:n_corpora]:
            for candidate, value in correlations(corpus(name, data), n_topics).items():
                print(f"{name:<12}{value:6.3f}  {candidate}", flush=True)
                of_half[candidate].append(value)
        for candidate, values in of_half.items():
            found[candidate].append(float(np.mean(values)))
    print(f"| candidate | {' | '.join(halves)} |\n|---|---|---|")
    for candidate, means in found.items():
        print(f"| {candidate} | {' | '.join(f'{mean:.2f}' for mean in means)} |")


def corpus(name: str, data: Path) -> sparse.csr_array:
    train, _ = CORPORA[name].counts(name, data)
    counts = train[:MOST_DOCUMENTS]
    n_docs_with = np.bincount(counts.indices, minlength=counts.shape[1])
    return counts[:, np.flatnonzero(n_docs_with >= 4)]


def correlations(counts: sparse.csr_array, n_topics: int) -> dict[str, float]:
    """Return correlations of candidates with recurrence, by Jaccard and by cosine."""
    cut, rng = counts.shape[0] // 2, np.random.default_rng(0)
    one, other = counts[:cut], counts[cut : 2 * cut]
    models = [learned(one, n_topics, seed) for seed in range(3)]
    others = [learned(other, n_topics, 10 + seed) for seed in range(3)]
    parts = np.array_split(rng.permutation(cut), 2)
    smaller = [learned(one[part], n_topics, 20 + seed) for seed, part in enumerate(parts)]
    drawn = [learned(one[rng.integers(0, cut, cut)], n_topics, 30 + seed) for seed in range(2)]
    found = defaultdict(list)
    for model in models:
        runs = [each for each in models if each is not model]
        width = -np.asarray(model.topic_uncertainty_)
        stability = similarity(model, runs, "jaccard")
        candidates = {
            "`topic_stability_`, `n_runs=3`": stability,
            "the same by cosine": similarity(model, runs, "cosine"),
            "two runs on bootstrap samples": similarity(model, drawn, "jaccard"),
            "two runs on halves": similarity(model, smaller, "jaccard"),
            "`topic_uncertainty_` (reversed)": width,
            "sum of ranks of stability and uncertainty": rankdata(stability) + rankdata(width),
            "`coherence_`": model.coherence_,
            "weight": model._shares(),
            "observed information, 1 - phi": 1.0 - model._state.missing,
        }
        for kind in ("jaccard", "cosine"):
            observed = similarity(model, others, kind)
            for candidate, values in candidates.items():
                found[f"{candidate}, {kind}"].append(spearmanr(values, observed)[0])
    return {candidate: float(np.mean(values)) for candidate, values in found.items()}


def learned(counts: sparse.csr_array, n_topics: int, seed: int) -> TopicModel:
    return TopicModel(n_topics, random_state=seed, n_jobs=1).fit(counts)


def similarity(model: TopicModel, others: list[TopicModel], kind: str) -> np.ndarray:
    """Return each topic's mean similarity to its matches in other models."""
    topics = [np.asarray(each.components_) for each in others]
    found = [match_topics(model.components_, b, similarity=kind, n_words=20)[1] for b in topics]
    return np.mean(found, axis=0)


if __name__ == "__main__":
    main()
