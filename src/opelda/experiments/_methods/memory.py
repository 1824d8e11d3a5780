"""Table 1's storage: what inferring one very long document takes beside its input and output.

The peak of a process only ever rises, so every measurement has a process of its own: a fork of one
that has done nothing but import.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.engines._cpu_tables import Table, aligned_empty, row_width
from opelda.engines._engine import Task
from opelda.engines._solutions import MIXTURES
from opelda.experiments._data import Data
from opelda.experiments._experiment import Report, Rows
from opelda.experiments._methods.measuring import (
    ENGINE,
    NAMES,
    is_compiled,
    new_method,
    new_row,
)
from opelda.experiments._settings import Settings
from opelda.inference._method import Document

INVERSE = "left out: the inverse of so many topics takes hours; it has K V numbers"
NOT_HERE = "could not be measured on this system"
START = "from opelda.experiments._methods.memory import serve; serve()"
# every large array in pages of its own, given back when it goes, and no pages of unusual size
ENVIRONMENT = {
    "MALLOC_MMAP_THRESHOLD_": "65536",
    "NUMPY_MADVISE_HUGEPAGE": "0",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


def peaks(
    data: Data, settings: Settings, report: Report, *, methods: list[str], sizes: list[list[int]]
) -> Rows:
    """Measure every method on a generated document of each size (K, n, N).

    It is the growth of the largest memory in use, on one thread. The topics of the document's words
    are there already in the precision of the method.
    """
    jobs: list[list[Any]] = [[name, *size] for size in sizes for name in methods]
    rows: Rows = []
    for job, found in zip(jobs, _measured(jobs, settings), strict=True):
        name, n_topics, n_words, n_tokens = job
        note = None if found is not None else INVERSE if name == "TLI" else NOT_HERE
        rows.append(
            new_row(
                "memory",
                name,
                settings.seed,
                n_topics=n_topics,
                n_words=n_words,
                n_tokens=n_tokens,
                vocabulary=n_words,
                documents=1,
                peak_bytes=found,
                note=note,
            )
        )
        report(len(rows) / len(jobs))
    return rows


def _measured(jobs: list[list[Any]], settings: Settings) -> Iterator[int | None]:
    """Yield the answers of a process of its own, None for all that it cannot give."""
    asked = json.dumps({"jobs": jobs, "n_iter": settings.n_iter})
    with subprocess.Popen(
        [sys.executable, "-c", START, asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ENVIRONMENT,
        text=True,
    ) as process:
        answers = iter(process.stdout or ())
        for _ in jobs:
            yield json.loads(next(answers, "null"))


def serve() -> None:
    """Answer what is asked in the first argument, a line for each job."""
    asked = json.loads(sys.argv[1])
    settings = Settings(n_iter=asked["n_iter"])
    for name, *size in asked["jobs"]:
        if name == "TLI":
            os.write(1, b"null\n")
            continue
        pid = os.fork()
        if pid == 0:
            try:
                found = json.dumps(extra_peak(name, settings, *size))
                os.write(1, f"{found}\n".encode())
                os._exit(0)
            except BaseException:
                os._exit(1)
        if os.waitpid(pid, 0)[1] != 0:
            os.write(1, b"null\n")


def extra_peak(name: str, settings: Settings, n_topics: int, n_words: int, n_tokens: int) -> int:
    """Return by how many bytes the largest memory of this process grows when a method runs.

    >>> extra_peak("FW", Settings(), 16, 1000, 2000) >= 0
    True
    """
    table, X = long_document(n_topics, n_words, n_tokens)
    method, alpha = new_method(name, settings), np.full(n_topics, 1 / n_topics)
    if name in NAMES and not is_compiled(name):  # a few iterations take as much as many
        known = method.get_params()
        few = {"n_iter": 5, "burn_in": 2}
        method.set_params(**{key: value for key, value in few.items() if key in known})

    def run(X: sparse.csr_array, document: Document) -> None:
        if is_compiled(name):
            ENGINE.infer(table, ENGINE.documents(X), Task(method, alpha, 0), MIXTURES)
        else:
            method.reference(document, 0)

    document = _in_doubles(table, X, alpha)
    beginning = sparse.csr_array((X.data[:10], X.indices[:10], [0, 10]), X.shape)
    run(beginning, _in_doubles(table, beginning, alpha))  # what only the first call takes
    before = largest_memory()
    run(X, document)
    return largest_memory() - before


def long_document(n_topics: int, n_words: int, n_tokens: int) -> tuple[Table, sparse.csr_array]:
    """Make topics and a document that holds every word, without using more memory on the way."""
    rng = np.random.default_rng(0)
    rows = aligned_empty(n_words, row_width(n_topics))
    rng.random(out=rows, dtype=np.float32)
    np.power(rows, 20, out=rows)  # few words make up most of a topic
    rows += 1e-4
    rows[:, n_topics:] = 0
    rows /= np.maximum(rows.sum(axis=0), 1e-4)
    mixed = rows[:, :3].sum(axis=1).astype(np.float64)
    counts = 1 + rng.multinomial(n_tokens - n_words, mixed / mixed.sum())
    mean = rows.sum(axis=1) / n_topics
    parts = (counts.astype(np.float32), np.arange(n_words, dtype=np.int32), [0, n_words])
    return Table(rows, mean, n_topics), sparse.csr_array(parts, (1, n_words))


def _in_doubles(table: Table, X: sparse.csr_array, alpha: NDArray[np.float64]) -> Document:
    """Return the document as references take it; it holds the first words of the vocabulary."""
    beta = table.rows[: X.nnz, : table.n_topics].T.astype(np.float64)
    return Document(X.data.astype(np.float64), beta, alpha)


def largest_memory() -> int:
    """Return the most memory, in bytes, that this process has had in use.

    >>> largest_memory() > 0
    True
    """
    try:  # of this process alone; what `resource` knows includes that of the process it came from
        with open("/proc/self/status", encoding="ascii") as lines:
            return next(1024 * int(line.split()[1]) for line in lines if line[:5] == "VmHWM")
    except (OSError, StopIteration):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
