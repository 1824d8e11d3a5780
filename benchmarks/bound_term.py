"""How long the topics' part of VB's bound takes, which a document's inference does not need.

    python benchmarks/bound_term.py [--words 102660] [--topics 100]

VB stops when its bound hardly rises. The bound has a term over all K x V weights of the topics that
does not change while a document is inferred. Code that computes it in every inner iteration
pays for the whole vocabulary each time; this measures that price in NumPy, one thread.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from scipy.special import gammaln, psi

REPEATS = 7


def term(weights: np.ndarray, expected_logs: np.ndarray, prior: float) -> float:
    """E[log p(beta)] - E[log q(beta)] of all topics."""
    n_words = weights.shape[1]
    words = ((prior - weights) * expected_logs).sum() + (gammaln(weights) - gammaln(prior)).sum()
    return words + (gammaln(prior * n_words) - gammaln(weights.sum(axis=1))).sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--words", type=int, default=102_660)
    parser.add_argument("--topics", type=int, default=100)
    options = parser.parse_args()
    weights = np.random.default_rng(0).gamma(100.0, 0.01, (options.topics, options.words))
    logs = psi(weights) - psi(weights.sum(axis=1))[:, None]
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        term(weights, logs, 1 / options.topics)
        seconds.append(time.perf_counter() - started)
    found = {"seconds, median": round(sorted(seconds)[REPEATS // 2], 3)}
    print(json.dumps({"topics": options.topics, "words": options.words, **found}))


if __name__ == "__main__":
    main()
