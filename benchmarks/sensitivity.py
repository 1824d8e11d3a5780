"""What mini-batch size, step decay, iterations and passes do to the topics that OPE learns.

    python benchmarks/sensitivity.py --data DIR > benchmarks/results/sensitivity.jsonl

One line of JSON per model: 100,000 arXiv abstracts, K = 100, alpha = eta = 1/K, everything else as
stated. LPP is that of 1,000 held-out documents (VB, 70:30, one split), NPMI that of the top ten
words on the training documents.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from corpora import load_counts

import opelda
from opelda.metrics import coherence as npmi
from opelda.metrics import log_predictive_probability

GOOD = {"batch_size": 1000, "learning_decay": 0.6}


def runs() -> list[tuple[str, str, dict]]:
    found = []
    for decay in (0.5, 0.6, 0.7, 0.9):
        for size in (100, 250, 500, 1000, 2500, 5000, 10_000):
            settings = {"batch_size": size, "learning_decay": decay}
            found.append(("batch size and decay", "OnlineOPE", settings))
    for name in ("MLOPE", "StreamingOPE"):
        for size in (100, 250, 500, 1000, 2500, 5000, 10_000):
            settings = {"batch_size": size} | ({"learning_decay": 0.6} if name == "MLOPE" else {})
            found.append(("batch size", name, settings))
    for name in ("OnlineOPE", "MLOPE", "StreamingOPE"):
        found += [("iterations", name, GOOD | {"n_iter": t}) for t in (5, 10, 20, 30, 50, 100)]
        found += [("passes", name, GOOD | {"n_passes": n}) for n in (1, 2, 3, 4, 6, 8)]
    for name in ("OnlineOPE", "MLOPE"):
        found += [("offset", name, GOOD | {"learning_offset": t}) for t in (1.0, 10.0, 64.0)]
    for keep in (False, True):
        for size in (1000, 5000):
            settings = {"batch_size": size, "keep_start": keep, "n_passes": 2}
            found.append(("random start", "StreamingOPE", settings))
            found.append(("random start", "StreamingVB", settings))
    found += [("seeds", "OnlineOPE", GOOD | {"random_state": seed}) for seed in range(8)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with arxiv/; generated if left out")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    train, held_out, _ = load_counts(options.data)
    for sweep, name, settings in runs():
        model = getattr(opelda, name)(100, n_jobs=options.jobs, **({"random_state": 0} | settings))
        started = time.perf_counter()
        topics = model.fit(train).components_
        seconds = time.perf_counter() - started
        score = log_predictive_probability(
            topics, held_out, n_splits=1, random_state=0, n_jobs=options.jobs
        )
        coherence = npmi(topics, train)
        line = {
            "sweep": sweep,
            "learner": name,
            **settings,
            "seconds": round(seconds, 2),
            "LPP": round(float(score), 4),
            "NPMI": round(float(coherence.mean()), 4),
            "incoherent topics": int((coherence < 0).sum()),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
