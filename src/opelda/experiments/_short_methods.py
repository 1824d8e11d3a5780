"""What is measured on short texts: methods in online learning, and with given topics."""

from collections.abc import Sequence
from typing import Any

from opelda.experiments._data import Data
from opelda.experiments._experiment import Report, Row, Rows
from opelda.experiments._learning import (
    NO_TOPICS,
    learned,
    new_learner,
    predicted,
    word_frequencies,
)
from opelda.experiments._methods.measuring import Problem, best_seconds
from opelda.experiments._settings import Settings
from opelda.inference import CGS, OPE, VB, Method, Topics, infer
from opelda.inference._infer import as_prior
from opelda.learning import TopicModel
from opelda.metrics import effective_topics, mixture_sparsity

# a method's name and, for BOPE, its p
Tried = tuple[str, float | None]

PARTS = ("learning", "inference")
COLUMNS = (
    "part",
    "method",
    "p",
    "seed",
    "tokens_per_document",
    "documents",
    "seconds",
    "seconds_per_document",
    "lpp",
    "lpp_error",
    "lpp_micro",
    "npmi",
    "incoherent",
    "effective_topics",
    "sparsity",
)
REPEATS = 7


def new_method(name: str, p: float | None, n_iter: int) -> Method:
    """Return a method by its name, with as many iterations as the others.

    Equal iterations are not equal work: BOPE makes two candidate steps in each, of which it keeps
    the better, and so does more than OPE.

    >>> method = new_method("BOPE", 0.9, 50)
    >>> method.get_params()["variant"], method.get_params()["p"]
    ('bope', 0.9)
    """
    if name == "BOPE" and p is not None:
        return OPE(n_iter=n_iter, variant="bope", p=p)
    if name == "CGS":
        return CGS(burn_in=n_iter // 2, n_samples=n_iter - n_iter // 2)
    return VB(n_iter=n_iter) if name == "VB" else OPE(n_iter=n_iter)


def learn_with(
    data: Data, settings: Settings, report: Report, *, method: str, p: float | None, seed: int
) -> Rows:
    """Learn online with a method; `scoring` of the settings infers the test documents for all."""
    model = TopicModel(
        settings.n_topics,
        preset="paper",
        inference=new_method(method, p, settings.n_iter),
        learning="online",
        doc_topic_prior=settings.doc_topic_prior,
        topic_word_prior=settings.topic_word_prior,
        batch_size=settings.batch_size,
        learning_decay=settings.learning_decay,
        learning_offset=settings.learning_offset,
        n_passes=settings.n_passes,
        n_jobs=settings.n_jobs,
        random_state=seed,
    )
    end = learned(model, data, settings, report)
    return [_row(data, part="learning", method=method, p=p, seed=seed, **end)]


def infer_with(
    data: Data, settings: Settings, report: Report, *, methods: Sequence[Tried], seed: int
) -> Rows:
    """Infer the test documents with each method, given the topics of Online-OPE.

    Times are of inference alone, on one thread: the least of several turns, in each of which every
    method has its own.
    """
    model = new_learner("Online-OPE", settings, seed).fit(data.train)
    topics = Topics(model.components_)
    alpha = as_prior(settings.doc_topic_prior, settings.n_topics)
    solvers = [new_method(name, p, settings.n_iter) for name, p in methods]
    problem = Problem(topics, data.test, settings.doc_topic_prior)
    work = {number: (solver, problem) for number, solver in enumerate(solvers)}
    times = best_seconds(work, REPEATS, seed, lambda share: report(share / 2))
    rows = []
    for number, (name, p) in enumerate(methods):
        report((1 + number / len(methods)) / 2)
        how: dict[str, Any] = {
            "doc_topic_prior": alpha,
            "method": solvers[number],
            "random_state": seed,
            "n_jobs": settings.n_jobs,
        }
        theta = infer(data.test, topics, **how).theta
        found = {
            "documents": data.test.shape[0],
            "seconds": times[number][0],
            "effective_topics": float(effective_topics(theta).mean()),
            "sparsity": float(mixture_sparsity(theta).mean()),
            **predicted(topics, data, **how),
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
    values["tokens_per_document"] = float(data.train.sum() / data.train.shape[0])
    return {column: values.get(column) for column in COLUMNS}
