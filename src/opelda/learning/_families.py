"""The parameters of the paper's learners: the same for all, and one more for two of the rules."""

from typing import Any, ClassVar

from opelda._validation import flag, whole
from opelda.inference import CGS, CVB0, OPE, Method
from opelda.learning._learner import Learner
from opelda.learning._rules import ML, Online, Rule, Streaming
from opelda.learning._schedule import Schedule

PARAMETERS = """
    Parameters
    ----------
    n_components : int
        K, the number of topics.
    doc_topic_prior : number, vector (K,) or None
        alpha, the Dirichlet prior of a document's mixture; None is 1/K.
    topic_word_prior : number, vector (V,), matrix (K, V) or None
        eta, the Dirichlet prior of a topic's words; None is 1/K.
    batch_size : int
        S, documents per update.
    learning_decay, learning_offset : float
        kappa and tau: update t moves the topics by (t + tau)^-kappa.
    n_iter : int
        Iterations of inference per document; OPE's T.
    n_passes : int
        How often `fit` goes through the collection, shuffled anew each time.
    transform_method : str, Method or None
        How `transform` infers mixtures: the name of a method, a method object, or "same" as while
        learning. None: the same, but EM in the place of OPE, for its mixtures predict unseen words
        better and cost less.
    engine : str or Engine
        Where it runs: "cpu", "reference" (slow, plain NumPy), or an engine made with its resources.
    n_jobs : int or None
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    random_state : int, RandomState, Generator or None
    verbose : int
        0: silent. 1: a progress bar, or a line now and then where there is no terminal. 2: a line
        per update.
    callbacks : callable, list of callables or None
        Called with a `BatchReport` after every update; learning stops when one returns True."""

ATTRIBUTES = """

    Attributes
    ----------
    components_ : float32 array (K, V)
        The topics; rows sum to 1.
    n_batch_iter_, n_docs_seen_ : int
        Updates made, and documents learned from.
    n_features_in_ : int
        V.
    n_unknown_tokens_ : float
        Tokens met in streams whose words have no column."""


class PaperLearner(Learner):
    """An inference method of the paper, by class, and an update rule."""

    _method: ClassVar[type[Method]]
    n_iter: int

    def _inference(self) -> Method:
        n_iter = whole("n_iter", self.n_iter)
        if self._method in (CVB0, CGS):  # half of the sweeps are burn-in
            return self._method(burn_in=n_iter // 2, n_samples=n_iter - n_iter // 2)
        return self._method(n_iter=n_iter)

    def _learns_by_ope(self) -> bool:
        return self._method is OPE

    def _schedule(self, n_docs: int | None = None) -> Schedule:
        return Schedule.of(self.get_params(deep=False))


class MLLearner(PaperLearner):
    """Regularised maximum likelihood."""

    def __init__(
        self,
        n_components: int = 100,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        batch_size: int = 5000,
        learning_decay: float = 0.9,
        learning_offset: float = 1.0,
        n_iter: int = 50,
        n_passes: int = 1,
        transform_method: str | Method | None = None,
        engine: Any = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.n_components = n_components
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.n_iter = n_iter
        self.n_passes = n_passes
        self.transform_method = transform_method
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _rule(self) -> Rule:
        return ML()


class OnlineLearner(MLLearner):
    """Stochastic variational inference."""

    def __init__(
        self,
        n_components: int = 100,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        batch_size: int = 5000,
        learning_decay: float = 0.9,
        learning_offset: float = 1.0,
        population: float | None = None,
        n_iter: int = 50,
        n_passes: int = 1,
        transform_method: str | Method | None = None,
        engine: Any = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            batch_size=batch_size,
            learning_decay=learning_decay,
            learning_offset=learning_offset,
            n_iter=n_iter,
            n_passes=n_passes,
            transform_method=transform_method,
            engine=engine,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
        )
        self.population = population

    def _rule(self) -> Rule:
        return Online(bound_start=not self._method.expects_logs)


class StreamingLearner(MLLearner):
    """Streaming Bayes."""

    def __init__(
        self,
        n_components: int = 100,
        *,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        batch_size: int = 5000,
        learning_decay: float = 0.9,
        learning_offset: float = 1.0,
        keep_start: bool = False,
        n_iter: int = 50,
        n_passes: int = 1,
        transform_method: str | Method | None = None,
        engine: Any = "cpu",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            doc_topic_prior=doc_topic_prior,
            topic_word_prior=topic_word_prior,
            batch_size=batch_size,
            learning_decay=learning_decay,
            learning_offset=learning_offset,
            n_iter=n_iter,
            n_passes=n_passes,
            transform_method=transform_method,
            engine=engine,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            callbacks=callbacks,
        )
        self.keep_start = keep_start

    def _rule(self) -> Rule:
        return Streaming(keep_start=flag("keep_start", self.keep_start))
