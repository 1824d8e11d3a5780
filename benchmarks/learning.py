"""How fast and how well the learners learn.

    python benchmarks/learning.py --data DIR [--jobs 2] [--learners OnlineOPE MLOPE ...]

Every learner in its own process: documents per second, seconds in the E- and M-steps, peak
memory, and after N documents the held-out log predictive probability (VB, 70:30, one split)
and the topics' NPMI on the training documents. scikit-learn's partial_fit runs between them, so
that the ratio belongs to the same run.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import time
from pathlib import Path

import numpy as np
from corpora import load_all, load_counts
from scipy import sparse

import opelda
from opelda.learning import History
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability

SETTINGS = {
    "paper": {},  # S = 5000, kappa = .9, tau = 1, T = 50: the defaults
    "advice": {
        "batch_size": 1000,
        "learning_decay": 0.6,
        "learning_offset": 10.0,
        "n_iter": 20,
    },
}
LEARNERS = (
    "OnlineOPE",
    "MLOPE",
    "StreamingOPE",
    "OnlineVB",
    "StreamingVB",
    "OnlineCGS",
    "OnlineCVB0",
)
MARKS = (10_000, 50_000, 100_000, 250_000)


def learn(name: str, train: sparse.csr_array, held_out: sparse.csr_array, options: dict) -> None:
    """Learn in one pass and print a line of JSON at every mark."""
    before = peak_memory()
    model_options = SETTINGS[options["settings"]] | options["parameters"]
    history = History(gap=False)
    model = getattr(opelda, name)(
        options["topics"],
        random_state=options["seed"],
        n_jobs=options["jobs"],
        callbacks=history,
        **model_options,
    )
    marks = [mark for mark in MARKS if mark < train.shape[0]] + [train.shape[0]]
    at = 0
    size = model.batch_size
    order = np.random.default_rng(options["seed"]).permutation(train.shape[0])
    for n_pass in range(options["passes"]):
        for mark in marks if n_pass == 0 else [train.shape[0]]:
            for first in range(at, mark, size):
                model.partial_fit(train[order[first : min(first + size, mark)]])
            at = mark % train.shape[0]
            memory = peak_memory() - before
            # in a separate process, so that the peak stays that of learning
            apart(report, name, model, history, train, held_out, memory, options)
        order = np.random.default_rng([options["seed"], n_pass]).permutation(train.shape[0])


def report(name, model, history, train, held_out, memory, options) -> None:
    columns = history.to_dict()
    e, m = sum(columns["e_seconds"]), sum(columns["m_seconds"])
    topics = model.components_
    score = log_predictive_probability(
        topics, held_out, n_splits=1, random_state=0, n_jobs=options["jobs"]
    )
    line = {
        "learner": name,
        "settings": options["settings"],
        **options["parameters"],
        "documents": model.n_docs_seen_,
        "E seconds": round(e, 3),
        "M seconds": round(m, 3),
        "docs/s": round(model.n_docs_seen_ / (e + m)),
        "M share": round(m / (e + m), 3),
        "memory MB": round(memory),
        "LPP": round(float(score), 4),
        "NPMI": round(float(npmi(topics, train).mean()), 4),
    }
    print(json.dumps(line), flush=True)


def apart(target, *arguments) -> None:
    """Run a function in a separate process."""
    process = multiprocessing.get_context("fork").Process(target=target, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def scikit_learn(train: sparse.csr_array, n_docs: int, options: dict) -> None:
    """Time scikit-learn's partial_fit on batches of 5,000, one job."""
    from sklearn.decomposition import LatentDirichletAllocation

    k = options["topics"]
    model = LatentDirichletAllocation(
        k,
        learning_offset=1.0,
        learning_decay=0.9,
        total_samples=train.shape[0],
        doc_topic_prior=1 / k,
        topic_word_prior=1 / k,
        max_doc_update_iter=50,
        random_state=0,
        n_jobs=1,
    )
    parts = [train[first : first + 5000].astype(np.float64) for first in range(0, n_docs, 5000)]
    started = time.perf_counter()
    for part in parts:
        model.partial_fit(part)
    seconds = time.perf_counter() - started
    line = {"learner": "scikit-learn", "documents": n_docs, "docs/s": round(n_docs / seconds, 1)}
    print(json.dumps(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/; generated if left out")
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS))
    parser.add_argument("--settings", choices=SETTINGS, default="paper")
    parser.add_argument("--parameters", type=json.loads, default={}, help="JSON, on top of those")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--all", action="store_true", help="all 250,000 abstracts, not 100,000")
    parser.add_argument("--peer", type=int, default=0, help="documents for scikit-learn; 0: none")
    options = vars(parser.parse_args())
    train, held_out, label = load_counts(options["data"])
    if options["all"]:
        train = load_all(options["data"])
    print(f"# {label}, {train.shape[0]:,} x {train.shape[1]:,}, K={options['topics']}")
    jobs = [(learn, (name, train, held_out, options)) for name in options["learners"]]
    if options["peer"]:
        jobs.insert(len(jobs) // 2, (scikit_learn, (train, options["peer"], options)))
    for target, arguments in jobs:
        apart(target, *arguments)


if __name__ == "__main__":
    main()
