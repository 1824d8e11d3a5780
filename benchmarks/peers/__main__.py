"""Measure opelda and other topic-model systems side by side, one run at a time.

    python -m benchmarks.peers [--data DIR] [--full] [--systems gensim ...] [--out FILE.jsonl]

Every run has its own process. A line of JSON per checkpoint goes to --out; tables are printed
at the end, and plots of quality against seconds drawn beside the lines.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from dataclasses import replace
from pathlib import Path

from . import corpora, plan, plot, tables
from .run import Run, measure
from .systems import MODULES, why_not

N_JOBS = 2
GRACE = 600  # seconds a run may take beyond its training: getting ready, scoring


def main() -> None:
    options = parsed()
    runs = plan.full() if options.full else plan.small()
    runs = [run for run in runs if run.system in options.systems and run.corpus in options.corpora]
    if options.labels:
        runs = [run for run in runs if run.label in options.labels]
    if options.limit:
        runs = [replace(run, limit=options.limit) for run in runs]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    os.environ |= {name: str(N_JOBS) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    missing = {system: why_not(system) for system in options.systems}
    for system, reason in missing.items():
        if reason:
            print(f"{system} is left out: {reason}.", flush=True)
    for run in runs:
        if not missing[run.system]:
            apart(run, options)
    lines = tables.read(options.out)
    if lines:
        print(tables.markdown(lines))
        for path in plot.draw(lines, options.out.parent):
            print(f"drawn: {path}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser("benchmarks.peers", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/ and reddit_titles/")
    parser.add_argument("--full", action="store_true", help="the big corpora, about an hour")
    parser.add_argument("--systems", nargs="+", choices=MODULES, default=list(MODULES))
    parser.add_argument("--labels", nargs="+", help="settings to run; all if left out")
    parser.add_argument("--corpora", nargs="+", choices=corpora.NAMES, default=corpora.NAMES)
    parser.add_argument("--limit", type=float, help="seconds of training, instead of the plan's")
    parser.add_argument("--out", type=Path, default=Path("build/peers/lines.jsonl"))
    options = parser.parse_args()
    if options.full and options.data is None:
        parser.error("--full needs --data DIR")
    return options


def apart(run: Run, options: argparse.Namespace) -> None:
    """Make a run in a separate process; an error there ends only that run."""
    started = time.perf_counter()
    what = f"{run.system} ({run.label}) on {run.corpus}"
    process = multiprocessing.get_context("spawn").Process(
        target=measure, args=(run, options.data, options.out, N_JOBS)
    )
    process.start()
    process.join(3 * run.limit + GRACE)
    if process.is_alive():
        process.kill()
        process.join()
    seconds = time.perf_counter() - started
    failed = f": no result, exit status {process.exitcode}" if process.exitcode else ""
    print(f"{what}: {seconds:.0f} s in all{failed}", flush=True)


if __name__ == "__main__":
    main()
