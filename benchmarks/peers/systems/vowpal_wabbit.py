"""Vowpal Wabbit: --lda, online variational Bayes in C++, a separate process."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

from ..clock import high_water

PACKAGES = {"vowpalwabbit": "vowpalwabbit"}

SETTINGS = {
    "paper": {
        "lda_alpha": 0.01,
        "lda_rho": 0.01,
        "minibatch": 5000,
        "power_t": 0.9,
        "initial_t": 1,
        "passes": 1,
    },
    # priors are its defaults (wiki); the rest as its LDA tutorial, lda.pdf, is remembered
    "best": {
        "lda_alpha": 0.1,
        "lda_rho": 0.1,
        "minibatch": 256,
        "power_t": 0.5,
        "initial_t": 1,
        "passes": 4,
    },
}
COMMAND = (sys.executable, "-m", "vowpalwabbit")  # the wheel's command line, in place of `vw`


def prepare(corpus, settings, n_jobs):
    """Write its text format: all passes in sequence, with orders to save the model.

    An example tagged save_NAME makes it save the model; such examples end full mini-batches,
    twice as far apart each time, and after the first pass. Its parser reads the file in a thread of
    its own while it learns.
    """
    folder = tempfile.TemporaryDirectory()
    ends, words, counts = (
        part.tolist() for part in (corpus.train.indptr, corpus.train.indices, corpus.train.data)
    )
    size, total = settings["minibatch"], settings["passes"] * corpus.n_docs
    marks, due = [], size
    with (Path(folder.name) / "documents").open("w") as lines:
        for done in range(total):
            if done % size == 0 and done >= due:
                lines.write(f"'save_{folder.name}/{done}|\n")
                marks.append(done)
                due = 2 * done if done >= corpus.n_docs else min(2 * done, corpus.n_docs)
            row = done % corpus.n_docs
            pairs = zip(words[ends[row] : ends[row + 1]], counts[ends[row] : ends[row + 1]])  # noqa: B905
            lines.write("| " + " ".join(f"{word}:{count}" for word, count in pairs) + "\n")
    return folder, corpus, [*marks, total]


def train(prepared, settings, checkpoint, n_jobs):
    """Run it to its end, or until the time is up; seconds are from its start to each saved model.

    Starting Python and saving the models are in the figures, some tenths of a second.
    """
    folder, corpus, marks = prepared
    place = Path(folder.name)
    options = {"lda_D": corpus.n_docs, "random_seed": 1}
    options |= {name: value for name, value in settings.items() if name != "passes"}
    options |= {
        "lda": 100,
        "bit_precision": int(corpus.n_words - 1).bit_length(),
        # version 9.11 reads past its ring of examples where a mini-batch is larger
        "example_queue_limit": max(256, 4 * settings["minibatch"]),
        "data": place / "documents",
        "final_regressor": place / str(marks[-1]),
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    started = time.time()
    process = subprocess.Popen([*COMMAND, "--quiet", *arguments])
    saved = {documents: place / str(documents) for documents in marks}
    peak = 0.0
    while process.poll() is None:
        time.sleep(0.1)
        peak = max(peak, high_water(str(process.pid)))
        done = max((n for n, path in saved.items() if path.exists()), default=0)
        if done and checkpoint.is_over(done, time.time() - started):
            process.kill()
            process.wait()
    if process.returncode not in (0, -signal.SIGKILL):
        raise RuntimeError(f"Vowpal Wabbit ended with status {process.returncode}")
    checkpoint.memory = lambda: peak  # of the child process, not of the waiting parent
    for documents, path in saved.items():
        if path.exists():
            seconds = path.stat().st_mtime - started
            topics = partial(read, path, corpus.n_words, settings["lda_rho"])
            checkpoint(documents, topics, seconds)


def read(model: Path, n_words: int, rho: float) -> np.ndarray:
    """Return the topics of a saved model: after a header a record per word, without the prior."""
    record = np.dtype([("word", "<u8"), ("weights", "<f4", 100)])
    content = model.read_bytes()
    n_records = 1 << int(n_words - 1).bit_length()
    records = np.frombuffer(content[-n_records * record.itemsize :], record)
    if (records["word"] != np.arange(n_records)).any():
        raise RuntimeError(f"{model} is not laid out as Vowpal Wabbit 9.11 does")
    return records["weights"][:n_words].T + rho
