"""Table 1's quality: how good the mixtures of the twelve methods are, by learned topics."""

import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.experiments._data import Data, Split
from opelda.experiments._experiment import Report, Row, Rows
from opelda.experiments._learning import new_learner
from opelda.experiments._methods.measuring import (
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
from opelda.experiments._settings import Settings
from opelda.inference import Inference, Method, Topics
from opelda.metrics import predict_held_out

LEAST_WORDS = 200  # a model of fewer would say nothing


def quality_reached(
    data: Data, settings: Settings, report: Report, *, seed: int, documents: int, repeats: int
) -> Rows:
    """Infer test documents with every method, by topics that Online-OPE has learned in one pass.

    All have the same documents, evenly spread over those for testing. Where the vocabulary is too
    large for TLI there are rows for a model of its most frequent words, too: the same topics and
    documents without all other words, for TLI and the methods with kernels. OPE is there a second
    time with a prior of 1; gaps are all with respect to the settings' prior. Times are of whole
    documents on one thread, the least of the repeats.
    """
    learner = new_learner("Online-OPE", settings, seed, n_passes=1)
    topics = np.asarray(learner.fit(data.train).components_, np.float64)
    n_test = data.test.shape[0]
    chosen = np.unique(np.linspace(0, n_test - 1, min(documents, n_test)).astype(int))
    splits = tuple((observed[chosen], held[chosen]) for observed, held in data.splits)
    n_topics, n_words = topics.shape
    if not too_many_programs(n_topics, n_words):
        return _compare(list(NAMES), topics, splits, settings, seed, repeats, report)

    def most(share: float) -> None:
        report(0.7 * share)

    def rest(share: float) -> None:
        report(0.7 + 0.3 * share)

    others = [name for name in NAMES if name != "TLI"]
    rows = _compare(others, topics, splits, settings, seed, repeats, most)
    rows.append(new_row("quality", "TLI", seed, vocabulary=n_words, note=LEFT_OUT))
    frequent = frequent_words(data.train, MOST_PROGRAMS // n_topics**3)
    if len(frequent) >= LEAST_WORDS:
        few = [name for name in others if is_compiled(name)]
        rows += _compare(
            [*few, "TLI"],
            restricted(topics, frequent),
            tuple((observed[:, frequent], held[:, frequent]) for observed, held in splits),
            settings,
            seed,
            repeats,
            rest,
        )
    return rows


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
    splits: tuple[Split, ...],
    settings: Settings,
    seed: int,
    repeats: int,
    report: Report,
) -> Rows:
    X = sparse.csr_array(splits[0][0] + splits[0][1])
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
    for name, (seconds, solution) in timed.items():
        method, asked = work[name]
        prior = 1.0 if name == FLAT else settings.doc_topic_prior
        found = asked.certified(solution, method)
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
                **_predicted(splits, topics, method, prior, settings, seed),
                note=_complaint(method, problem, seed) if name == "TLI" else None,
            )
        )
        report(0.5 + 0.5 * len(rows) / len(work))
    return rows


def _certified(found: Inference) -> Row:
    theta = found.theta.astype(np.float64)
    entropy = -(theta * np.log(np.maximum(theta, 1e-300))).sum(axis=1)
    return {
        "gap": float(found.gap.mean()),
        "likelihood_gap": float(found.likelihood_gap.mean()),
        "log_likelihood_per_token": float(found.log_likelihood.sum() / found.n_tokens.sum()),
        "effective_topics": float(np.exp(entropy).mean()),
    }


def _predicted(
    splits: tuple[Split, ...],
    topics: NDArray[np.float64],
    method: Method,
    prior: float | None,
    settings: Settings,
    seed: int,
) -> Row:
    with one_thread():
        found = predict_held_out(
            topics,
            splits,
            doc_topic_prior=prior,
            method=method,
            random_state=seed,
            n_jobs=settings.n_jobs,
        )
    error = found.standard_error
    return {
        "lpp": found.macro,
        "lpp_error": error if np.isfinite(error) else None,
        "lpp_micro": found.micro,
    }


def _complaint(method: Method, problem: Problem, seed: int) -> str | None:
    """Return what a method warns of on these documents."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem.solve(method, seed)
    return str(caught[0].message) if caught else None
