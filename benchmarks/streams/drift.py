"""Streams with known change: the cost of forgetting, and the delay and precision of events.

    python -m benchmarks.streams.drift --data DIR [--streams sudden gradual recurring stationary
                                       arxiv] [--systems TopicModel OnlineOPE ...] [--seeds 0 1 2]
                                       [--threads 1] [--out FILE.jsonl] [--figures DIR]

Reddit titles in an order that the seed draws; titles of some subreddits, the theme, are in the
stream only while it is on. Nothing changes in "stationary", and arXiv's abstracts come by date.
Every run has its own process. Every 10,000 titles around a change and every 50,000 elsewhere
the 1,000 documents that come next are scored before they are learned from, and 1,000 titles of the
theme that never are, and it is seen which topics the latter have more of than other titles. Events
are kept as they were told; which of them are about the theme is decided in `drift_tables`. All
counts have one vocabulary from the start, so that new words cause no events.

A line of JSON per run goes to `--out`; runs that are there already are not repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import UTC, datetime
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from opelda.inference import infer

from ..peers.corpora import Corpus
from ..peers.evaluate import normalised
from ..peers.run import end_now
from . import drift_tables, tables
from .run import SCORED, Run, apart, following, learn, points, prequential
from .systems import PAPER_BATCH, SYSTEMS, opelda
from .themes import ARXIV, CHANGES, Theme, stream

DEFAULT = ["sudden", "gradual", "recurring", "stationary", ARXIV]
TOPICS = 3  # of a theme, at each point
D = 100_000

DRIFTING = {
    name: SYSTEMS[name]
    for name in ("TopicModel", "TopicModel, fast", "OnlineOPE", "StreamingOPE", "frequencies")
} | {
    "TopicModel, forgets at once": SYSTEMS["TopicModel"],
    "TopicModel, never forgets": SYSTEMS["TopicModel"],
    "OnlineOPE, D = 100,000": opelda("OnlineOPE", PAPER_BATCH, population=D),
}
# Fixed rules beside it: in how many windows of documents what left the window fades to 1 / e.
MEMORY = {"TopicModel, forgets at once": 0.05, "TopicModel, never forgets": 1e9}


def main() -> None:
    options = parsed()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(options.threads))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    done = {(line["corpus"], line["system"], line["seed"]) for line in tables.read(options.out)}
    for name in options.streams:
        print(name, flush=True)
        for seed in options.seeds:
            for system in options.systems:
                if (name, system, seed) not in done:
                    run = Run(name, system, seed, seconds=inf)
                    apart(run, measure, options.data, options.out, options.threads)
    lines = [line for line in tables.read(options.out) if line["corpus"] in options.streams]
    print(drift_tables.markdown(lines))
    if options.figures:
        print(*drift_tables.draw(lines, options.figures), sep="\n")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "benchmarks.streams.drift", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with the corpora")
    parser.add_argument("--streams", nargs="+", choices=[*CHANGES, ARXIV], default=DEFAULT)
    parser.add_argument("--systems", nargs="+", choices=DRIFTING, default=list(DRIFTING))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("build/streams/drift.jsonl"))
    parser.add_argument("--figures", type=Path, help="folder for a figure of each stream")
    return parser.parse_args()


def measure(run: Run, data: Path, out: Path, n_jobs: int) -> None:
    """Make a run and add its line."""
    if run.system in MEMORY:
        from opelda.learning.streaming import _window

        if not hasattr(_window, "MEMORY"):
            raise SystemExit(f"{run.system} was removed: the window has no MEMORY to be set.")
        _window.MEMORY = MEMORY[run.system]
    corpus, theme, words = stream(run.corpus, data, run.seed)
    marks = points(corpus.n_docs) if run.corpus == ARXIV else CHANGES[run.corpus].points()
    line = result(run, corpus, theme, words, marks, n_jobs)
    with out.open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    end_now()


def result(
    run: Run, corpus: Corpus, theme: Theme | None, words: list[str], marks: list[int], n_jobs: int
) -> dict[str, Any]:
    """Learn a stream, and measure at the marks; of the theme at the end, too."""
    started, found, events, before = time.perf_counter(), [], [], 0
    system = DRIFTING[run.system](corpus, run.seed, n_jobs)
    for documents, clock, read in learn(lambda *_: system, corpus, marks, run, n_jobs):
        beta, point = normalised(read()), {"documents": documents}
        if documents in marks:
            next_ones = corpus.train[documents : documents + SCORED]
            point["lpp"] = round(following(beta, next_ones, n_jobs), 5)
        if theme is not None:
            point["theme_lpp"] = round(following(beta, theme.own, n_jobs), 5)
            point["topics"] = topics_of(theme, beta, n_jobs)
            top = np.argsort(-beta[point["topics"][0][0]])[:8]
            point["words"] = [words[word] for word in top]
        found.append(point)
        told = getattr(getattr(system, "model", None), "events_", ())
        events += [event_of(event, theme, words) for event in told if event.document > before]
        before, seconds = documents, clock
    scores = [[point["documents"], 0, point["lpp"]] for point in found if "lpp" in point]
    return {
        "corpus": run.corpus,
        "system": run.system,
        "seed": run.seed,
        "n_docs": corpus.n_docs,
        "seconds": round(seconds, 3),
        "prequential": prequential(scores, corpus.n_docs),
        "stretches": CHANGES[run.corpus].stretches if run.corpus in CHANGES else [],
        "points": found,
        "events": events,
        "threads": n_jobs,
        "date": datetime.now(UTC).date().isoformat(),
        "all_seconds": round(time.perf_counter() - started, 1),
    }


def topics_of(theme: Theme, beta: np.ndarray, n_jobs: int) -> list[list[float]]:
    """Return the topics that a theme has most of beyond what others have, and both shares."""
    own, others = (shares(part, beta, n_jobs) for part in (theme.own, theme.others))
    top = np.argsort(others - own, kind="stable")[:TOPICS]
    return [[int(k), round(float(own[k]), 5), round(float(others[k]), 5)] for k in top]


def shares(counts: sparse.csr_array, beta: np.ndarray, n_jobs: int) -> np.ndarray:
    """Return the documents' mean mixture."""
    return infer(counts, beta, method="vb", random_state=0, n_jobs=n_jobs).theta.mean(axis=0)


def event_of(event: Any, theme: Theme | None, words: list[str]) -> dict[str, Any]:
    """Return an event with its words' names and the number of theme words."""
    columns = [int(word[1:]) for word in event.words]  # the model knows them as x0, x1, ...
    return {
        "kind": event.kind,
        "document": event.document,
        "topic": event.topic,
        "numbers": {name: round(value, 5) for name, value in event.numbers.items()},
        "words": [words[column] if words else f"x{column}" for column in columns],
        "typical": 0 if theme is None else int(theme.words[columns].sum()),
    }


if __name__ == "__main__":
    main()
