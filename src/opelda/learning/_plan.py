"""The parameters of learners, and the validated plan of a call of `fit` and other methods."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import flag, real_array, seed, whole
from opelda.engines import AN_INFERENCE, Engine, get_engine, seam
from opelda.errors import InputError
from opelda.inference import EM, OPE, Method, PerToken
from opelda.inference._infer import as_method, as_prior
from opelda.inference.exact import accuracy_of
from opelda.learning._listeners import Listeners
from opelda.learning._prevalence import Levels, Prevalence
from opelda.learning._rules import CHECKS, Updater
from opelda.learning._seeds import Pull, SeedTopics
from opelda.learning._space import Space
from opelda.learning._state import State

FIRST_WORD_PRIOR = 0.05  # eta before closing sweeps that learn it
MOST_SWEPT_TOPICS = 2**16 - 1  # sweeps store a token's topic in two bytes


@dataclass(frozen=True)
class Schedule:
    """Sizes and numbers of the steps of learning, and its start."""

    batch_size: int
    decay: float  # kappa of rho_t = (t + tau)^-kappa
    offset: float  # tau
    population: float | None  # D; None: the number of documents
    n_passes: int
    n_sweeps: int  # of Gibbs sampling, after the passes
    init: str  # "random" or "documents", the start of `fit`

    @classmethod
    def of(cls, settings: dict[str, Any]) -> "Schedule":
        """Validate the settings of a learner; a rule's parameters override the preset's."""
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
    """The documents of an update."""

    documents: seam.Documents
    chosen: seam.Chosen = None  # their numbers; None for all documents
    n_pass: int = 1
    is_new: bool = False  # they add to the population
    n_unknown_tokens: float = 0.0
    levels: Levels | None = None

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return self.documents.n_docs if self.chosen is None else len(self.chosen)


@dataclass(frozen=True)
class Plan:
    """The validated parameters of a call of `fit`, `partial_fit` or `fit_stream`."""

    n_topics: int
    method: Method
    rule: seam.Rule | Updater
    alpha: NDArray[np.float64]  # (K,)
    learns_prior: bool  # closing sweeps adapt alpha
    word_prior: Any  # the given eta, whose shape depends on the number of words
    learns_word_prior: bool  # closing sweeps learn eta
    schedule: Schedule
    engine: Engine
    seed: int
    listeners: Listeners
    seeds: SeedTopics | None = None
    space: Space | None = None  # whose clusters topics start from; None: of the documents' words
    prevalence: Prevalence | None = None  # of a new stream

    def start(self, n_words: int, n_given: int = 0) -> State:
        """Draw random topics; an eta per word covers the first `n_given` words, if given."""
        prior = as_word_prior(self.word_prior, self.n_topics, n_given or n_words)
        prior = seam.extended(prior, n_words)
        weights = self.engine.random_weights(n_words, self.n_topics, prior, self.seed)
        state = State(weights, self.seed, prevalence=self.prevalence)
        if self.seeds is not None:
            state.labels = dict(enumerate(self.seeds.words))
        return state

    def pull(self, state: State) -> Pull | None:
        """Return the weights of seed words, if any of them has a column."""
        if self.seeds is None:
            return None
        # (sweeps limit documents without seed words by `Anchors`)
        limits = not self.schedule.n_sweeps
        pull = self.seeds.pull(state.vocabulary, state.weights.n_words)
        return replace(pull, limits=limits) if len(pull.columns) else None

    def passes(self, documents: seam.Documents, *, new: bool = False) -> Iterator[UpdateBatch]:
        """Yield the batches of all passes, each in its own order; new documents once, in order."""
        size = self.schedule.batch_size
        for n_pass in range(1, 2 if new else self.schedule.n_passes + 1):
            order = np.arange(documents.n_docs) if new else documents.order(self.seed, n_pass)
            for first in range(0, documents.n_docs, size):
                yield UpdateBatch(documents, order[first : first + size], n_pass, is_new=new)

    def update(self, state: State, batch: UpdateBatch) -> seam.Updated | None:
        """Infer the mixtures of a batch and update the topics; return None for no words."""
        t, schedule, rule = state.n_updates + 1, self.schedule, self.rule
        population = schedule.population
        if population is None:
            population = state.population + batch.n_docs * batch.is_new
        rho = float((t + schedule.offset) ** -schedule.decay) if rule.decays else 1.0
        engine, weights = self.engine, state.weights
        documents, chosen = batch.documents, batch.chosen
        task = seam.Task(self.method, self.alpha, state.seed | t << 32)
        step = seam.Step(t, rho, population, state.seed)
        before = weights.n_updates
        with state.lock.writing():
            pull = self.pull(state)
            try:
                if isinstance(rule, Updater):
                    done = rule.update(engine, weights, documents, task, step, chosen=chosen)
                elif pull is not None:
                    done = pull.update(engine, weights, documents, task, rule, step, chosen)
                else:
                    certify = self.listeners.needs_gap
                    done = engine.update(
                        weights, documents, task, rule, step, chosen=chosen, certify=certify
                    )
            except BaseException:
                # Counters and weights agree: an interrupted update changed neither of the two and
                # can be repeated; an update interrupted after its end changed both.
                if weights.n_updates > before:
                    self.count(state, batch, 1)
                raise
            self.count(state, batch, done is not None)
        return done

    @staticmethod
    def count(state: State, batch: UpdateBatch, n_updates: int) -> None:
        """Count the documents and the updates of a batch."""
        state.update(state.changed("learned"))
        state.n_docs_seen += batch.n_docs
        state.population += batch.n_docs * batch.is_new
        state.n_unknown_tokens += batch.n_unknown_tokens
        state.n_updates += n_updates


@dataclass(eq=False, repr=False)
class Parameters:
    """The parameters of all learners, and the objects that they specify."""

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
    n_runs = 1  # a parameter of `TopicModel` only

    def _settings(self, n_docs: int | None = None) -> dict[str, Any]:
        """Return every parameter's value for a number of documents; None is a stream.

        "inference" and "learning" are objects; "default_rule" has the defaults of the rule.
        """
        raise NotImplementedError

    def _schedule(self, n_docs: int | None = None) -> Schedule:
        """Return the validated schedule for a number of documents; None is a stream."""
        return Schedule.of(self._settings(n_docs))

    def _transform_method(self) -> Method:
        """Return the inference method of `transform`."""
        given = self.transform_method
        if given is not None and not (isinstance(given, str) and given == "same"):
            return as_method(given, "transform_method")
        learned_by = vars(self).get("inference", getattr(self, "_method", None))
        by_ope = learned_by in (None, "ope", OPE) or isinstance(learned_by, OPE)
        method: Method = EM() if given is None and by_ope else self._settings()["inference"]
        return method

    def _accuracy(self) -> seam.Accuracy | None:
        """Return the required accuracy of `transform`."""
        return accuracy_of(self.max_loss)

    def _seed_topics(self, n_topics: int) -> SeedTopics | None:
        """Return the validated seed words."""
        return SeedTopics.of(getattr(self, "seeds", None), n_topics)

    def _engine(
        self, n_entries: int = 0, n_sweeps: float = AN_INFERENCE, *, anew: bool = False
    ) -> Engine:
        """Return the engine for an amount of work, and move the topics to it.

        Where the amount decides, topics on a device stay there unless `fit` starts `anew`.
        """
        state: State | None = getattr(self, "_state", None)
        weights = None if anew or state is None else state.weights
        engine: Engine = get_engine(self.engine, self.n_jobs, n_entries * n_sweeps, weights)
        if state is not None and not engine.keeps(state.weights):
            state.weights = engine.weights(state.weights.host())
        return engine

    def _plan(self, state: State | None = None, *, listen: bool = True) -> Plan:
        """Validate the parameters, for new topics or for the topics of a state."""
        settings = self._settings()
        schedule, method = Schedule.of(settings), settings["inference"]
        n_topics = whole("n_components", self.n_components)
        if state is not None:
            self._check_topics(state)
        elif schedule.n_sweeps and n_topics > MOST_SWEPT_TOPICS:
            raise InputError(
                f"must be 0 for more than {MOST_SWEPT_TOPICS} topics, but the model has "
                f"{n_topics}.",
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
        # A generator is used only for new topics; a number is validated every time.
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
        """Raise `InputError` for several runs over a stream."""
        if self.n_runs != 1:
            raise InputError(
                f"is {self.n_runs}, but partial_fit and fit_stream support one run only; set it "
                "to 1, or pass all documents to fit.",
                "n_runs",
            )

    def _check_topics(self, state: State) -> None:
        """Raise `InputError` if `n_components` is not the number of learned topics."""
        n_topics = state.weights.n_topics
        if self.n_components != n_topics:
            raise InputError(
                f"is {self.n_components}, but the model has {n_topics} topics; set it to "
                f"{n_topics} or fit again.",
                "n_components",
            )


def as_word_prior(value: Any, n_topics: int, n_words: int) -> seam.Prior:
    """Return eta in the form of weights: a number, (V,) or transposed (V, K); None is 1/K."""
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
