"""The parts of Table 1 share this: the twelve methods, the columns of a row, fair timing."""

import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import get_clock_info, perf_counter, process_time
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda.engines import CPUEngine
from opelda.inference import CGS, CVB, CVB0, FW, METHODS, OPE, TLI, VB, Method, Topics
from opelda.inference.tli import TLIWarning
from reproduction.experiment import Report
from reproduction.rows import Row
from reproduction.settings import Settings

# rows of the paper's table and code; others are ours
OTHERS = ("em", "exact")
NAMES: dict[str, str] = {cls.__name__: name for name, cls in METHODS.items() if name not in OTHERS}
# OPE's kernel skips topics that provably cannot come next; this is OPE as the paper counts it
UNSCREENED = "OPE, every topic"
# the kernel also keeps a copy of the topics that it has moved to; this is OPE without kernel
PLAIN = "OPE in NumPy"
# OPE without a prior, for any settings
FLAT = "OPE, alpha 1"
# time of an iteration and storage in Table 1; n are distinct words, N tokens
STATED: dict[str, tuple[str, str]] = {
    "OPE": ("K n", "K"),
    UNSCREENED: ("K n", "K"),
    PLAIN: ("K n", "K"),
    "VB": ("K n", "K n"),
    "CVB": ("K N", "K N"),
    "CVB0": ("K N", "K N"),
    "CGS": ("K N", "K N"),
}
# TLI's linear programs take time like K^3 V; this is about a minute
MOST_PROGRAMS = 2 * 10**9
# a longer time is not repeated
LONG = 5.0
LEFT_OUT = "left out: its linear programs would take minutes"
ENGINE = CPUEngine(1)
# other programs do not count in the processor's time for this one, which some systems know roughly
CLOCK = process_time if get_clock_info("process_time").resolution < 1e-6 else perf_counter

Key = TypeVar("Key", bound=Hashable)


def new_method(name: str, settings: Settings, p: float | None = None) -> Method:
    """Return a method by its name, those with kernels with the settings' number of iterations.

    `p` is BOPE's.

    >>> new_method("CGS", Settings(n_iter=21)), new_method("SMM", Settings(n_iter=21)).n_iter
    (CGS(burn_in=10, n_samples=11), 100)
    """
    n_iter = settings.n_iter
    halves = {"burn_in": n_iter // 2, "n_samples": n_iter - n_iter // 2}
    if name == "BOPE" and p is not None:
        return OPE(n_iter=n_iter, variant="bope", p=p)
    walk = OPE(n_iter=n_iter)
    made: dict[str, Method] = {
        "OPE": walk,
        UNSCREENED: OPE(n_iter=n_iter, screen=False),
        PLAIN: walk,
        FLAT: walk,
        "VB": VB(n_iter=n_iter),
        "CVB": CVB(n_iter=n_iter),
        "CVB0": CVB0(**halves),
        "CGS": CGS(**halves),
        "FW": FW(n_iter=n_iter),
    }
    return made[name] if name in made else METHODS[NAMES[name]]()


def is_compiled(name: str) -> bool:
    """Say whether a method has a kernel; others are plain NumPy, a document at a time.

    >>> is_compiled("OPE"), is_compiled("SMM")
    (True, False)
    """
    return name in (UNSCREENED, FLAT) or (
        name in NAMES and new_method(name, Settings()).kernel(2, 0) is not None
    )


def new_row(part: str, name: str, seed: int, **values: Any) -> Row:
    """Return a row with the paper's statement of a method beside the measurement.

    >>> row = new_row("K", "VB", 0, n_topics=25)
    >>> row["compiled"], row["n_topics"], row["stated_storage"]
    (True, 25, 'K n')
    """
    time, storage = STATED.get(name, (None, None))
    stated = {"compiled": is_compiled(name), "stated_time": time, "stated_storage": storage}
    return {"part": part, "method": name, "seed": seed, **values, **stated}


def too_many_programs(n_topics: int, vocabulary: int) -> bool:
    """Return whether inverting that many topics, as TLI does, would take minutes.

    >>> too_many_programs(100, 2000), too_many_programs(100, 5000)
    (False, True)
    """
    return n_topics**3 * vocabulary > MOST_PROGRAMS


@dataclass(frozen=True)
class Task:
    """A request to an engine: its `infer` takes anything with these attributes."""

    method: Method
    alpha: NDArray[np.float64]
    seed: int
    accuracy: None = None
    exact: None = None


@dataclass(frozen=True)
class Mixtures:
    """The parts of an answer that an engine is to give: mixtures, and no certificate."""

    theta: bool = True
    certificate: bool = False
    factors: bool = False
    close: bool = False
    picks: bool = False


@dataclass(frozen=True)
class Problem:
    """Documents, topics and a prior that methods are timed on, one thread each.

    >>> from scipy.sparse import csr_array
    >>> problem = Problem(Topics([[0.9, 0.1], [0.2, 0.8]]), csr_array([[3, 1], [0, 2]]), None)
    >>> problem.first(1).solve(OPE(n_iter=20), 0).n_iter
    array([20], dtype=int32)
    """

    topics: Topics
    X: sparse.csr_array
    doc_topic_prior: float | None

    def first(self, n_docs: int) -> "Problem":
        """Return the same with the first documents alone."""
        return replace(self, X=self.X[:n_docs])

    def solve(self, method: Method, seed: int) -> Any:
        """Infer the mixtures without certificates, whose time would count."""
        n_topics = self.topics.n_topics
        alpha = np.full(n_topics, self.doc_topic_prior or 1.0 / n_topics)
        documents = ENGINE.documents(self.X.astype(np.float32, copy=False))
        task: Any = Task(method, alpha, seed)
        wanted: Any = Mixtures()
        return ENGINE.infer(self.topics.on(ENGINE), documents, task, wanted)


@contextmanager
def one_thread() -> Iterator[None]:
    """Give NumPy's linear algebra the one thread that kernels have, and let TLI fail in silence."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", TLIWarning)
        yield


def best_seconds(
    work: Mapping[Key, tuple[Method, Problem]], repeats: int, seed: int, report: Report
) -> dict[Key, tuple[float, Any]]:
    """Return the least seconds of each piece of work, and the mixtures it found.

    The pieces take turns, so that other load affects all alike. Load only adds
    time: the least of the repeats is the best estimate. More than five seconds are not repeated.
    One document goes before and does not count. All have one thread, no method computes
    certificates, and CPU time counts, where the system measures it well enough.
    """
    found: dict[Key, tuple[float, Any]] = {}
    with one_thread():
        for method, problem in work.values():
            problem.first(1).solve(method, seed)
        for number in range(repeats):
            for key, (method, problem) in work.items():
                before = found[key][0] if key in found else np.inf
                if number and before > LONG:
                    continue
                started = CLOCK()
                solution = problem.solve(method, seed)
                found[key] = min(before, CLOCK() - started), solution
            report((number + 1) / repeats)
    return found


def seconds_to_invert(topics: Topics) -> float:
    """Return how long TLI takes once for all documents: to invert the topics.

    It remembers the inverse, so that a second call does without; of topics that it has inverted
    before this is about 0.
    """
    first_word = sparse.csr_array(([1.0], ([0], [0])), shape=(1, topics.n_words))
    problem = Problem(topics, first_word, None)
    times = []
    with one_thread():
        for _ in range(2):
            started = CLOCK()
            problem.solve(TLI(), 0)
            times.append(CLOCK() - started)
    return max(times[0] - times[1], 0.0)
