"""Table 1's storage: what inferring one very long document takes beside its input and output.

The peak of a process only rises, so every measurement has a separate process: a fork of a process
that has only imported.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.inference import Topics
from reproduction.data import Data
from reproduction.experiment import Report
from reproduction.methods.measuring import (
    ENGINE,
    NAMES,
    Mixtures,
    Task,
    is_compiled,
    new_method,
    new_row,
)
from reproduction.rows import Rows
from reproduction.settings import Settings

INVERSE = "left out: the inverse of so many topics takes hours; it has K V numbers"
NOT_HERE = "could not be measured on this system"
START = "from reproduction.methods.memory import serve; serve()"
ROOT = Path(__file__).parents[2]
# every large array has separate pages, returned when freed, and no pages of unusual size
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
    """Yield the answers of a separate process, None for each failure."""
    asked = json.dumps({"jobs": jobs, "n_iter": settings.n_iter})
    with subprocess.Popen(
        [sys.executable, "-c", START, asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | ENVIRONMENT,
        cwd=ROOT,  # where `reproduction` is found
        text=True,
    ) as process:
        answers = iter(process.stdout or ())
        for _ in jobs:
            yield json.loads(next(answers, "null"))


def serve() -> None:
    """Answer the jobs of the first argument, a line for each."""
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


@dataclass(frozen=True)
class Document:
    """A document in double precision, with all that a method's `reference` reads of it."""

    counts: NDArray[np.float64]
    beta: NDArray[np.float64]
    alpha: NDArray[np.float64]
    key: int = 0

    @property
    def n_tokens(self) -> float:
        """The document's length."""
        return float(self.counts.sum())


def extra_peak(name: str, settings: Settings, n_topics: int, n_words: int, n_tokens: int) -> int:
    """Return by how many bytes the largest memory of this process grows when a method runs.

    >>> extra_peak("FW", Settings(), 16, 1000, 2000) >= 0
    True
    """
    topics, X = long_document(n_topics, n_words, n_tokens)
    run = _compiled if is_compiled(name) else _reference
    small = sparse.csr_array((X.data[:10], X.indices[:10], [0, 10]), X.shape)
    run(name, settings, topics, small)()  # what only the first call takes
    whole = run(name, settings, topics, X)
    ballast = fill_to_peak()
    before = largest_memory()
    whole()
    grown = largest_memory() - before
    del ballast
    return grown


def _compiled(
    name: str, settings: Settings, topics: Topics, X: sparse.csr_array
) -> Callable[[], Any]:
    """Return what infers X with the method's kernel; the engine's topics are made before."""
    task: Any = Task(new_method(name, settings), _alpha(topics), 0)
    wanted: Any = Mixtures()
    table, documents = topics.on(ENGINE), ENGINE.documents(X)
    return lambda: ENGINE.infer(table, documents, task, wanted)


def _reference(
    name: str, settings: Settings, topics: Topics, X: sparse.csr_array
) -> Callable[[], Any]:
    """Return what infers X in NumPy; it holds the first words of the vocabulary."""
    method = new_method(name, settings)
    if name in NAMES:  # a few iterations need the memory of many
        known = method.get_params()
        few = {"n_iter": 5, "burn_in": 2}
        method.set_params(**{key: value for key, value in few.items() if key in known})
    beta = topics.components[:, : X.nnz].astype(np.float64)
    document: Any = Document(X.data.astype(np.float64), beta, _alpha(topics))
    return lambda: method.reference(document, 0)


def _alpha(topics: Topics) -> NDArray[np.float64]:
    return np.full(topics.n_topics, 1 / topics.n_topics)


def long_document(n_topics: int, n_words: int, n_tokens: int) -> tuple[Topics, sparse.csr_array]:
    """Make topics and a document that holds every word."""
    rng = np.random.default_rng(0)
    topics = rng.random((n_topics, n_words), dtype=np.float32)
    np.power(topics, 20, out=topics)  # few words make up most of a topic
    topics += 1e-4
    topics /= topics.sum(axis=1, keepdims=True)
    mixed = topics[:3].sum(axis=0).astype(np.float64)
    counts = 1 + rng.multinomial(n_tokens - n_words, mixed / mixed.sum())
    parts = (counts.astype(np.float32), np.arange(n_words, dtype=np.int32), [0, n_words])
    return Topics(topics), sparse.csr_array(parts, (1, n_words))


def fill_to_peak() -> list[NDArray[Any]]:
    """Fill memory up to the former peak, so that further memory is visible.

    Creating the topics took more memory than they keep, which would hide a method's memory.
    """
    before, ballast = largest_memory(), []
    while largest_memory() == before:
        ballast.append(np.ones(2**14, np.float64))  # 128 kB, in pages of their own
    return ballast


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
