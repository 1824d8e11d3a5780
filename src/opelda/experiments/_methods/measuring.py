"""What the parts of Table 1 share: the twelve methods, the columns of a row, fair timing."""

import warnings
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from time import get_clock_info, perf_counter, process_time
from typing import Any, TypeVar

import numpy as np

from opelda.engines import Batch, CPUEngine, Solution, Wanted
from opelda.experiments._experiment import Report, Row
from opelda.experiments._settings import Settings
from opelda.inference import CGS, CVB, CVB0, FW, METHODS, OPE, TLI, VB, Method, TLIWarning, Topics
from opelda.inference.tli import _inverses, cached_inverse

# those of the paper's table and of its authors; EM is ours
NAMES: dict[str, str] = {cls.__name__: name for name, cls in METHODS.items() if name != "em"}
# OPE's kernel skips topics that provably cannot come next; this is OPE as the paper counts it
UNSCREENED = "OPE, every topic"
# the kernel also keeps a copy of the topics that it has moved to; this is OPE without kernel
PLAIN = "OPE in NumPy"
# OPE without a prior, whatever the settings say
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
COLUMNS = (
    "part",
    "method",
    "compiled",
    "seed",
    "n_topics",
    "n_words",
    "n_tokens",
    "vocabulary",
    "documents",
    "iterations",
    "seconds_per_document",
    "seconds_per_iteration",
    "setup_seconds",
    "peak_bytes",
    "lpp",
    "lpp_error",
    "lpp_micro",
    "gap",
    "likelihood_gap",
    "log_likelihood_per_token",
    "effective_topics",
    "stated_time",
    "stated_storage",
    "note",
)
# TLI's linear programs take time like K^3 V; so much of it is a minute or so
MOST_PROGRAMS = 2 * 10**9
# a time so long is not taken again
LONG = 5.0
LEFT_OUT = "left out: its linear programs would take minutes"
ONLY_THETA = Wanted(certificate=False)
# other programs do not count in the processor's time for this one, which some systems know roughly
CLOCK = process_time if get_clock_info("process_time").resolution < 1e-6 else perf_counter

Key = TypeVar("Key", bound=Hashable)


def new_method(name: str, settings: Settings) -> Method:
    """Return a method by its name, those with kernels with the settings' number of iterations.

    >>> new_method("CGS", Settings(n_iter=21)), new_method("SMM", Settings(n_iter=21)).n_iter
    (CGS(burn_in=10, n_samples=11), 100)
    """
    n_iter = settings.n_iter
    halves = {"burn_in": n_iter // 2, "n_samples": n_iter - n_iter // 2}
    walk = OPE(n_iter=max(n_iter, 2))
    made: dict[str, Method] = {
        "OPE": walk,
        UNSCREENED: OPE(n_iter=walk.n_iter, screen=False),
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
    return name in (UNSCREENED, FLAT) or NAMES.get(name) in CPUEngine.kernels


def new_row(part: str, name: str, seed: int, **values: Any) -> Row:
    """Return a row with all columns, None where there is nothing to say.

    >>> row = new_row("K", "VB", 0, n_topics=25)
    >>> row["compiled"], row["n_topics"], row["stated_storage"], row["lpp"]
    (True, 25, 'K n', None)
    """
    time, storage = STATED.get(name, (None, None))
    known = {
        "part": part,
        "method": name,
        "compiled": is_compiled(name),
        "seed": seed,
        "stated_time": time,
        "stated_storage": storage,
    }
    return dict.fromkeys(COLUMNS) | known | values


def too_many_programs(n_topics: int, vocabulary: int) -> bool:
    """Say whether inverting so many topics, as TLI does, would take minutes.

    >>> too_many_programs(100, 2000), too_many_programs(100, 5000)
    (False, True)
    """
    return n_topics**3 * vocabulary > MOST_PROGRAMS


@contextmanager
def one_thread() -> Iterator[None]:
    """Give NumPy's linear algebra the one thread that kernels have, and let TLI fail in silence."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", TLIWarning)
        yield


def best_seconds(
    work: Mapping[Key, tuple[Method, Batch]], repeats: int, seed: int, report: Report
) -> dict[Key, tuple[float, Solution]]:
    """Return the least seconds of each piece of work, and the mixtures it found.

    The pieces take turns, so that whatever else the machine does hits all alike. It only ever adds
    time: the least of the repeats is the best guess. More than five seconds are not repeated. One
    document goes before and does not count. All have one thread, none computes certificates, and
    it is the processor's time that counts, where that is known well enough.
    """
    engine = CPUEngine()
    found: dict[Key, tuple[float, Solution]] = {}
    with one_thread():
        for method, batch in work.values():
            method.solve(first_documents(batch, 1), seed, engine, 1, ONLY_THETA)
        for number in range(repeats):
            for key, (method, batch) in work.items():
                before = found[key][0] if key in found else np.inf
                if number and before > LONG:
                    continue
                started = CLOCK()
                solution = method.solve(batch, seed, engine, 1, ONLY_THETA)
                found[key] = min(before, CLOCK() - started), solution
            report((number + 1) / repeats)
    return found


def seconds_to_invert(topics: Topics) -> float | None:
    """Return how long TLI's inverse of the topics takes, None where it has been found before.

    TLI remembers it: what it infers afterwards does not take that time.
    """
    remembered = list(_inverses.values())
    started = CLOCK()
    inverse = cached_inverse(topics.components.T, TLI().delta)
    seconds = CLOCK() - started
    return None if any(inverse is known for known in remembered) else seconds


def first_documents(batch: Batch, n_docs: int) -> Batch:
    """Return the first documents of a batch."""
    indptr = batch.indptr[: n_docs + 1]
    end = int(indptr[-1])
    return replace(batch, indptr=indptr, words=batch.words[:end], counts=batch.counts[:end])
