"""Documents per second of every inference method, beside the peers and the machine's limit.

    python benchmarks/inference.py --data DIR [--topics 100 1000] [--docs 8000]

One run, same documents, same topics, one timed thing at a time: each contender runs several times
alternately, and its best time counts. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from corpora import load_counts, trained_topics
from scipy import sparse
from transform import peers

from opelda import _native
from opelda.engines import CPUEngine
from opelda.engines.cpu._kernels import native_batch
from opelda.inference import METHODS, OPE, Topics, infer

SLOW = ("ofw", "cccp", "smm", "pmd", "hamcmc")  # plain NumPy, a document at a time
Contender = tuple[str, Callable[[], object], int]  # name, what to run, documents it works through


def best_times(contenders: list[Contender], rounds: int) -> dict[str, float]:
    """Best seconds per document of each, over rounds in which all take their turn."""
    best: dict[str, float] = {}
    for round_number in range(rounds):
        for name, run, n_docs in contenders:
            if round_number and best[name] * n_docs > 5:
                continue
            started = time.perf_counter()
            run()
            taken = (time.perf_counter() - started) / n_docs
            best[name] = min(taken, best.get(name, np.inf))
    return best


def measure(X: sparse.csr_array, topics: np.ndarray, label: str, rounds: int) -> None:
    n_topics = len(topics)
    table, engine = Topics(topics), CPUEngine()
    distinct = X.nnz / X.shape[0]
    print(
        f"\n{label}: {X.shape[0]} documents, {distinct:.1f} distinct words, K={n_topics}, T=50, "
        f"alpha=1/K, {engine.instruction_set}"
    )
    cores = len(os.sched_getaffinity(0))
    for n_jobs in (1, cores):
        few = X[:: max(1, X.shape[0] // (40 if n_topics <= 100 else 10))]
        tenth = X[::10]

        def run(X, method, engine="cpu", n_jobs=n_jobs):
            return lambda: infer(
                X, table, method=method, random_state=0, n_jobs=n_jobs, engine=engine
            )

        def reader(ahead, n_jobs=n_jobs):
            reading = CPUEngine(n_jobs)
            rows = reading.documents(sparse.csr_array(X, dtype=np.float32)).part()
            batch = native_batch(table.on(reading), rows, np.ones(n_topics, np.float32))
            return lambda: _native.read_rows(batch, ahead=ahead, n_threads=reading.n_threads)

        contenders: list[Contender] = [
            ("rows read once, fetched", reader(12), X.shape[0]),
            ("rows read once, plainly", reader(0), X.shape[0]),
            ("OPE screened", run(X, OPE()), X.shape[0]),
            ("OPE screened, T=20", run(X, OPE(n_iter=20)), X.shape[0]),
            ("EM", run(X, "em"), X.shape[0]),
            ("OPE dense", run(X, OPE(screen=False)), X.shape[0]),
            ("OPE3", run(X, OPE(variant="ope3")), X.shape[0]),
            ("BOPE p=0.9", run(X, OPE(variant="bope", p=0.9)), X.shape[0]),
        ]
        for name in METHODS:
            if name in ("vb", "cvb", "cvb0", "cgs", "fw"):
                contenders.append((name.upper(), run(tenth, name), tenth.shape[0]))
            elif name in SLOW and n_jobs == 1:
                contenders.append((f"{name.upper()} (NumPy)", run(few, name), few.shape[0]))
        if n_jobs == 1:
            contenders.append(("OPE reference (NumPy)", run(few, OPE(), "reference"), few.shape[0]))
            for peer in peers(topics):
                given = peer.prepare(tenth)
                infer_given = partial(peer.infer, given)
                contenders.append((peer.name, infer_given, tenth.shape[0]))
        best = best_times(contenders, rounds)
        report(best, n_jobs, distinct, n_topics)


def report(best: dict[str, float], n_jobs: int, distinct: float, n_topics: int) -> None:
    ope, limit = best["OPE screened"], best["rows read once, fetched"]
    iterations = {"EM": 1, "VB": 2 * 50, "CVB0": 50, "CVB": 50, "CGS": 50, "FW": 50}
    print(f"\n{n_jobs} core{'s' if n_jobs > 1 else ''}")
    print(f"{'':<24}{'docs/s':>12}{'us/doc':>10}{'G madd/s':>10}{'OPE is':>10}{'/ limit':>9}")
    for name, seconds in best.items():
        passes = 1 if name.startswith("rows read") else iterations.get(name, 49)
        madds = passes * distinct * n_topics / seconds / 1e9
        print(
            f"{name:<24}{1 / seconds:12,.0f}{seconds * 1e6:10.2f}{madds:10.1f}"
            f"{seconds / ope:9.1f}x{seconds / limit:9.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with arxiv/; generated documents if left out"
    )
    parser.add_argument("--topics", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--docs", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    train, _, label = load_counts(options.data)
    X = sparse.csr_array(train[-options.docs :], dtype=np.float32)
    try:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # one core means one, for the peers' linear algebra too
    except ImportError:
        pass
    for n_topics in options.topics:
        measure(X, trained_topics(train, n_topics, label), label, options.rounds)


if __name__ == "__main__":
    main()
