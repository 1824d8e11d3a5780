"""Where the time of the whole path goes, from text to a saved model, stage by stage.

    python benchmarks/path.py --data DIR [--docs 100000] [--jobs 2]

Two settings: S = 1,000, kappa .6, tau 10, T = 20, and the paper's S = 5,000, kappa .9, tau 1,
T = 50. Within an update the engine's calls are timed one by one; the rest is Python.
Last, reading and learning of the same file apart and together: what overlapping them gains.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import opelda
from opelda.corpus import read, stream
from opelda.engines import CPUEngine
from opelda.engines.cpu import _tables as _cpu_tables
from opelda.engines.cpu import _updates as _cpu_updates
from opelda.learning import _learner
from opelda.learning._plan import Plan
from opelda.metrics import coherence as npmi

SETTINGS = {
    "S=1000": {
        "batch_size": 1000,
        "learning_decay": 0.6,
        "learning_offset": 10.0,
        "n_iter": 20,
    },
    "S=5000": {},
}
COLUMNS = ["title", "abstract"]


class Clock:
    """Seconds and calls by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)

    def timed(self, name, function):
        def call(*arguments, **options):
            started = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.seconds[name] += time.perf_counter() - started
                self.calls[name] += 1

        return call


def watched(clock: Clock, fit):
    """Run a fit with the engine's calls, the batches and the checks on the clock."""
    parts = {
        (_cpu_updates, "gathered"): "gathering",
        (_cpu_updates, "transposed"): "transposing",
        (_cpu_tables, "topic_rows"): "laying out",
        (CPUEngine, "_solve"): "inference",
        (_cpu_updates.Explained, "add"): "statistics",
        (Plan, "update"): "updates",
        (_learner.Learner, "_validated"): "checking X",
        (Plan, "start"): "random start",
    }
    before = {key: getattr(*key) for key in parts}
    try:
        for (owner, name), label in parts.items():
            setattr(owner, name, clock.timed(label, before[owner, name]))
        return clock.timed("fit", fit)()
    finally:
        for (owner, name), function in before.items():
            setattr(owner, name, function)


def run(path: Path, options: argparse.Namespace, name: str) -> None:
    clock = Clock()
    corpus = clock.timed("reading and counting", read)(
        path, text_column=COLUMNS, limit=options.docs + 1000, n_jobs=options.jobs
    )
    train, held_out = corpus.X[: options.docs], corpus.X[options.docs :]
    model = opelda.OnlineOPE(options.topics, random_state=0, n_jobs=options.jobs, **SETTINGS[name])
    watched(clock, lambda: model.fit(train, vocabulary=corpus.vocabulary))
    clock.timed("LPP, 1,000 documents", model.score)(held_out, n_splits=1)
    topics = clock.timed("components_", lambda: model.components_)()
    clock.timed("NPMI", npmi)(topics, train)
    target = Path(tempfile.mkdtemp()) / "model"
    clock.timed("saving", opelda.save)(model, target)
    clock.timed("loading", opelda.load)(target)
    target.unlink()
    seconds = clock.seconds
    inside = ("gathering", "transposing", "laying out", "inference", "statistics")
    seconds["Python of the updates"] = seconds.pop("updates") - sum(seconds[i] for i in inside)
    counted = ("checking X", "random start", "Python of the updates", *inside)
    seconds["rest of fit"] = seconds.pop("fit") - sum(seconds[i] for i in counted)
    whole = sum(seconds.values())
    n_updates = model.n_batch_iter_
    for stage, taken in sorted(seconds.items(), key=lambda item: -item[1]):
        line = {
            "settings": name,
            "stage": stage,
            "seconds": round(taken, 3),
            "share": round(taken / whole, 3),
        }
        if stage in counted[2:]:
            line["us an update"] = round(taken / n_updates * 1e6)
        print(json.dumps(line), flush=True)


def overlap(path: Path, options: argparse.Namespace, name: str) -> None:
    """Read and learn a stream, apart and together."""

    def documents():
        return stream(
            path, text_column=COLUMNS, batch_size=size, limit=options.docs, n_jobs=options.jobs
        )

    def model():
        return opelda.OnlineOPE(options.topics, random_state=0, n_jobs=options.jobs, **settings)

    settings = SETTINGS[name]
    size = settings.get("batch_size", 5000)
    clock = Clock()
    batches = clock.timed("reading", lambda: [batch.X for batch in documents()])()
    clock.timed("learning", model().fit_stream)(batches_of_one_width(batches))
    clock.timed("together", model().fit_stream)(documents())
    rounded = {part: round(taken, 3) for part, taken in clock.seconds.items()}
    print(json.dumps({"settings": name, **rounded}), flush=True)


def batches_of_one_width(batches: list) -> list:
    for X in batches:
        X.resize(X.shape[0], batches[-1].shape[1])
    return batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder with arxiv/")
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    path = options.data / "arxiv" / "abstracts-250k.parquet"
    for name in SETTINGS:
        run(path, options, name)
    overlap(path, options, "S=1000")


if __name__ == "__main__":
    main()
