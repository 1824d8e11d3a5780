"""A learner's parameters, resolved and checked when they are used."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import number, whole
from opelda.engines import Engine, get_engine
from opelda.engines._weights import Prior
from opelda.errors import InputError
from opelda.inference import EM, Method
from opelda.inference._infer import as_method, as_prior
from opelda.learning._rules import Rule
from opelda.learning._schedule import Schedule
from opelda.learning._state import State
from opelda.learning._update import Updater


class Parameters:
    """The parameters that all learners have, and the objects that they stand for."""

    n_components: int
    doc_topic_prior: Any
    topic_word_prior: Any
    batch_size: int | None
    learning_decay: float | None
    learning_offset: float | None
    n_passes: int | None
    population: float | None = None  # of those with the Online rule
    transform_method: Any
    engine: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    callbacks: Any

    _state: State

    def _inference(self) -> Method:
        """Return the method that mixtures are inferred with while learning."""
        raise NotImplementedError

    def _learns_by_ope(self) -> bool:
        raise NotImplementedError

    def _rule(self) -> Rule:
        raise NotImplementedError

    def _transform_method(self) -> Method:
        """Return the method that mixtures are inferred with once the topics are learned."""
        given = self.transform_method
        if given is None and self._learns_by_ope():
            return EM()
        if given is None or (isinstance(given, str) and given == "same"):
            return self._inference()
        return as_method(given, "transform_method")

    def _schedule(self, n_docs: int | None = None) -> Schedule:
        """Return the settings, checked, for a collection of so many documents or a stream."""
        raise NotImplementedError

    def _word_prior(self) -> Any:
        """Return eta as the user gave it, or what stands in for it."""
        return self.topic_word_prior

    def _population(self, n_docs: float) -> float:
        """D of the Online rule: the documents there are, unless the user says otherwise."""
        return n_docs if self.population is None else float(self.population)

    def _engine(self) -> Engine:
        """Return the engine of the parameters; the topics learned so far move to it."""
        engine: Engine = get_engine(self.engine, self.n_jobs)
        state: State | None = getattr(self, "_state", None)
        if state is not None and state.weights.owner != engine.name:
            state.weights = engine.weights(state.weights.host())
        return engine

    def _updater(self, certify: bool = False, n_topics: int | None = None) -> Updater:
        """Gather the parameters, checked, for a model of so many topics or as many as it has."""
        if n_topics is None and hasattr(self, "_state"):
            n_topics = self._state.weights.n_topics  # n_components may have been set since
        n_topics = n_topics or whole("n_components", self.n_components)
        method, schedule = self._inference(), self._schedule()
        for used in (method, self._transform_method()):
            used.check()
            used.check_for(n_topics)
        if self.population is not None:
            number("population", self.population, 1.0, 1e15)
        return Updater(
            method=method,
            rule=self._rule(),
            alpha=as_prior(self.doc_topic_prior, n_topics),
            decay=schedule.decay,
            offset=schedule.offset,
            engine=self._engine(),
            certify=certify,
        )


def as_word_prior(value: Any, n_topics: int, n_words: int) -> Prior:
    """Return eta as weights hold it; None is 1/K.

    One number; one per word (V,); or one per topic and word (K, V), turned word-major.
    """
    if value is None:
        return 1.0 / n_topics
    try:
        prior = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"must be numbers: {error}.", "topic_word_prior") from None
    if prior.ndim > 0 and prior.shape not in ((n_words,), (n_topics, n_words)):
        raise InputError(
            f"must be a number, one number per word ({n_words}) or a matrix of topics x words "
            f"({n_topics} x {n_words}), got shape {prior.shape}.",
            "topic_word_prior",
        )
    if not ((prior >= 1e-30) & (prior <= 1e6)).all():
        raise InputError("must be positive, from 1e-30 to 1e6.", "topic_word_prior")
    if prior.ndim == 0:
        return float(prior)
    if prior.ndim == 1:
        return prior.astype(np.float32)
    rows: NDArray[np.float32] = np.ascontiguousarray(prior.T, np.float32)
    return rows
