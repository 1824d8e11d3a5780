"""One run: a system learns a stream in one pass, in a separate process."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from opelda.metrics import log_predictive_probability

from ..peers.clock import Clock
from ..peers.corpora import Corpus
from ..peers.evaluate import normalised, score
from ..peers.run import end_now
from ..peers.systems import vowpal_wabbit
from . import corpora
from .systems import PAPER_BATCH, SYSTEMS

VOWPAL_WABBIT = "vowpal-wabbit"
NAMES = [*SYSTEMS, VOWPAL_WABBIT]
PACKAGES = {"gensim": "gensim", "river": "river", VOWPAL_WABBIT: "vowpalwabbit"}
SCORED = 1000  # documents of a prequential score
POINTS = 20

Topics = Callable[[], np.ndarray]
State = tuple[int, float, Topics]  # documents and seconds of learning so far


@dataclass(frozen=True)
class Run:
    """A system on a stream, or on its first documents; it ends early after `seconds`."""

    corpus: str
    system: str
    seed: int
    limit: int | None = None
    seconds: float = 1800.0


def points(n_docs: int) -> list[int]:
    """Return the points at which the next documents are scored: about 20, and early ones.

    Multiples of the largest mini-batch, or of 1,000 where there are few documents.
    """
    unit = PAPER_BATCH if n_docs >= POINTS * PAPER_BATCH else max(1, min(1000, n_docs // POINTS))
    step = max(1, n_docs // POINTS // unit) * unit
    early = [unit * times for times in (1, 2, 4) if unit * times < step]
    return [*early, *range(step, n_docs, step)]


def measure(run: Run, data: Path | None, out: Path, n_jobs: int) -> None:
    """Make a run and add its line."""
    corpus = corpora.stream(run.corpus, data, run.limit)
    line = result(run, corpus, n_jobs)
    with out.open("a") as lines:
        lines.write(json.dumps(line) + "\n")
    end_now()


def apart(run: Run, target: Callable[..., None], *args: Any) -> None:
    """Make a run in a separate process; an error there ends only that run."""
    started = time.perf_counter()
    process = multiprocessing.get_context("spawn").Process(target=target, args=(run, *args))
    process.start()
    process.join()
    failed = f": no result, exit status {process.exitcode}" if process.exitcode else ""
    seconds = time.perf_counter() - started
    print(f"  {run.system}, seed {run.seed}: {seconds:.0f} s in all{failed}", flush=True)


def result(run: Run, corpus: Corpus, n_jobs: int) -> dict[str, Any]:
    """Learn; score the next documents while the clock stands, and the end on all measures."""
    started, scores, topics = time.perf_counter(), [], None
    marks = points(corpus.n_docs)
    states = vowpal if run.system == VOWPAL_WABBIT else partial(learn, SYSTEMS[run.system])
    for documents, seconds, read in states(corpus, marks, run, n_jobs):
        topics = read()
        if documents in marks:
            lpp = following(topics, corpus.train[documents : documents + SCORED], n_jobs)
            scores.append([documents, round(seconds, 3), round(lpp, 5)])
    if topics is None:
        raise SystemExit(f"{run.system} learned nothing within {run.seconds:g} s.")
    return {
        "corpus": run.corpus,
        "system": run.system,
        "seed": run.seed,
        "n_docs": corpus.n_docs,
        "documents": documents,
        "seconds": round(seconds, 3),
        "prequential": prequential(scores, documents),
        **score(topics, corpus, n_jobs),
        "points": scores,
        "threads": n_jobs,
        "date": datetime.now(UTC).date().isoformat(),
        "all_seconds": round(time.perf_counter() - started, 1),
    }


def prequential(scores: list[list[float]], documents: int) -> float | None:
    """Return the mean over documents of scores; each score holds up to the next."""
    if not scores:
        return None
    at, _, values = zip(*scores, strict=True)
    return round(float(np.average(values, weights=np.diff([*at, max(documents, at[-1] + 1)]))), 5)


def following(topics: np.ndarray, counts: sparse.csr_array, n_jobs: int) -> float:
    """Return the log predictive probability of documents that are not learned from yet."""
    return float(
        log_predictive_probability(
            normalised(topics), counts, method="vb", n_splits=1, random_state=0, n_jobs=n_jobs
        )
    )


def learn(
    start: Callable[[Corpus, int, int], Any],
    corpus: Corpus,
    marks: list[int],
    run: Run,
    n_jobs: int,
) -> Iterator[State]:
    """Give a system its mini-batches, split at marks; yield at marks and at the end."""
    system, clock, first = start(corpus, run.seed, n_jobs), Clock(), 0
    for mark in [*(marks if system.batch else []), corpus.n_docs]:
        while first < mark:
            end = min(first + (system.batch or mark), mark)
            documents = system.prepare(corpus.train[first:end])
            clock.start()
            system.learn(documents)
            clock.stop()
            first = end
            if clock.seconds > run.seconds and first < corpus.n_docs:
                yield first, clock.seconds, system.topics
                return
        yield first, clock.seconds, system.topics


def vowpal(corpus: Corpus, marks: list[int], run: Run, n_jobs: int) -> Iterator[State]:
    """Let Vowpal Wabbit learn up to each mark, each time from the first document on.

    It lets words fade when it meets them, and all others at its end: a model that it saves on the
    way is none that it would predict with.
    """
    settings = vowpal_wabbit.SETTINGS["best"] | {"passes": 1, "random_seed": run.seed}
    settings["lda_D"] = corpus.n_docs
    for mark in [*marks, corpus.n_docs]:
        part, saved = replace(corpus, train=corpus.train[:mark]), Saved(run.seconds)
        prepared = vowpal_wabbit.prepare(part, settings, n_jobs)
        vowpal_wabbit.train(prepared, settings, saved, n_jobs)
        yield saved.states[-1]


class Saved:
    """Takes what Vowpal Wabbit's adapter has to tell."""

    def __init__(self, limit: float) -> None:
        self.limit, self.states = limit, []

    def is_over(self, documents: int, seconds: float) -> bool:
        return seconds > self.limit

    def __call__(self, documents: int, topics: Topics, seconds: float) -> None:
        self.states.append((documents, seconds, topics))


def why_not(system: str) -> str | None:
    """Name the missing requirement of a system; None if it can run."""
    package = PACKAGES.get(system)
    if package and importlib.util.find_spec(package) is None:
        return f"the Python package {package} is not installed"
    return None
