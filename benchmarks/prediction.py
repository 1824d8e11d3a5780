"""How well the mixtures of each method predict words they have not seen.

    python benchmarks/prediction.py --data DIR [--topics 100]

70% of a document's tokens are observed, the mixture is inferred from them, and 30% are
scored under it; same topics, same split for every method. The same with few tokens observed, and
the methods' likelihoods with what their certificates leave open; transform.py has the speed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from corpora import load_counts, predictive, split, trained_topics
from scipy import sparse
from transform import METHODS

from opelda.inference import Topics, infer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/; generated if left out")
    parser.add_argument("--topics", type=int, nargs="+", default=[100])
    options = parser.parse_args()
    train, test, label = load_counts(options.data)
    observed, held_out = split(sparse.csr_array(test, dtype=np.float32), seed=0)
    short = observed.copy()
    short.data = np.random.default_rng(1).binomial(short.data.astype(np.int64), 0.15)
    for n_topics in options.topics:
        topics = trained_topics(train, n_topics, label)
        table = Topics(topics)
        print(f"\n{label}, {observed.shape[0]} documents, K={n_topics}, alpha=1/K but where said")
        print(f"{'':<18}{'LPP':>9}{'g1':>10}{'loss <=':>9}{'LPP, 8 tokens':>15}")
        for name, method in METHODS.items():
            shared = {"method": method, "random_state": 0, "n_jobs": -1}
            shared["doc_topic_prior"] = 1.0 if name.endswith("alpha=1") else None
            found, brief = infer(observed, table, **shared), infer(short, table, **shared)
            print(
                f"{name:<18}{predictive(found.theta, topics, held_out):9.4f}"
                f"{found.log_likelihood.mean():10.2f}{found.likelihood_loss.mean():9.1f}"
                f"{predictive(brief.theta, topics, held_out):15.4f}"
            )


if __name__ == "__main__":
    main()
