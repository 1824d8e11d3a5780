"""`infer`: documents and topics in, mixtures with certificates out."""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._validation import flag, real_array, seed
from opelda.engines import AN_INFERENCE, Engine, get_engine
from opelda.engines.seam import (
    EVERYTHING,
    SPARSE,
    Accuracy,
    Certificate,
    Solution,
    Task,
    take_documents,
    where_it_was,
)
from opelda.errors import InputError, warn
from opelda.inference._checked_topics import Topics, counts_over
from opelda.inference._intervals import as_level, share_intervals, sparse_bounds
from opelda.inference._method import Method
from opelda.inference.cccp import CCCP, SMM
from opelda.inference.cvb import CVB, CVB0
from opelda.inference.em import EM
from opelda.inference.exact import Exact, PerToken, accuracy_of, as_exact
from opelda.inference.fw import FW, OFW
from opelda.inference.ope import OPE
from opelda.inference.sampling import CGS, HAMCMC, PMD
from opelda.inference.tli import TLI
from opelda.inference.vb import VB

_CLASSES: tuple[type[Method], ...] = (
    OPE, EM, Exact, VB, CVB, CVB0, CGS, FW, OFW, CCCP, SMM, TLI, PMD, HAMCMC,
)  # fmt: skip
METHODS: dict[str, type[Method]] = {cls.name: cls for cls in _CLASSES}


@dataclass(frozen=True)
class InferenceHistory:
    """The quality of mixtures after each iteration.

    Attributes
    ----------
    n_iter : int array (T,)
        The iterations' numbers.
    objective, gap, loss : float64 arrays (T, D)
        Of each document, as in `Inference`. With alpha < 1 the objective rises without end.
    """

    n_iter: NDArray[np.int64]
    objective: NDArray[np.float64] = field(repr=False)
    gap: NDArray[np.float64] = field(repr=False)
    loss: NDArray[np.float64] = field(repr=False)


@dataclass(frozen=True)
class Inference:
    """Mixtures and their certificates, one row per document.

    Attributes
    ----------
    theta : float32 array or CSR array (D, K)
        Topic mixtures; rows sum to 1. Double precision from the reference engine. On the device of
        the documents; all else is in host memory.
    gap, likelihood_gap : float64 arrays (D,)
        Frank-Wolfe gaps of f = log-likelihood + log-prior and of the log-likelihood, zero exactly
        at stationary points. With ``doc_topic_prior >= 1`` no mixture's f is ahead by more.
    likelihood_loss : float64 array (D,)
        No mixture's log-likelihood is ahead by more, in nats: an upper bound, rounding included. It
        exceeds the true loss by at most about 0.01 and 3e-7 a token, except where `loss` differs.
    loss : float64 array (D,)
        What `max_loss` bounds: `likelihood_loss`, or the loss in f where f has a maximum (all of
        ``doc_topic_prior`` at least 1, and some more).
    log_likelihood, log_prior : float64 arrays (D,)
        The terms of f: sum_j d_j log x_j and sum_k (alpha_k - 1) log theta_k.
    n_iter : int32 array (D,)
        Iterations done.
    n_tokens : float64 array (D,)
        Length of each document, without the words that no topic has.
    picked : CSR array (D, K) or None
        For OPE, EM and Exact: the share of each mixture on the topics that it moved to or kept. The
        rest is the start's, spread over all topics.
    method : Method
    missed : int array
        Rows of the documents for which the requested accuracy could not be proved.
    lower, upper : float32 arrays or CSR arrays (D, K), or None
        With ``interval``, the credible intervals of the shares. CSR arrays omit bounds below .005.
    main_topic_probability : float32 array (D,) or None
        The probability that the topic with the largest share in `theta` is the main topic.
    history : InferenceHistory or None
        With ``history=True``.
    """

    theta: Any
    gap: NDArray[np.float64]
    likelihood_gap: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    likelihood_loss: NDArray[np.float64]
    loss: NDArray[np.float64]
    n_iter: NDArray[np.int32]
    n_tokens: NDArray[np.float64]
    picked: sparse.csr_array | None = field(repr=False)
    method: Method
    missed: NDArray[np.intp]
    lower: Any = field(default=None, repr=False)
    upper: Any = field(default=None, repr=False)
    main_topic_probability: NDArray[np.float32] | None = field(default=None, repr=False)
    history: InferenceHistory | None = field(default=None, repr=False)

    @property
    def objective(self) -> NDArray[np.float64]:
        """f. With alpha < 1, compare it only between runs of the same length."""
        return self.log_likelihood + self.log_prior

    def __repr__(self) -> str:
        n_docs, n_topics = self.theta.shape
        mean = f"{self.loss.mean():.4g}" if n_docs else "-"
        return f"Inference({n_docs} documents, {n_topics} topics, {self.method}, mean loss {mean})"


def infer(
    X: Any,
    topics: Topics | ArrayLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "ope",
    max_loss: float | PerToken | None = None,
    sparse_output: bool = False,
    interval: float | None = None,
    history: bool = False,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> Inference:
    """Infer the topic mixtures of documents, with a certificate each.

    Parameters
    ----------
    X : array or sparse matrix (D, V)
        Word counts up to 1e13; fractions are allowed. An empty document gets the prior's mean and
        a gap of 0. Words with probability zero in every topic are ignored.
    topics : array (K, V), Topics or fitted model
        Each row a distribution over the words. For many calls make a `Topics` once.
    doc_topic_prior : number, vector (K,) or None
        alpha of the Dirichlet prior; None is 1/K.
    method : str or Method
        ``"ope"`` or any other name or object of `opelda.inference`.
    max_loss : float, PerToken or None
        The accuracy in nats per document, or ``PerToken(0.01)`` nats per token: no mixture is
        ahead by more (see `Inference.loss`). `Exact` infers the documents for which the method's
        own mixture is not that good.
    sparse_output : bool
        Return mixtures as a CSR array, small where most topics have no share (``method="exact"``).
    interval : float or None
        The level of credible intervals of the shares, such as 0.95, by draws from the posterior for
        these topics and this prior (docs/inference.md). They are on the CPU.
    history : bool
        State the quality of the mixtures after each iteration of OPE, EM or FW, without
        `max_loss`. It takes as many inferences as iterations.
    random_state : int, RandomState, Generator or None
        Same seed, same mixtures: they depend only on the seed, the document and the topics.
    n_jobs : int or None
        Number of threads; None means every core, but one core inside a joblib worker. Results do
        not depend on the number of threads.
    engine : str or Engine
        ``"cpu"``, ``"cuda"`` (a GPU, docs/gpu.md), ``"auto"``, ``"reference"`` (slow
        double-precision NumPy), or an engine made with its resources.

    Examples
    --------
    >>> import numpy as np
    >>> topics = np.array([[0.5, 0.4, 0.1, 0.0], [0.0, 0.1, 0.4, 0.5]])
    >>> result = infer(np.array([[4, 3, 1, 0], [0, 0, 0, 0]]), topics, random_state=0)
    >>> result.theta.round(2)
    array([[0.99, 0.01],
           [0.5 , 0.5 ]], dtype=float32)
    """
    table = topics if isinstance(topics, Topics) else Topics(topics)

    def engine_for(n: int) -> Any:
        return get_engine(engine, n_jobs, AN_INFERENCE * n)

    checked = partial(counts_over, table.n_words)
    resolved, documents = take_documents(
        X, table.n_words, engine_for, checked, in_place=not sparse_output
    )
    alpha = as_prior(doc_topic_prior, table.n_topics)
    task = as_task(as_method(method), alpha, seed(random_state), accuracy_of(max_loss))
    few = flag("sparse_output", sparse_output) and task.method.knows_loss
    wanted = SPARSE if few else EVERYTHING
    given = table.on(resolved)
    level, solution = as_level(interval), resolved.infer(given, documents, task, wanted)
    if level is not None:
        matrix, member = documents.matrix, np.zeros(documents.n_docs, np.int64)
        readers: Any = [lambda words: table.components[:, words]]
        drawn = share_intervals(
            matrix, solution.dense(), readers, alpha[np.newaxis], member,
            level=level, seed=task.seed, n_jobs=n_jobs,
        )  # fmt: skip
        solution = replace(solution, intervals=drawn)
    found = as_inference(solution, task, sparse_output, X)
    if flag("history", history):
        cut = replace(task, accuracy=None)
        return replace(found, history=_history(resolved, given, documents, cut))
    return found


def _history(engine: Engine, topics: Any, documents: Any, task: Task) -> InferenceHistory:
    numbers, rows = [], []
    for number, method in cast(Method, task.method).prefixes():
        solution = engine.infer(topics, documents, replace(task, method=method), EVERYTHING)
        bounds = cast(Certificate, solution.certificate)
        numbers.append(number)
        rows.append((bounds.log_likelihood + bounds.log_prior, bounds.gap, solution.loss))
    return InferenceHistory(np.array(numbers), *np.array(rows).transpose(1, 0, 2))


class AccuracyWarning(UserWarning):
    """The requested accuracy could not be proved for some documents.

    Examples
    --------
    >>> issubclass(AccuracyWarning, UserWarning)
    True
    """


def as_task(
    method: Method, alpha: NDArray[np.float64], random_seed: int, accuracy: Accuracy | None
) -> Task:
    """Return a task, with all that bounds on the loss need."""
    if isinstance(method, Exact):  # it has an accuracy
        accuracy = method.accuracy(accuracy)
        method = as_exact(**vars(accuracy))
    return Task(method, alpha, random_seed, accuracy, as_exact)


def missed(solution: Solution, accuracy: Accuracy | None, of: str = "") -> NDArray[np.intp]:
    """Return the rows without a proof of the accuracy, with a warning, by row or as `of`."""
    if accuracy is None:
        return np.empty(0, np.intp)
    loss, n_tokens = cast(Any, solution.loss), cast(Any, solution.n_tokens)
    found = np.flatnonzero(~(loss <= accuracy.limits(n_tokens)))
    if len(found):
        rows = ", ".join(map(str, found[:5])) + (", ..." if len(found) > 5 else "")
        worst = loss[found].max()
        which = "document" if len(found) == 1 else "documents"
        warn(
            f"{len(found)} {which} missed the requested accuracy "
            f"({of or 'rows ' + rows}): the largest bound is {worst:.3g} nats; request a lower "
            "accuracy.",
            AccuracyWarning,
        )
    return found


def as_inference(solution: Solution, task: Task, sparse_output: bool, X: Any) -> Inference:
    """Return an engine's answer as users see it, mixtures on the device of X."""
    theta = solution.as_csr() if sparse_output else solution.theta
    if isinstance(theta, np.ndarray):
        theta = np.ascontiguousarray(theta)
    drawn = solution.intervals
    bounds: tuple[Any, Any] = (None, None) if drawn is None else (drawn.lower, drawn.upper)
    if drawn is not None and sparse_output:
        bounds = sparse_bounds(drawn.lower), sparse_bounds(drawn.upper)
    return Inference(
        theta=where_it_was(theta, X),
        lower=bounds[0],
        upper=bounds[1],
        main_topic_probability=None if drawn is None else drawn.main_topic_probability,
        **vars(solution.certificate),
        loss=cast(Any, solution.loss),
        n_iter=solution.n_iter.astype(np.int32, copy=False),
        n_tokens=cast(Any, solution.n_tokens),
        picked=None if solution.picks is None else solution.picked(),
        method=cast(Method, task.method),
        missed=missed(solution, task.accuracy),
    )


def as_prior(doc_topic_prior: ArrayLike | None, n_topics: int) -> NDArray[np.float64]:
    """Return alpha as a vector over topics; None is 1/K each."""
    if doc_topic_prior is None:
        return np.full(n_topics, 1.0 / n_topics)
    alpha = real_array("doc_topic_prior", doc_topic_prior)
    if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != n_topics):
        raise InputError(
            f"must be a number or one number per topic ({n_topics}), got shape {alpha.shape}.",
            "doc_topic_prior",
        )
    if not ((alpha >= 1e-30) & (alpha <= 1e6)).all():
        raise InputError(
            f"must be positive, from 1e-30 to 1e6, got {doc_topic_prior!r}.", "doc_topic_prior"
        )
    return np.full(n_topics, alpha) if alpha.ndim == 0 else alpha


def as_method(method: str | Method, parameter: str = "method") -> Method:
    """Return the method of that name with its defaults, or the object itself, checked."""
    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"Unknown method {method!r}; choose one of {', '.join(METHODS)}.")
        return METHODS[method]()
    if not isinstance(method, Method):
        raise InputError(f"must be a name or a method object, got {method!r}.", parameter)
    method.check()
    return method
