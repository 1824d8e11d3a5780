"""Does one pick sequence for all documents widen the spread over seeds?

For each seed and each source of picks: the held-out log predictive probability (70% of a document's
tokens observed, 30% scored) and the mean gap over all documents. Prints the mean and the spread.

    python benchmarks/picks.py --data DIR
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from corpora import load_counts, predictive, split, trained_topics
from scipy import sparse

from opelda.inference import OPE, Topics, infer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with arxiv/; generated documents if left out"
    )
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--topics", type=int, nargs="+", default=[100])
    options = parser.parse_args()
    train, test, label = load_counts(options.data)
    observed, held_out = split(sparse.csr_array(test, dtype=np.float32), seed=0)
    short = observed.copy()
    short.data = (
        np.random.default_rng(1).binomial(short.data.astype(np.int64), 0.15).astype(np.float32)
    )
    print(f"{label}: {observed.shape[0]} documents, {options.seeds} seeds, T=50, alpha=1/K")
    for n_topics in options.topics:
        topics = trained_topics(train, n_topics, label)
        table = Topics(topics)
        for name, X in (("abstracts", observed), ("one word in seven", short)):
            print(f"\nK={n_topics}, {name} ({X.sum() / X.shape[0]:.0f} tokens)")
            print("     picks  LPP mean   LPP sd    worst  gap mean  gap sd topics")
            for picks in ("shared", "document", "balanced"):
                lpp, gaps, used = [], [], []
                for seed in range(options.seeds):
                    found = infer(X, table, method=OPE(coins=picks), random_state=seed, n_jobs=-1)
                    lpp.append(predictive(found.theta, topics, held_out))
                    gaps.append(found.gap.mean())
                    used.append(found.picked.nnz / X.shape[0])
                print(
                    f"{picks:>10} {np.mean(lpp):9.4f} {np.std(lpp):8.4f} {np.min(lpp):8.4f} "
                    f"{np.mean(gaps):9.3f} {np.std(gaps):7.3f} {np.mean(used):6.2f}"
                )


if __name__ == "__main__":
    main()
