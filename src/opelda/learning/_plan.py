"""The parameters of learners, and the plan that a call of `fit` or the like makes of them."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import flag, real_array, seed, whole
from opelda.engines import AN_INFERENCE, Engine, get_engine
from opelda.engines.seam import (
    Accuracy,
    Chosen,
    Documents,
    Prior,
    Rule,
    Step,
    Task,
    Updated,
    extended,
)
from opelda.errors import InputError
from opelda.inference import EM, OPE, Method, PerToken
from opelda.inference._infer import as_method, as_prior
from opelda.inference.exact import accuracy_of
from opelda.learning._listeners import Listeners
from opelda.learning._rules import CHECKS, Sampler
from opelda.learning._seeds import Pull, SeedTopics
from opelda.learning._state import State

FIRST_WORD_PRIOR = 0.05  # eta before closing sweeps that choose it
MOST_SWEPT_TOPICS = 2**16 - 1  # closing sweeps keep a token's topic in two bytes


@dataclass(frozen=True)
class Schedule:
    """The steps of learning: how large, how often, how it begins and ends."""

    batch_size: int
    decay: float  # kappa of rho_t = (t + tau)^-kappa
    offset: float  # tau
    population: float | None  # D; None: the number of documents
    n_passes: int
    n_sweeps: int  # of Gibbs sampling, after the passes
    init: str  # "random" or "documents", the start of `fit`

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Schedule":
        """Check the settings of a learner; a rule's own replace the preset's."""
        of_rule: dict[str, Any] = {}
        for name in ("decay", "offset", "population", "init"):
            own = getattr(settings["learning"], name, None)
            value = getattr(settings["default_rule"], name) if own is None else own
            of_rule[name] = value if value is None else CHECKS[name](name, value)
        return cls(
            batch_size=whole("batch_size", settings["batch_size"]),
            n_passes=whole("n_passes", settings["n_passes"]),
            n_sweeps=whole("n_sweeps", settings.get("n_sweeps", 0), 0),
            **of_rule,
        )


@dataclass(frozen=True)
class UpdateBatch:
    """Some documents of a collection, to be learned from in one update."""

    documents: Documents
    chosen: Chosen = None  # their numbers; None for all
    n_pass: int = 1
    is_new: bool = False  # they add to the documents that the topics stand for
    n_unknown_tokens: float = 0.0  # left out of them

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self.documents.n_docs if self.chosen is None else len(self.chosen)


@dataclass(frozen=True)
class Plan:
    """Everything that a call of `fit` or the like resolved and checked at its top."""

    n_topics: int
    method: Method
    rule: Rule | Sampler
    alpha: NDArray[np.float64]  # (K,)
    learns_prior: bool  # closing sweeps adapt alpha to the documents
    word_prior: Any  # eta as given: its shape is checked where the number of words is known
    learns_word_prior: bool  # closing sweeps choose eta
    schedule: Schedule
    engine: Engine
    seed: int
    listeners: Listeners
    seeds: SeedTopics | None = None  # words of the first topics

    def start(self, n_words: int, n_given: int = 0) -> State:
        """Draw the topics that learning begins with.

        A prior of one number per word is for the first `n_given` words of those.
        """
        prior = as_word_prior(self.word_prior, self.n_topics, n_given or n_words)
        prior = extended(prior, n_words)
        weights = self.engine.random_weights(n_words, self.n_topics, prior, self.seed)
        state = State(weights, self.seed)
        if self.seeds is not None:
            state.labels = dict(enumerate(self.seeds.names))
        return state

    def pull(self, state: State) -> Pull | None:
        """Return what seed words do, if there are columns of any."""
        seeds, n_words = self.seeds, state.weights.n_words
        if seeds is None:
            return None
        # (sweeps, where there are some, limit documents without seed words themselves)
        limits = not self.schedule.n_sweeps
        pull = replace(seeds.pull(state.vocabulary, n_words), limits=limits)
        return pull if len(pull.columns) else None

    def passes(self, documents: Documents) -> Iterator[UpdateBatch]:
        """Yield a collection's batches as often as the schedule says, shuffled anew each time."""
        size = self.schedule.batch_size
        for n_pass in range(1, self.schedule.n_passes + 1):
            order = documents.order(self.seed, n_pass)
            for first in range(0, documents.n_docs, size):
                yield UpdateBatch(documents, order[first : first + size], n_pass)

    def once(self, documents: Documents) -> Iterator[UpdateBatch]:
        """Yield new documents in their order."""
        numbers, size = np.arange(documents.n_docs), self.schedule.batch_size
        for first in range(0, documents.n_docs, size):
            yield UpdateBatch(documents, numbers[first : first + size], is_new=True)

    def update(self, state: State, batch: UpdateBatch) -> Updated | None:
        """Infer the documents' mixtures and update the topics; None where they hold no words."""
        t, schedule, rule = state.n_updates + 1, self.schedule, self.rule
        population = schedule.population
        if population is None:
            population = state.population + batch.n_docs * batch.is_new
        rho = float((t + schedule.offset) ** -schedule.decay) if rule.decays else 1.0
        engine, weights = self.engine, state.weights
        documents, chosen = batch.documents, batch.chosen
        task = Task(self.method, self.alpha, state.seed | t << 32)
        step = Step(t, rho, population, state.seed)
        made = weights.n_updates
        with state.lock.writing():
            pull = self.pull(state)
            try:
                if isinstance(rule, Sampler):
                    done = rule.update(engine, weights, documents, task, step, chosen=chosen)
                elif pull is not None:
                    done = pull.update(engine, weights, documents, task, rule, step, chosen)
                else:
                    certify = self.listeners.needs_gap
                    done = engine.update(
                        weights, documents, task, rule, step, chosen=chosen, certify=certify
                    )
            except BaseException:
                # Counters follow the weights: an update that was interrupted has changed neither
                # and can be made again; one interrupted when it was done has changed both.
                if weights.n_updates > made:
                    self.count(state, batch, 1)
                raise
            self.count(state, batch, done is not None)
        return done

    @staticmethod
    def count(state: State, batch: UpdateBatch, n_updates: int) -> None:
        """Count the documents of a batch, and the updates that were made of it."""
        state.update(state.changed("learned"))
        state.n_docs_seen += batch.n_docs
        state.population += batch.n_docs * batch.is_new
        state.n_unknown_tokens += batch.n_unknown_tokens
        state.n_updates += n_updates


@dataclass(eq=False, repr=False)
class Parameters:
    """The parameters that all learners have, and the objects that they stand for."""

    n_components: int = 100
    _: KW_ONLY
    doc_topic_prior: Any = None
    topic_word_prior: Any = None
    transform_method: str | Method | None = None
    max_loss: float | PerToken | None = None
    sparse_output: bool = False
    engine: Any = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    callbacks: Any = None
    n_runs = 1  # a parameter of `TopicModel` alone

    def _settings(self, n_docs: int | None = None) -> dict[str, Any]:
        """Return every parameter's value for so many documents, or for a stream.

        "inference" and "learning" are objects; "default_rule" has what the rule leaves out.
        """
        raise NotImplementedError

    def _inference(self) -> Method:
        """Return the method that mixtures are inferred with while learning."""
        method: Method = self._settings()["inference"]
        return method

    def _schedule(self, n_docs: int | None = None) -> Schedule:
        """Return the settings, checked, for a collection of so many documents or a stream."""
        return Schedule.of(self._settings(n_docs))

    def _transform_method(self) -> Method:
        """Return the method that mixtures are inferred with once the topics are learned."""
        given = self.transform_method
        if given is not None and not (isinstance(given, str) and given == "same"):
            return as_method(given, "transform_method")
        learned_by = vars(self).get("inference", getattr(self, "_method", None))
        by_ope = learned_by in (None, "ope", OPE) or isinstance(learned_by, OPE)
        return EM() if given is None and by_ope else self._inference()

    def _accuracy(self) -> Accuracy | None:
        """Return what mixtures may lose at the most once the topics are learned."""
        return accuracy_of(self.max_loss)

    def _seed_topics(self, n_topics: int) -> SeedTopics | None:
        """Return the words that topics begin with, checked."""
        return SeedTopics.of(getattr(self, "seeds", None), n_topics)

    def _engine(
        self, n_entries: int = 0, n_sweeps: float = AN_INFERENCE, *, anew: bool = False
    ) -> Engine:
        """Return the engine of the parameters for so much work; the topics move to it.

        Where work decides, those on a device stay there, unless others are learned `anew`.
        """
        state: State | None = getattr(self, "_state", None)
        weights = None if anew or state is None else state.weights
        engine: Engine = get_engine(self.engine, self.n_jobs, n_entries * n_sweeps, weights)
        if state is not None and not engine.keeps(state.weights):
            state.weights = engine.weights(state.weights.host())
        return engine

    def _plan(self, state: State | None = None, *, listen: bool = True) -> Plan:
        """Resolve and check the parameters, to learn topics anew or to go on with a state."""
        settings = self._settings()
        schedule, method = Schedule.of(settings), settings["inference"]
        n_topics = whole("n_components", self.n_components)
        if state is not None:
            self._check_topics(state)
        elif schedule.n_sweeps and n_topics > MOST_SWEPT_TOPICS:
            raise InputError(
                f"must be 0 for more than {MOST_SWEPT_TOPICS} topics, and there are {n_topics}.",
                "n_sweeps",
            )
        for used in (method, self._transform_method()):
            used.check()
            used.check_for(n_topics)
        self._accuracy()
        whole("n_runs", self.n_runs)
        flag("sparse_output", self.sparse_output)
        word_prior = settings["topic_word_prior"]
        learns_word_prior = word_prior is None and schedule.n_sweeps > 0
        if np.ndim(word_prior) == 0:
            as_word_prior(word_prior, n_topics, 1)
        # A generator is drawn from only where topics begin; a number is checked every time.
        if isinstance(self.random_state, np.random.RandomState | np.random.Generator) and state:
            drawn = state.seed
        else:
            drawn = seed(self.random_state)
        return Plan(
            n_topics=n_topics,
            method=method,
            rule=settings["learning"],
            alpha=as_prior(self.doc_topic_prior, n_topics),
            learns_prior=self.doc_topic_prior is None,
            word_prior=FIRST_WORD_PRIOR if learns_word_prior else word_prior,
            learns_word_prior=learns_word_prior,
            schedule=schedule,
            engine=self._engine(),
            seed=drawn if state is None else state.seed,
            listeners=Listeners(self.callbacks, self.verbose) if listen else Listeners(),
            seeds=self._seed_topics(n_topics),
        )

    def _check_one_run(self) -> None:
        """Reject several runs of documents that come once."""
        if self.n_runs != 1:
            raise InputError(
                f"is {self.n_runs}, but documents that come bit by bit are learned from in one "
                "run; leave it out, or give all of them to fit.",
                "n_runs",
            )

    def _check_topics(self, state: State) -> None:
        """Reject a number of topics that was changed after they were learned."""
        n_topics = state.weights.n_topics
        if self.n_components != n_topics:
            raise InputError(
                f"is {self.n_components}, but the model has learned {n_topics} topics; set it back "
                "or learn anew with fit.",
                "n_components",
            )


def as_word_prior(value: Any, n_topics: int, n_words: int) -> Prior:
    """Return eta as weights hold it; None is 1/K.

    One number; one per word (V,); or one per topic and word (K, V), transposed.
    """
    if value is None:
        return 1.0 / n_topics
    prior = real_array("topic_word_prior", value)
    if prior.ndim > 0 and prior.shape not in ((n_words,), (n_topics, n_words)):
        raise InputError(
            f"must be a number, one number per word ({n_words}) or a matrix of topics x words "
            f"({n_topics} x {n_words}), got shape {prior.shape}.",
            "topic_word_prior",
        )
    if not ((prior >= 1e-30) & (prior <= 1e6)).all():
        raise InputError("must be positive, from 1e-30 to 1e6.", "topic_word_prior")
    return float(prior) if prior.ndim == 0 else np.ascontiguousarray(prior.T, np.float32)
