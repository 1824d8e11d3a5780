"""The paper's seven learners (Than & Doan, "Guaranteed inference in topic models", sections 4, 5).

Each is an inference method and an update rule; `TopicModel` combines any two.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeVar

from opelda._validation import whole
from opelda.inference import CGS, CVB0, OPE, VB, Method
from opelda.learning._learner import Learner

Class = TypeVar("Class", bound="type[PaperLearner]")

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
    max_loss, max_loss_per_token : float or None
        The most that the likelihood of a document's words may be below the optimum in `transform`,
        `infer` and `score`, in nats per document and per token. Other mixtures are replaced by the
        most likely one (`opelda.inference.Exact`), which may predict new words of short texts
        worse: compare `score`. None: whatever the method finds.
    sparse_output : bool
        `transform` and `infer` give mixtures as CSR arrays: small where most topics have no share
        at all, as with ``transform_method="exact"``.
    engine : str or Engine
        Where it runs: "cpu", "cuda" (a GPU, docs/gpu.md), "auto" (the GPU where it is faster),
        "reference" (slow, plain NumPy), or an engine made with its resources.
    n_jobs : int or None
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    random_state : int, RandomState, Generator or None
    verbose : int
        0: silent. 1: a progress bar, or a line in the log now and then where there is no terminal.
        2: a line per update.
    callbacks : callable, list of callables or None
        Called with a `BatchReport` after every update; learning stops when one returns True."""

EXTRA_PARAMETERS = {
    "ml": "",
    "online": """
    population : float or None
        D, the number of documents that the topics are to stand for (population VB, McInerney et
        al. 2015). None: the collection's size in `fit`, the documents seen so far in streams.""",
    "streaming": """
    keep_start : bool
        Keep the random start in lambda for ever, as the paper writes it. For comparison only.""",
}

ATTRIBUTES = """

    Attributes
    ----------
    components_ : float32 array (K, V)
        The topics; rows sum to 1.
    n_batch_iter_, n_docs_, n_docs_seen_ : int
        Updates made; documents given; documents seen, once for each pass and sweep.
    n_features_in_ : int
        V.
    n_unknown_tokens_ : float
        Tokens met in streams whose words have no column.

    Examples
    --------
    >>> from opelda import {name}
    >>> from opelda.corpus import generate
    >>> X = generate(500, n_words=60, n_topics=3, separated=True).X
    >>> model = {name}(n_components=3, batch_size=50, random_state=0).fit(X)
    >>> model.components_.shape, model.transform(X).shape
    ((3, 60), (500, 3))"""


def documented(cls: Class) -> Class:
    """Append the common parameters and attributes, and an example, to a learner's docstring."""
    own = (cls.__doc__ or "").rstrip() + "\n" + PARAMETERS + EXTRA_PARAMETERS[cls._learning]
    cls.__doc__ = own + ATTRIBUTES.format(name=cls.__name__)
    return cls


@dataclass(eq=False, repr=False)
class PaperLearner(Learner):
    """An inference method of the paper, by class, and an update rule, by name."""

    n_components: int = 100
    _: KW_ONLY
    doc_topic_prior: Any = None
    topic_word_prior: Any = None
    batch_size: int = 5000
    learning_decay: float = 0.9
    learning_offset: float = 1.0
    n_iter: int = 50
    n_passes: int = 1
    transform_method: str | Method | None = None
    max_loss: float | None = None
    max_loss_per_token: float | None = None
    sparse_output: bool = False
    engine: Any = "cpu"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    callbacks: Any = None

    _method: ClassVar[type[Method]]
    _learning: ClassVar[str] = "ml"

    def _settings(self, n_docs: int | None = None) -> dict[str, Any]:
        parameters: dict[str, Any] = self.get_params(deep=False)
        return parameters | {"learning": self._learning}

    def _inference(self) -> Method:
        n_iter = whole("n_iter", self.n_iter)
        if self._method in (CVB0, CGS):  # half of the sweeps are burn-in
            return self._method(burn_in=n_iter // 2, n_samples=n_iter - n_iter // 2)
        return self._method(n_iter=n_iter)

    def _learns_by_ope(self) -> bool:
        return self._method is OPE


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineLearner(PaperLearner):
    """Stochastic variational inference."""

    population: float | None = None
    _learning = "online"


@dataclass(eq=False, repr=False, kw_only=True)
class StreamingLearner(PaperLearner):
    """Streaming Bayes."""

    keep_start: bool = False
    _learning = "streaming"


@documented
class MLOPE(PaperLearner):
    """ML-OPE: OPE's mixtures, regularised maximum likelihood topics (the paper's Algorithm 2).

    beta <- (1 - rho) beta + rho beta^, beta^_kj proportional to sum_d d_j theta_dk.
    """

    _method = OPE


@documented
class OnlineOPE(OnlineLearner):
    """Online-OPE: OPE's mixtures, topics by stochastic variational inference (Algorithm 3).

    lambda <- (1 - rho) lambda + rho (eta + (D / S) sum_d d_j phi_djk).
    """

    _method = OPE


@documented
class StreamingOPE(StreamingLearner):
    """Streaming-OPE: OPE's mixtures, topics by streaming Bayes (Algorithm 4).

    lambda <- lambda + sum_d d_j phi_djk. The random start is replaced by eta after the first
    update; the paper keeps it (``keep_start=True``), and its mass drowns the data.
    """

    _method = OPE


@documented
class OnlineVB(OnlineLearner):
    """Online-VB: variational Bayes throughout (Hoffman, Blei & Bach, NIPS 2010).

    phi_djk is proportional to exp(E[log theta_dk] + E[log beta_kj]).
    """

    _method = VB


@documented
class StreamingVB(StreamingLearner):
    """Streaming-VB: variational Bayes, one mini-batch's posterior the next one's prior.

    Broderick et al., "Streaming variational Bayes" (NIPS 2013), its sequential form.
    """

    _method = VB


@documented
class OnlineCVB0(OnlineLearner):
    """Online-CVB0: collapsed variational inference of order zero (Foulds et al., KDD 2013)."""

    _method = CVB0


@documented
class OnlineCGS(OnlineLearner):
    """Online-CGS: Gibbs sampling within, a variational update of topics (Mimno et al., ICML 2012).

    P(z = k) is proportional to (alpha + N_dk) exp(E[log beta_kj]). The statistics are the tokens'
    expected topics given the mean of the sampled mixtures, where Mimno et al. average the samples.
    """

    _method = CGS
