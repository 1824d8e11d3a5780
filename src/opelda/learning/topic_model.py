"""Any inference method with any update rule."""

from typing import Any, Literal

from opelda.errors import InputError
from opelda.inference import Method
from opelda.inference._infer import as_method
from opelda.learning._learner import Learner
from opelda.learning._rules import ML, Online, Rule, Streaming


class TopicModel(Learner):
    """Topics learned by any inference method and any of the three update rules.

    Parameters
    ----------
    n_components : int
        K, the number of topics.
    inference : str or Method
        A method of `opelda.inference`: its name, or an object with parameters of its own.
    learning : {"ml", "online", "streaming"}
        The update rule: regularised maximum likelihood, stochastic variational inference, or
        streaming Bayes.
    doc_topic_prior : number, vector (K,) or None
        alpha; None is 1/K.
    topic_word_prior : number, vector (V,), matrix (K, V) or None
        eta; None is 1/K.
    batch_size : int
        S, documents per update.
    learning_decay, learning_offset : float
        kappa and tau: update t moves the topics by (t + tau)^-kappa.
    population : float or None
        D of the online rule; None: the collection's size in `fit`, the documents seen so far in
        streams.
    keep_start : bool
        For the streaming rule: keep the random start in the topics for ever, as the paper does.
    n_passes : int
        How often `fit` goes through the collection, shuffled anew each time.
    n_jobs : int or None
        Threads; None is one, -1 all cores. Results do not depend on it.
    random_state : int, RandomState, Generator or None
    verbose : int
        0: silent. 1: a progress bar, or a line now and then where there is no terminal. 2: a line
        per update.
    callbacks : callable, list of callables or None
        Called with a `BatchReport` after every update; learning stops when one returns True.

    Attributes
    ----------
    components_ : float32 array (K, V)
        The topics; rows sum to 1.
    n_batch_iter_, n_docs_seen_ : int
        Updates made, and documents learned from.
    n_features_in_ : int
        V.
    n_unknown_tokens_ : float
        Tokens met in streams whose words have no column.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.inference import FW
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> model = TopicModel(3, inference=FW(n_iter=20), learning="ml", batch_size=50, random_state=0)
    >>> model.fit(X).transform(X).shape
    (500, 3)
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        inference: str | Method = "ope",
        learning: Literal["ml", "online", "streaming"] = "online",
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        batch_size: int = 5000,
        learning_decay: float = 0.9,
        learning_offset: float = 1.0,
        population: float | None = None,
        keep_start: bool = False,
        n_passes: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.n_components = n_components
        self.inference = inference
        self.learning = learning
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.batch_size = batch_size
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.population = population
        self.keep_start = keep_start
        self.n_passes = n_passes
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _inference(self) -> Method:
        return as_method(self.inference)

    def _rule(self) -> Rule:
        if self.learning == "ml":
            return ML()
        if self.learning == "online":
            return Online(bound_start=not self._inference().expects_logs)
        if self.learning == "streaming":
            return Streaming(keep_start=bool(self.keep_start))
        raise InputError(f"learning must be 'ml', 'online' or 'streaming', got {self.learning!r}.")
