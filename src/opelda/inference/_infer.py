"""The one entry point: documents and topics in, certified mixtures out."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda._validation import counts, real_array, seed
from opelda.engines import Engine, get_engine
from opelda.engines._engine import Task
from opelda.engines._solutions import Solution
from opelda.errors import InputError
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
        For OPE and EM: how much of each mixture lies on the topics it moved to or kept. The rest
        is the start's, spread over all topics.
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
    topics : array (K, V), Topics or fitted model
        Each row a distribution over the words. For many calls make a `Topics` once.
    doc_topic_prior : number, vector (K,) or None
        alpha of the Dirichlet prior; None is 1/K.
    method : str or Method
        ``"ope"`` or any other name or object of `opelda.inference`.
    random_state : int, RandomState, Generator or None
        Same seed, same mixtures: they depend on nothing but the seed, the document and the topics.
    n_jobs : int or None
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    engine : str or Engine
        Where it runs: ``"cpu"``, ``"reference"`` (the slow double-precision NumPy form of the same
        method), or an engine made with its resources.

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
    resolved = get_engine(engine, n_jobs)
    matrix = counts(X)
    if matrix.shape[1] != table.n_words:
        raise InputError(
            f"has {matrix.shape[1]} columns but the topics have {table.n_words} words; count the "
            "documents with the topics' own vocabulary.",
            "X",
        )
    task = Task(as_method(method), as_prior(doc_topic_prior, table.n_topics), seed(random_state))
    found = resolved.infer(table.on(resolved), resolved.documents(matrix), task)
    return as_inference(found, task.method)


def as_inference(solution: Solution, method: Any) -> Inference:
    """Return an engine's whole answer as users see it."""
    certificate, n_tokens = solution.certificate, solution.n_tokens
    assert certificate is not None
    assert n_tokens is not None
    theta = np.ascontiguousarray(solution.theta, np.float32)
    picked, picks = None, solution.picks
    if picks is not None:
        parts = picks.shares, picks.topics, picks.indptr
        picked = sparse.csr_array(parts, shape=theta.shape)
        picked.sort_indices()
    return Inference(
        theta=theta,
        **vars(certificate),
        n_iter=solution.n_iter.astype(np.int32, copy=False),
        n_tokens=n_tokens,
        picked=picked,
        method=method,
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
    from opelda.inference import METHODS

    if isinstance(method, str):
        if method not in METHODS:
            raise InputError(f"There is no method {method!r}; choose one of {', '.join(METHODS)}.")
        return METHODS[method]()
    if not isinstance(method, Method):
        raise InputError(f"must be a name or a method object, got {method!r}.", parameter)
    method.check()
    return method
