"""Measurements on short texts: methods in online learning, and with given topics."""

from collections.abc import Sequence
from typing import Any

from opelda.inference import Topics, infer
from opelda.metrics import effective_topics
from reproduction.data import Data
from reproduction.experiment import Report
from reproduction.learners import (
    NO_TOPICS,
    learned,
    new_learner,
    online_learner,
    predicted,
    word_frequencies,
)
from reproduction.methods.measuring import Problem, best_seconds, new_method
from reproduction.rows import Row, Rows
from reproduction.settings import Settings

# a method's name and, for BOPE, its p
Tried = tuple[str, float | None]

PARTS = ("learning", "inference")
REPEATS = 7


def learn_with(
    data: Data, settings: Settings, report: Report, *, method: str, p: float | None, seed: int
) -> Rows:
    """Learn online with a method; `scoring` of the settings infers the test documents for all."""
    model = online_learner(new_method(method, settings, p), settings, seed)
    end = learned(model, data, settings, report)
    return [_row(data, part="learning", method=method, p=p, seed=seed, **end)]


def infer_with(
    data: Data, settings: Settings, report: Report, *, methods: Sequence[Tried], seed: int
) -> Rows:
    """Infer the test documents with each method, given the topics of Online-OPE.

    Equal iterations are not equal work: BOPE makes two candidate steps in each and keeps
    the better.

    Times are of inference alone, on one thread: the least of several turns; in each turn every
    method has its own.
    """
    model = new_learner("Online-OPE", settings, seed).fit(data.train)
    topics = Topics(model.components_)
    solvers = [new_method(name, settings, p) for name, p in methods]
    problem = Problem(topics, data.test, settings.doc_topic_prior)
    work = {number: (solver, problem) for number, solver in enumerate(solvers)}
    times = best_seconds(work, REPEATS, seed, lambda share: report(share / 2))
    rows = []
    for number, (name, p) in enumerate(methods):
        report((1 + number / len(methods)) / 2)
        options: dict[str, Any] = {
            "doc_topic_prior": settings.doc_topic_prior,
            "method": solvers[number],
            "random_state": seed,
            "n_jobs": settings.n_jobs,
        }
        theta = infer(data.test, topics, **options).theta
        found = {
            "documents": data.test.shape[0],
            "updates": model.n_batch_iter_,
            "seconds": times[number][0],
            "effective_topics": float(effective_topics(theta).mean()),
            "sparsity": float((theta < 0.01).mean()),
            **predicted(topics, data, **options),
        }
        rows.append(_row(data, part="inference", method=name, p=p, seed=seed, **found))
    return rows


def no_topics(data: Data, settings: Settings, report: Report) -> Rows:
    """Predict the same words for every document, by how often they occur."""
    found = word_frequencies(data, settings)
    return [_row(data, part=part, method=NO_TOPICS, seed=settings.seed, **found) for part in PARTS]


def _row(data: Data, **values: Any) -> Row:
    if "seconds" in values:
        values["seconds_per_document"] = values["seconds"] / values["documents"]
    return values | {"tokens_per_document": float(data.train.sum() / data.train.shape[0])}
