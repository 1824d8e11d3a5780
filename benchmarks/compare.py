"""Two builds of opelda side by side: reading, learning, streams, transform, files, start-up.

    python benchmarks/compare.py OLD/bin/python NEW/bin/python --data DIR [--rounds 5] [--jobs 2]

Each round measures every figure with each interpreter alternately, so that
other load on the machine affects both alike; the best of the rounds counts, and the ratio of the
two. DIR holds arXiv's counts and abstracts.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
import polars as pl
from scipy import sparse

from opelda import OnlineOPE, TopicModel, load, save
from opelda.corpus import read

# name: unit, and whether more is better
FIGURES = {
    "fit, before the first update": ("ms", False),
    "online update, 100,000 abstracts": ("docs/s", True),
    "sweep, 20,000 abstracts": ("ms", False),
    "transform, 20,000 abstracts": ("docs/s", True),
    "one row of counts, p50": ("ms", False),
    "one row of counts, p99": ("ms", False),
    "one text, p50": ("ms", False),
    "one text, p99": ("ms", False),
    "requests of 1 row, 1 thread": ("1/s", True),
    "requests of 1 row, 2 threads": ("1/s", True),
    "requests of 100 rows, 1 thread": ("1/s", True),
    "requests of 100 rows, 2 threads": ("1/s", True),
    "read, 40,000 abstracts": ("texts/s", True),
    "read, CSV of 40,000 abstracts": ("texts/s", True),
    "stream with sweeps, 20,000 abstracts": ("texts/s", True),
    "save and load": ("ms", False),
    "opelda topics": ("CPU ms", False),
    "largest resident memory": ("MB", False),
}


class Clock:
    """A callback that notes when updates and sweeps ended, and how long they took."""

    needs_gap = False

    def __init__(self, stop_after=None):
        self.stop_after, self.reports, self.ends = stop_after, [], []

    def __call__(self, report):
        self.ends.append(perf_counter())
        self.reports.append(report)
        return len(self.reports) == self.stop_after


def measure(data: Path, jobs: int) -> dict[str, float]:
    X = sparse.csr_array(sparse.load_npz(data / "counts-train-100k.npz"))
    held_out = sparse.csr_array(sparse.load_npz(data / "counts-heldout-1k.npz"), dtype=np.float32)
    found = {}
    first = Clock(stop_after=1)
    started = perf_counter()
    TopicModel(100, preset="fast", random_state=0, n_jobs=jobs, callbacks=first).fit(X)
    update = first.reports[0].e_seconds + first.reports[0].m_seconds
    found["fit, before the first update"] = 1e3 * (first.ends[0] - started - update)
    clock = Clock()
    learner = OnlineOPE(
        100, batch_size=1000, n_iter=20, random_state=0, n_jobs=jobs, callbacks=clock
    )
    learner.fit(X)
    span = clock.ends[-1] - clock.ends[9]
    found["online update, 100,000 abstracts"] = 1000 * (len(clock.ends) - 10) / span
    sweeps = Clock()
    swept = TopicModel(
        100, preset="best", n_passes=1, n_sweeps=12, random_state=0, n_jobs=jobs, callbacks=sweeps
    )
    swept.fit(X[:20_000])
    found["sweep, 20,000 abstracts"] = 1e3 * float(np.median(np.diff(sweeps.ends[-11:])))
    some = X[:20_000].astype(np.float32)
    learner.transform(some[:100])
    started = perf_counter()
    learner.transform(some)
    found["transform, 20,000 abstracts"] = 20_000 / (perf_counter() - started)
    rows = [held_out[[i]] for i in range(held_out.shape[0])]
    found.update(latencies("one row of counts", learner, rows))
    learner.set_params(n_jobs=1)  # a server's threads are its own
    for name, requests in (
        ("1 row", rows),
        ("100 rows", [some[i : i + 100] for i in range(0, 20_000, 100)]),
    ):
        for n_threads in (1, 2):
            with ThreadPoolExecutor(n_threads) as pool:
                started = perf_counter()
                parts = [requests[k::n_threads] for k in range(n_threads)]
                list(pool.map(lambda part: [learner.transform(row) for row in part], parts))
                rate = len(requests) / (perf_counter() - started)
            threads = "threads" if n_threads > 1 else "thread"
            found[f"requests of {name}, {n_threads} {threads}"] = rate
    table = pl.read_parquet(data / "abstracts-250k.parquet", n_rows=40_000)
    texts = table["abstract"].to_list()
    reader = OnlineOPE(100, batch_size=1000, random_state=0, n_jobs=jobs).fit(read(texts[:5_000]))
    found.update(latencies("one text", reader, [[text] for text in texts[5_000:6_000]]))
    found |= rates_of_texts(table, texts, jobs)
    found |= files(learner)
    found["largest resident memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def rates_of_texts(table, texts, jobs):
    """Return texts a second: read from memory and from a file, learned from as a stream."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "abstracts.csv")
        table.write_csv(path)
        for name, source, column in (
            ("read, 40,000 abstracts", texts, None),
            ("read, CSV of 40,000 abstracts", path, "abstract"),
        ):
            started = perf_counter()
            read(source, text_column=column, n_jobs=jobs)
            found[name] = len(texts) / (perf_counter() - started)
    model = TopicModel(50, batch_size=1000, random_state=0, n_jobs=jobs)
    started = perf_counter()
    model.fit_stream(texts[:20_000])
    found["stream with sweeps, 20,000 abstracts"] = 20_000 / (perf_counter() - started)
    return found


def files(learner):
    """Return the costs of saving and loading a model, and of printing its topics."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.opelda")
        started = perf_counter()
        save(learner, path)
        load(path)
        found = {"save and load": 1e3 * (perf_counter() - started)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "opelda", "topics", str(path)]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found["opelda topics"] = 1e3 * spent
    return found


def latencies(name, model, requests):
    for request in requests[:100]:
        model.transform(request)
    times = []
    for request in requests:
        started = perf_counter()
        model.transform(request)
        times.append(1e3 * (perf_counter() - started))
    return {f"{name}, p{q}": float(np.percentile(times, q)) for q in (50, 99)}


def best(name: str, values: list[float]) -> float:
    return max(values) if FIGURES[name][1] else min(values)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("old", help="a Python with one build, or 'worker'")
    parser.add_argument("new", nargs="?")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    if options.old == "worker":
        print(json.dumps(measure(options.data, options.jobs)))
        return
    seen: dict[str, dict[str, list[float]]] = {"old": {}, "new": {}}
    for _ in range(options.rounds):
        for side in ("old", "new"):
            command = [getattr(options, side), __file__, "worker", "--jobs", str(options.jobs)]
            command += ["--data", str(options.data)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            for name, value in json.loads(answer.splitlines()[-1]).items():
                seen[side].setdefault(name, []).append(value)
    print(f"| best of {options.rounds}, {options.jobs} threads | before | after | |")
    print("|---|---|---|---|")
    for name, (unit, more) in FIGURES.items():
        old, new = (best(name, seen[side][name]) for side in ("old", "new"))
        gain = new / old if more else old / new
        print(f"| {name}, {unit} | {old:,.4g} | {new:,.4g} | {gain:.2f}x |")


if __name__ == "__main__":
    sys.exit(main())
