"""Any inference method with any update rule."""

from typing import Any, Literal

from opelda.errors import InputError
from opelda.inference import EM, Method
from opelda.inference._infer import as_method
from opelda.learning._learner import Learner
from opelda.learning._presets import PRESETS, Preset
from opelda.learning._rules import ML, Online, Rule, Streaming
from opelda.learning._schedule import Schedule

A_STREAM = 10**9  # documents: more than any collection for which presets choose otherwise


class TopicModel(Learner):
    """Topics learned by any inference method and any of the three update rules.

    With nothing but a number of topics, the best that were measured (docs/learning.md).

    Parameters
    ----------
    n_components : int
        K, the number of topics.
    preset : {"best", "fast", "paper"} or None
        What the parameters below are where they are None. "best": Online-OPE, then closing sweeps
        of Gibbs sampling; "fast": Online-OPE alone, with steps that learn faster than the paper's;
        "paper": the paper's settings. None: "best", or "paper" for those who choose `inference` or
        `learning` themselves.
    inference : str, Method or None
        A method of `opelda.inference`: its name, or an object with parameters of its own. None: OPE
        with the preset's number of iterations, and for `transform` EM.
    learning : {"ml", "online", "streaming"} or None
        The update rule: regularised maximum likelihood, stochastic variational inference, or
        streaming Bayes. None: "online".
    doc_topic_prior : number, vector (K,) or None
        alpha; None is 1/K, and closing sweeps adapt it to the documents for themselves.
    topic_word_prior : number, vector (V,), matrix (K, V) or None
        eta; None is .05 for the preset "best" and else 1/K.
    batch_size : int or None
        S, documents per update. None: 1000, fewer for a collection of less than 20,000; "paper":
        5000.
    learning_decay, learning_offset : float or None
        kappa and tau: update t moves the topics by (t + tau)^-kappa.
    population : float or None
        D of the online rule; None: the collection's size in `fit`, the documents seen so far in
        streams.
    keep_start : bool
        For the streaming rule: keep the random start in the topics for ever, as the paper does.
    n_passes : int or None
        How often `fit` goes through the collection, shuffled anew each time. None: so often that a
        million documents are seen ("fast": 100,000), at most 20 times; "paper": once.
    init : {"random", "documents"} or None
        What `fit` begins with: topics that are all but alike, or each with the words of a document,
        chosen far apart from each other.
    n_sweeps : int or None
        Sweeps of collapsed Gibbs sampling by which `fit` ends: the topics of all tokens are drawn
        again and again, beginning with the topics learned so far, and averaged. `partial_fit` and
        `fit_stream`, which do not keep documents, never sweep.
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
    >>> TopicModel(3, random_state=0).fit(X).components_.shape
    (3, 60)
    >>> model = TopicModel(3, inference=FW(n_iter=20), learning="ml", batch_size=50, random_state=0)
    >>> model.fit(X).transform(X).shape
    (500, 3)
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        preset: Literal["best", "fast", "paper"] | None = None,
        inference: str | Method | None = None,
        learning: Literal["ml", "online", "streaming"] | None = None,
        doc_topic_prior: Any = None,
        topic_word_prior: Any = None,
        batch_size: int | None = None,
        learning_decay: float | None = None,
        learning_offset: float | None = None,
        population: float | None = None,
        keep_start: bool = False,
        n_passes: int | None = None,
        init: Literal["random", "documents"] | None = None,
        n_sweeps: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Any = None,
    ) -> None:
        self.n_components = n_components
        self.preset = preset
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
        self.init = init
        self.n_sweeps = n_sweeps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks

    def _inference(self) -> Method:
        return self._preset.inference if self.inference is None else as_method(self.inference)

    def _reading(self) -> Method:  # OPE's mixtures predict unseen words worse than EM's
        return EM() if self.inference is None else self._inference()

    def _schedule(self, n_docs: int | None = None) -> Schedule:
        chosen = self._preset.schedule(A_STREAM if n_docs is None else n_docs)
        given = {name: getattr(self, name) for name in chosen}
        return Schedule.of(**chosen | {k: v for k, v in given.items() if v is not None})

    def _word_prior(self) -> Any:
        given = self.topic_word_prior
        return self._preset.topic_word_prior if given is None else given

    @property
    def _preset(self) -> Preset:
        name = self.preset
        if name is None:
            name = "best" if self.inference is None and self.learning is None else "paper"
        if not isinstance(name, str) or name not in PRESETS:
            raise InputError(f"preset must be one of {sorted(PRESETS)} or None, got {name!r}.")
        return PRESETS[name]

    def _rule(self) -> Rule:
        if self.learning == "ml":
            return ML()
        if self.learning in ("online", None):
            return Online(bound_start=not self._inference().expects_logs)
        if self.learning == "streaming":
            return Streaming(keep_start=bool(self.keep_start))
        raise InputError(f"learning must be 'ml', 'online' or 'streaming', got {self.learning!r}.")
