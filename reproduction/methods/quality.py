"""Table 1's quality: how good the mixtures of the twelve methods are, by learned topics."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.inference import Inference, Method, Topics, infer
from opelda.metrics import effective_topics
from reproduction.data import Data
from reproduction.experiment import Report
from reproduction.learners import new_learner, predicted
from reproduction.methods.measuring import (
    FLAT,
    LEFT_OUT,
    MOST_PROGRAMS,
    NAMES,
    Problem,
    best_seconds,
    is_compiled,
    new_method,
    new_row,
    one_thread,
    seconds_to_invert,
    too_many_programs,
)
from reproduction.rows import Row, Rows
from reproduction.settings import Settings

LEAST_WORDS = 200  # a model of fewer is not informative


def quality_reached(
    data: Data, settings: Settings, report: Report, *, seed: int, documents: int, repeats: int
) -> Rows:
    """Infer test documents with every method, by topics that Online-OPE has learned in one pass.

    All have the same documents, evenly spread over those for testing. Where the vocabulary is too
    large for TLI there are also rows for a model of the most frequent words: the same topics and
    documents without all other words, for TLI and the methods with kernels. OPE is there a second
    time with a prior of 1. Times are of whole documents on one thread, the least of the repeats.
    """
    learner = new_learner("Online-OPE", settings, seed, n_passes=1)
    topics = np.asarray(learner.fit(data.train).components_, np.float64)
    n_test = data.test.shape[0]
    chosen = np.unique(np.linspace(0, n_test - 1, min(documents, n_test)).astype(int))
    splits = tuple((observed[chosen], held[chosen]) for observed, held in data.splits)
    some = replace(data, splits=splits)
    n_topics, n_words = topics.shape
    everything = not too_many_programs(n_topics, n_words)
    names = [name for name in NAMES if everything or name != "TLI"]
    share = 1.0 if everything else 0.7
    rows = _compare(names, topics, some, settings, seed, repeats, lambda done: report(share * done))
    if not everything:
        rows.append(new_row("quality", "TLI", seed, vocabulary=n_words, note=LEFT_OUT))
        frequent = frequent_words(data.train, MOST_PROGRAMS // n_topics**3)
        if len(frequent) >= LEAST_WORDS:
            rows += _compare(
                [*(name for name in names if is_compiled(name)), "TLI"],
                restricted(topics, frequent),
                replace(some, splits=tuple((a[:, frequent], b[:, frequent]) for a, b in splits)),
                settings,
                seed,
                repeats,
                lambda done: report(share + (1 - share) * done),
            )
    return [row | {"updates": learner.n_batch_iter_} for row in rows]


def frequent_words(counts: sparse.csr_array, n_words: int) -> NDArray[np.intp]:
    """Return the most frequent words, in the order of the vocabulary.

    >>> frequent_words(sparse.csr_array([[1, 0, 5], [1, 1, 0]]), 2)
    array([0, 2])
    """
    totals = np.asarray(counts.sum(axis=0)).ravel()
    return np.sort(np.argsort(-totals, kind="stable")[:n_words])


def restricted(topics: NDArray[np.float64], words: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the topics of some words alone.

    >>> restricted(np.array([[0.2, 0.2, 0.6]]), np.array([0, 2]))
    array([[0.25, 0.75]])
    """
    part = topics[:, words]
    shares: NDArray[np.float64] = part / part.sum(axis=1, keepdims=True)
    return shares


def _compare(
    names: list[str],
    topics: NDArray[np.float64],
    data: Data,
    settings: Settings,
    seed: int,
    repeats: int,
    report: Report,
) -> Rows:
    X = data.test
    table = Topics(topics)
    problem = Problem(table, X, settings.doc_topic_prior)
    flat = replace(problem, doc_topic_prior=1.0)
    work = {
        name: (new_method(name, settings), flat if name == FLAT else problem)
        for name in (*names, FLAT)
    }
    setup = seconds_to_invert(table) if "TLI" in names else None
    rows: Rows = []
    timed = best_seconds(work, repeats, seed, lambda share: report(share / 2))
    for name, (seconds, _) in timed.items():
        method, asked = work[name]
        options: dict[str, Any] = {
            "doc_topic_prior": asked.doc_topic_prior,
            "method": method,
            "random_state": seed,
            "n_jobs": settings.n_jobs,
        }
        with one_thread():
            found = infer(X, table, **options)
            scores = predicted(topics, data, **options)
        rows.append(
            new_row(
                "quality",
                name,
                seed,
                n_topics=table.n_topics,
                n_words=X.nnz / X.shape[0],
                n_tokens=float(found.n_tokens.mean()),
                vocabulary=table.n_words,
                documents=X.shape[0],
                iterations=float(found.n_iter.mean()),
                seconds_per_document=seconds / X.shape[0],
                seconds_per_iteration=seconds / max(int(found.n_iter.sum()), 1),
                setup_seconds=setup if name == "TLI" else None,
                **_certified(found),
                **scores,
                note=_complaint(method, problem, seed) if name == "TLI" else None,
            )
        )
        report(0.5 + 0.5 * len(rows) / len(work))
    return rows


def _certified(found: Inference) -> Row:
    return {
        "gap": float(found.gap.mean()),
        "likelihood_gap": float(found.likelihood_gap.mean()),
        "log_likelihood_per_token": float(found.log_likelihood.sum() / found.n_tokens.sum()),
        "effective_topics": float(effective_topics(found.theta).mean()),
    }


def _complaint(method: Method, problem: Problem, seed: int) -> str | None:
    """Return a method's warnings on these documents."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem.solve(method, seed)
    return str(caught[0].message) if caught else None
