"""The paper's learners: how good their topics are as they see more documents."""

from collections.abc import Callable, Iterable
from math import isfinite
from typing import Any

import numpy as np

from opelda import TopicModel
from opelda.inference import Topics
from opelda.learning import LEARNERS, Online
from opelda.learning.callbacks import BatchReport
from opelda.metrics import coherence, predict_held_out
from reproduction.data import Data
from reproduction.experiment import Report
from reproduction.rows import Row, Rows
from reproduction.settings import Settings

# the paper's names of seven learners, and of two that it does not distinguish
NAMES: dict[str, tuple[str, dict[str, Any]]] = {
    "ML-OPE": ("MLOPE", {}),
    "Online-OPE": ("OnlineOPE", {}),
    "Streaming-OPE": ("StreamingOPE", {}),
    "Online-CGS": ("OnlineCGS", {}),
    "Online-CVB0": ("OnlineCVB0", {}),
    "Online-VB": ("OnlineVB", {}),
    "Streaming-VB": ("StreamingVB", {}),
    "Streaming-OPE, start kept": ("StreamingOPE", {"keep_start": True}),
    "Streaming-VB, start kept": ("StreamingVB", {"keep_start": True}),
}
SEVEN = tuple(NAMES)[:7]
NO_TOPICS = "no topics"
# documents that another learner learns from beforehand, untimed: the first call takes longer
WARM_UP = 100


def new_learner(name: str, settings: Settings, seed: int, **parameters: Any) -> Any:
    """Return a learner by the paper's name, with the experiment's settings.

    >>> new_learner("ML-OPE", Settings(), 0, n_iter=20)
    MLOPE(n_iter=20, n_jobs=-1, n_passes=5, random_state=0)
    """
    kind, more = NAMES[name]
    given = _shared(settings, seed) | {
        "learning_decay": settings.learning_decay,
        "learning_offset": settings.learning_offset,
        "n_iter": settings.n_iter,
    }
    return LEARNERS[kind](settings.n_topics, **(given | more | parameters))


def online_learner(method: Any, settings: Settings, seed: int, **parameters: Any) -> TopicModel:
    """Return the Online learner of any method, with the experiment's settings."""
    rule = Online(
        decay=settings.learning_decay,
        offset=settings.learning_offset,
        population=parameters.pop("population", None),
    )
    given = {"preset": "paper", "inference": method, "learning": rule}
    return TopicModel(settings.n_topics, **(given | _shared(settings, seed) | parameters))


def _shared(settings: Settings, seed: int) -> dict[str, Any]:
    return {
        "doc_topic_prior": settings.doc_topic_prior,
        "topic_word_prior": settings.topic_word_prior,
        "batch_size": settings.batch_size,
        "n_passes": settings.n_passes,
        "n_jobs": settings.n_jobs,
        "random_state": seed,
    }


def quality(topics: Any, data: Data, settings: Settings) -> Row:
    """Return the two measures of the paper, and the figures behind them."""
    scored = predicted(
        Topics(topics),
        data,
        doc_topic_prior=settings.doc_topic_prior,
        method=settings.scoring,
        random_state=settings.seed,
        n_jobs=settings.n_jobs,
    )
    npmi = coherence(topics, data.train, measure="npmi", n_words=settings.n_words)
    return {**scored, "npmi": float(npmi.mean()), "incoherent": int((npmi < 0).sum())}


def word_frequencies(data: Data, settings: Settings) -> Row:
    """Predict the same words for every document, by how often they occur: what topics must beat."""
    eta = settings.topic_word_prior or 1.0 / settings.n_topics
    words = np.asarray(data.train.sum(axis=0, dtype=np.float64)).ravel() + eta
    return predicted([words / words.sum()], data)


def predicted(topics: Any, data: Data, **options: Any) -> Row:
    """Return how well topics predict the test documents' held-out words."""
    found = predict_held_out(topics, data.splits, **options)
    error = found.standard_error  # infinite of a single document
    return {
        "lpp": found.macro,
        "lpp_error": error if isfinite(error) else None,
        "lpp_micro": found.micro,
    }


def learning_curve(
    data: Data,
    settings: Settings,
    report: Report,
    *,
    learner: str,
    seed: int,
    n_points: int = 16,
    **parameters: Any,
) -> Rows:
    """Learn, and look at the topics after given numbers of documents, outside the learning time.

    `n_points` looks are spread evenly over the logarithm of the documents seen, and one more falls
    on the end of every pass; with 1 there is only that at the very end. `parameters` are the
    learner's own and go before the settings.
    """
    rows: Rows = []
    model = new_learner(learner, settings, seed, **parameters)
    marks = looks(data.train.shape[0], model.batch_size, model.n_passes, n_points)

    def look(update: BatchReport, seconds: tuple[float, float]) -> None:
        if update.n_docs in marks:
            rows.append(
                {
                    "learner": learner,
                    "seed": seed,
                    **parameters,
                    "documents": update.n_docs,
                    "pass": update.n_pass,
                    "updates": update.n_updates,
                    "seconds": sum(seconds),
                    "inference_seconds": seconds[0],
                    **quality(update.model.components_, data, settings),
                }
            )

    new_learner(learner, settings, seed, **parameters).partial_fit(data.train[:WARM_UP])
    _fit(model, data, report, look)
    return rows


def learned(model: Any, data: Data, settings: Settings, report: Report) -> Row:
    """Learn, and look at the topics at the end alone."""
    total = [0.0, 0.0]

    def look(update: BatchReport, seconds: tuple[float, float]) -> None:
        total[:] = seconds

    _fit(model, data, report, look)
    return {
        "documents": data.train.shape[0] * model.n_passes,
        "updates": model.n_batch_iter_,
        "seconds": sum(total),
        **quality(model.components_, data, settings),
    }


def _fit(
    model: Any,
    data: Data,
    report: Report,
    look: Callable[[BatchReport, tuple[float, float]], None],
) -> None:
    """Learn; `look` gets every update with the seconds of inference and of updating so far."""
    seconds = np.zeros(2)

    def listen(update: BatchReport) -> None:
        seconds[:] += update.e_seconds, update.m_seconds
        look(update, (float(seconds[0]), float(seconds[1])))
        report(update.n_docs / (data.train.shape[0] * model.n_passes))

    listen.needs_gap = False  # type: ignore[attr-defined]  # and its time would count
    model.set_params(callbacks=listen).fit(data.train)


def looks(n_docs: int, batch_size: int, n_passes: int, n_points: int) -> set[int]:
    """Return after how many documents to look.

    >>> sorted(looks(1000, 100, 2, 4))
    [100, 300, 700, 1000, 2000]
    """
    last = n_docs * n_passes
    if n_points == 1:
        return {last}
    ends = np.array(list(_batch_ends(n_docs, batch_size, n_passes)))
    wanted = np.geomspace(min(batch_size, n_docs), last, n_points)
    nearest = np.abs(np.log(ends) - np.log(wanted)[:, None]).argmin(axis=1)
    return {int(end) for end in ends[nearest]} | {n_docs * n for n in range(1, n_passes + 1)}


def _batch_ends(n_docs: int, batch_size: int, n_passes: int) -> Iterable[int]:
    for done in range(n_passes):
        yield from (done * n_docs + end for end in range(batch_size, n_docs, batch_size))
        yield (done + 1) * n_docs
