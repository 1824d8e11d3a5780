"""The one entry point: documents and topics in, certified mixtures out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.engines import Batch, Certificate, Engine, Picks, Solution, get_engine
from opelda.errors import InputError
from opelda.inference._inputs import as_batch, as_prior, as_seed, as_threads
from opelda.inference._method import Method
from opelda.inference._topics import Topics


@dataclass(frozen=True)
class Inference:
    """Mixtures and their certificates, one row per document.

    Attributes
    ----------
    theta : float32 array (D, K)
        Topic mixtures; rows sum to 1.
    gap : float64 array (D,)
        Frank-Wolfe gap of f = log-likelihood + log-prior: zero exactly at stationary points; with
        ``doc_topic_prior >= 1`` no mixture's f is more than this above the one returned.
    likelihood_gap : float64 array (D,)
        The same for the log-likelihood alone, which is concave: no mixture explains the document's
        words better by more than this (in nats).
    log_likelihood, log_prior : float64 arrays (D,)
        The two terms of f: sum_j d_j log x_j and sum_k (alpha_k - 1) log theta_k.
    n_iter : int32 array (D,)
        Iterations done.
    n_tokens : float64 array (D,)
        Length of each document, without the words that no topic has.
    picked : CSR array (D, K) or None
        For OPE: how much of each mixture lies on the topics it moved to. The rest is the start's,
        spread over all topics.
    method : Method
    """

    theta: NDArray[np.float32]
    gap: NDArray[np.float64]
    likelihood_gap: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    log_prior: NDArray[np.float64]
    n_iter: NDArray[np.int32]
    n_tokens: NDArray[np.float64]
    picked: sparse.csr_array | None = field(repr=False)
    method: Method

    @property
    def likelihood_loss(self) -> NDArray[np.float64]:
        """The most that any mixture can be ahead in log-likelihood: N log(1 + likelihood_gap / N).

        A bound like `likelihood_gap` itself, never above it and often far below: by Jensen's
        inequality sum_j d_j log(x*_j / x_j) <= N log(sum_j d_j x*_j / x_j / N), and the last sum is
        at most max_k g1'_k = N + likelihood_gap.
        """
        tokens = np.maximum(self.n_tokens, np.finfo(float).tiny)
        return tokens * np.log1p(self.likelihood_gap / tokens)

    @property
    def objective(self) -> NDArray[np.float64]:
        """f itself. With alpha < 1 compare it only between runs of the same length."""
        return self.log_likelihood + self.log_prior

    def __repr__(self) -> str:
        n_docs, n_topics = self.theta.shape
        mean = f"{self.gap.mean():.4g}" if n_docs else "-"
        return f"Inference({n_docs} documents, {n_topics} topics, {self.method}, mean gap {mean})"


def infer(
    X: Any,
    topics: Topics | ArrayLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "ope",
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> Inference:
    """Infer the topic mixtures of documents, with a certificate each.

    Parameters
    ----------
    X : array or sparse matrix (D, V)
        Word counts up to 1e13; fractions are allowed. An empty document gets the prior's mean and
        a gap of 0. Words that no topic gives any probability are left out of the document.
    topics : array (K, V) or Topics
        Each row a distribution over the words. For many calls make a `Topics` once.
    doc_topic_prior : number, vector (K,) or None
        alpha of the Dirichlet prior; None is 1/K.
    method : str or Method
        ``"ope"`` or any other name or object of `opelda.inference`.
    random_state : int, RandomState, Generator or None
        Same seed, same mixtures: they depend on nothing but the seed, the document and the topics.
    n_jobs : int or None
        Threads; None is one, -1 all cores. Results do not depend on it.
    engine : str or Engine
        ``"cpu"``, or ``"reference"`` for the slow double-precision NumPy form of the same method.

    Returns
    -------
    Inference

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
    alpha = as_prior(doc_topic_prior, table.n_topics)
    solver = as_method(method)
    seed, n_threads = as_seed(random_state), as_threads(n_jobs)
    batch = as_batch(X, table, alpha)
    if engine == "reference":
        place, solution = get_engine("cpu"), solver.solve_reference(batch, seed)
    else:
        place = get_engine(engine) if isinstance(engine, str) else engine
        if not hasattr(place, "infer"):
            raise InputError(f"engine must be a name or an engine, got {engine!r}.")
        solution = solver.solve(batch, seed, place, n_threads)
    return as_inference(batch, solution, solver, place, n_threads)


def as_inference(
    batch: Batch, solution: Solution, solver: Method, place: Engine, n_threads: int
) -> Inference:
    """Complete what a method found: empty documents, certificates, OPE's picks."""
    alpha = batch.alpha.astype(np.float64)
    theta = np.ascontiguousarray(solution.theta, np.float32)
    fill_empty(batch, theta)
    certificate = solution.certificate or place.certify(batch, theta, n_threads)
    _fill_empty_certificate(batch, certificate, theta, alpha)
    return Inference(
        theta=theta,
        gap=certificate.gap,
        likelihood_gap=certificate.likelihood_gap,
        log_likelihood=certificate.log_likelihood,
        log_prior=certificate.log_prior,
        n_iter=np.where(np.diff(batch.indptr) > 0, solution.n_iter, 0).astype(np.int32),
        n_tokens=_tokens(batch),
        picked=_as_picked(solution, theta),
        method=solver,
    )


def as_method(method: str | Method, parameter: str = "method") -> Method:
    """Return the method of that name with its defaults, or the object itself, checked."""
    from opelda.inference import METHODS

    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
        return METHODS[method]()
    if not isinstance(method, Method):
        raise InputError(f"must be a name or a method object, got {method!r}.", parameter)
    method.check()
    return method


def _tokens(batch: Batch) -> NDArray[np.float64]:
    tokens = np.zeros(batch.n_docs)
    full = np.diff(batch.indptr) > 0
    if full.any():
        tokens[full] = np.add.reduceat(batch.counts.astype(np.float64), batch.indptr[:-1][full])
    return tokens


def fill_empty(batch: Batch, theta: NDArray[np.float32]) -> None:
    """Give documents without words the prior's mean."""
    alpha = batch.alpha.astype(np.float64)
    theta[np.diff(batch.indptr) == 0] = alpha / alpha.sum()


def _fill_empty_certificate(
    batch: Batch, certificate: Certificate, theta: NDArray[np.float32], alpha: NDArray[np.float64]
) -> None:
    """Without words there is nothing to be wrong about: the prior's mean is the answer."""
    empty = np.diff(batch.indptr) == 0
    if empty.any():
        certificate.gap[empty] = certificate.likelihood_gap[empty] = 0.0
        certificate.log_likelihood[empty] = 0.0
        certificate.log_prior[empty] = float((alpha - 1) @ np.log(alpha / alpha.sum()))


def _as_picked(solution: Solution, theta: NDArray[np.float32]) -> sparse.csr_array | None:
    picks = solution.picks
    if not isinstance(picks, Picks):
        return None
    picked = sparse.csr_array((picks.shares, picks.topics, picks.indptr), shape=theta.shape)
    picked.sort_indices()
    return picked
