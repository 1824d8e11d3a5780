"""Closing sweeps of two builds side by side: tokens a second and core against K.

    python benchmarks/sweeps.py OLD/bin/python NEW/bin/python --data DIR [--topics 20 100]

DIR holds arXiv's counts. Each build learns topics from the same abstracts and sweeps on one thread,
alternately; a sweep is everything from topics to topics: laying out, drawing, counting, averaging.
The prior is given, so that both draw alike: 0.02 a topic for 100 topics, in sum always 2.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from scipy import sparse

PRIOR = 2.0  # sum_k alpha_k: as sweeps learn it for abstracts
LAST = 5  # sweeps that are measured


def measure(data: Path, n_topics: int, n_docs: int, n_sweeps: int) -> float:
    from opelda import TopicModel

    X = sparse.csr_array(sparse.load_npz(data / "counts-train-100k.npz"))[:n_docs]
    X = X.astype(np.float32)
    seconds = []

    class Clock:
        needs_gap = False

        def __call__(self, report):
            seconds.append(report.e_seconds + report.m_seconds)

    TopicModel(
        n_topics,
        doc_topic_prior=PRIOR / n_topics,
        n_passes=1,
        n_sweeps=n_sweeps,
        random_state=0,
        n_jobs=1,
        callbacks=Clock(),
    ).fit(X)
    return float(np.median(seconds[-LAST:])) / float(np.minimum(X.data, 16).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="a Python with one build, or 'worker'")
    parser.add_argument("new", nargs="?")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100, 1000, 10_000])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--sweeps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    if options.old == "worker":
        settings = options.documents, options.sweeps
        print(json.dumps([measure(options.data, k, *settings) for k in options.topics]))
        return
    print("| K | before, ns a token | after | tokens/s and core | |\n|---|---|---|---|---|")
    for n_topics in options.topics:
        best = {}
        for _ in range(options.rounds):
            for side in ("old", "new"):
                command = [getattr(options, side), __file__, "worker", "--data", str(options.data)]
                command += ["--topics", str(n_topics), "--documents", str(options.documents)]
                command += ["--sweeps", str(options.sweeps)]
                answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                (seconds,) = json.loads(answer.splitlines()[-1])
                best[side] = min(seconds, best.get(side, seconds))
        old, new = best["old"], best["new"]
        figures = f"{1e9 * old:.1f} | {1e9 * new:.1f} | {1 / new:,.3g} | {old / new:.2f}x"
        print(f"| {n_topics:,} | {figures} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
