"""Whether our measures of a model agree with a script that shares no code with this library.

    python -m benchmarks.agreement CORPUS [CORPUS ...] [--text-column COLUMN] [--topics 100]

For each collection: topics by Online-OPE, 1,000 documents set aside and split five times, then LPP
(VB in double precision, and the compiled kernel) and NPMI (top ten words, training documents) here
and by tests/metrics/independent.py in a separate process. One line of JSON each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

from opelda import OnlineOPE
from opelda.corpus import read
from opelda.metrics import coherence as npmi
from opelda.metrics import predict_held_out
from reproduction import Data, Settings, prepare

SCRIPT = Path(__file__).parents[1] / "tests" / "metrics" / "independent.py"


def theirs(data: Data, topics: np.ndarray) -> dict[str, float]:
    """Return the script's results for plain files."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sparse.save_npz(place / "counts.npz", sparse.csr_matrix(data.train))
        np.save(place / "topics.npy", topics)
        splits = []
        for number, pair in enumerate(data.splits):
            for part, kind in zip(pair, ("observed", "held-out"), strict=True):
                splits.append(place / f"{number}-{kind}.npz")
                sparse.save_npz(splits[-1], sparse.csr_matrix(part))
        command = [sys.executable, SCRIPT, "--counts", place / "counts.npz"]
        command += ["--topics", place / "topics.npy", "--splits", *splits]
        command += ["--alpha", repr(1 / len(topics))]
        run = subprocess.run(map(str, command), check=True, capture_output=True, text=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    return {line[0]: float(line[1]) for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--text-column", action="append")
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--limit", type=int, help="first N documents only")
    options = parser.parse_args()
    settings = Settings(n_topics=options.topics)
    for path in options.corpora:
        corpus = read(path, text_column=options.text_column, limit=options.limit, n_jobs=-1)
        data = prepare(corpus.X, settings, label=path.name)
        model = OnlineOPE(options.topics, batch_size=1000, random_state=0, n_jobs=-1)
        topics = model.fit(data.train).components_
        other = theirs(data, topics)
        double = predict_held_out(topics, data.splits, engine="reference", random_state=0)
        single = predict_held_out(topics, data.splits, random_state=0, n_jobs=-1)
        coherence = float(npmi(topics, data.train).mean())
        line = {
            "corpus": path.name,
            "documents": data.train.shape[0],
            "LPP": double.macro,
            "LPP off by": abs(double.macro - other["LPP"]),
            "compiled LPP off by": abs(single.macro - other["LPP"]),
            "NPMI": coherence,
            "NPMI off by": abs(coherence - other["NPMI"]),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
