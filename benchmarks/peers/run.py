"""One run: a system with its settings learns a corpus, in a separate process."""

from __future__ import annotations

import json
import math
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from . import corpora
from .clock import Enough, Recorder, family
from .evaluate import score
from .systems import module

N_TOPICS = 100
WANTED = (1, 50, 200)  # passes whose figures are reported, besides the schedule


@dataclass(frozen=True)
class Run:
    """The system to measure, and its time limit."""

    corpus: str
    system: str
    label: str
    limit: float
    at_least: int = 0  # passes that are made in any case


def measure(run: Run, data: Path | None, out: Path, n_jobs: int) -> None:
    """Train, score every snapshot once the clock has stopped, and add a line for each."""
    corpus = corpora.load(run.corpus, data)
    with tempfile.TemporaryDirectory() as folder, out.open("a") as lines:
        for line in checkpoints(run, corpus, Path(folder), n_jobs):
            lines.write(json.dumps(line) + "\n")
    end_now()


def end_now() -> None:
    """Leave without waiting for workers, of joblib for one, that a stopped run has left behind."""
    for pid in list(family("self"))[1:]:
        os.kill(int(pid), signal.SIGKILL)
    os._exit(0)


def checkpoints(
    run: Run, corpus: corpora.Corpus, folder: Path, n_jobs: int
) -> Iterator[dict[str, Any]]:
    system = module(run.system)
    settings = system.SETTINGS[run.label]
    started = time.perf_counter()
    prepared = system.prepare(corpus, settings, n_jobs)
    prepare_seconds = time.perf_counter() - started
    recorder = Recorder(
        folder,
        run.limit,
        planned=settings.get("passes", math.inf) * corpus.n_docs,
        at_least=run.at_least * corpus.n_docs,
        wanted=[passes * corpus.n_docs for passes in WANTED],
    )
    recorder.clock.start()
    try:
        system.train(prepared, settings, recorder, n_jobs)
        recorder.finish()
    except Enough:
        pass
    shared = {
        "settings": settings,
        "prepare_seconds": round(prepare_seconds, 3),
        "threads": n_jobs,
        "versions": {name: version(name) for name in system.PACKAGES},
        "date": datetime.now(UTC).date().isoformat(),
    }
    if not recorder.snapshots:
        raise SystemExit(f"Not one checkpoint of {run.system} within {run.limit:g} s.")
    for snapshot in recorder.snapshots:
        yield {
            "corpus": run.corpus,
            "system": run.system,
            "label": run.label,
            "documents": snapshot.documents,
            "passes": round(snapshot.documents / corpus.n_docs, 4),
            "seconds": round(snapshot.seconds, 4),
            **score(np.load(snapshot.path), corpus, n_jobs),
            "memory_mb": round(snapshot.memory_mb),
            **shared,
        }
