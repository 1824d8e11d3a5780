"""Topics as functions of word vectors, which an update rule learns from a stream."""

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from opelda._count_matrix import counts
from opelda._validation import real_array, seed
from opelda.corpus import Corpus
from opelda.engines.seam import (
    Chosen,
    Documents,
    Engine,
    Statistics,
    Step,
    Task,
    Updated,
    Weights,
    changing,
)
from opelda.errors import InputError
from opelda.learning._space import own_space

LEAST_PROBABILITY = 1e-30  # of a word
LIMITS: Any = {"maxiter": 100}


@dataclass(frozen=True, kw_only=True)
class TPS:
    """Transformation of prior knowledge in streams (Bach et al. 2020): topics from word vectors.

    beta_kj proportional to exp(pi_k . e_j);  pi_k <- argmax over pi of
    sum_d d_j phi_djk log beta_kj - |pi - pi_k|^2 / (2 deviation^2).

    The vectors e_j do not change, so words with similar vectors have similar probabilities, even
    if few documents have them. The update maximises by L-BFGS. Use the rule without sweeps, with an
    inference method other than VB, CVB and CGS.

    Parameters
    ----------
    vectors : array (V, n)
        e_j of each column, from any source or from `word_vectors`. Columns that a stream adds have
        the vector 0.
    deviation : float
        How far an update moves pi_k: the standard deviation of pi_k around its last value.
    init
        See `ML`.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.learning import TPS, word_vectors
    >>> X = [[3, 2, 0, 0], [0, 0, 2, 3]] * 50
    >>> rule = TPS(vectors=word_vectors(X))
    >>> TopicModel(2, learning=rule, preset="paper", random_state=0).fit(X).components_.shape
    (2, 4)
    """

    vectors: Any = field(default_factory=list, repr=False, compare=False)
    deviation: float = 0.1
    init: Literal["random", "documents"] | None = None
    decays = False
    infers = True

    def update(
        self,
        engine: Engine,
        weights: Weights,
        documents: Documents,
        task: Task,
        step: Step,
        *,
        chosen: Chosen = None,
    ) -> Updated | None:
        """Infer mixtures, then maximise; see `Engine.update`."""
        if task.method.expects_logs:
            raise InputError("must use topics as probabilities with the rule TPS.", "inference")
        started = perf_counter()
        found = engine.statistics(weights, documents, task, divide=True, chosen=chosen)
        inferred = perf_counter()
        if not len(found.words):
            return None
        with threadpool_limits(1):  # more threads add in another order
            beta = self.topics(weights, found)
        with changing(engine, weights, step):
            weights.remake(lambda words, before: beta[words])
        return Updated(step.rho, inferred - started, perf_counter() - inferred, np.nan)

    def topics(self, weights: Weights, found: Statistics) -> NDArray[np.float64]:
        """Return the topics (V, K) that maximise the objective."""
        E = np.zeros((weights.n_words, np.shape(self.vectors)[1]))
        E[: len(self.vectors)] = self.vectors[: len(E)]
        counts = np.zeros((len(E), weights.n_topics))
        counts[found.words] = found.values
        # pi of the present topics: their logarithms are linear in the vectors
        host = weights.host()
        before = host.scale * host.rows + weights.prior_weight * weights.prior_of(slice(None))
        before = before / before.sum(axis=0)
        is_exact = (before > 2 * LEAST_PROBABILITY).all(axis=1)
        known = np.column_stack((E[is_exact], np.ones(int(is_exact.sum()))))
        start = np.linalg.lstsq(known, np.log(before[is_exact]))[0][:-1]

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            pi = flat.reshape(start.shape)
            logs, moved = _log_topics(E, pi), (pi - start) / self.deviation**2
            slope = E.T @ (counts.sum(axis=0) * np.exp(logs) - counts) + moved
            value = 0.5 * float((moved * (pi - start)).sum()) - float((counts * logs).sum())
            return value, slope.ravel()

        pi = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options=LIMITS).x
        return np.maximum(np.exp(_log_topics(E, pi.reshape(start.shape))), LEAST_PROBABILITY)

    def newcomer(self, weights: Weights) -> NDArray[np.float64]:
        """Return the mean probability of the known words."""
        return weights.totals / max(weights.n_words, 1)


def _log_topics(E: NDArray[np.float64], pi: NDArray[np.float64]) -> NDArray[np.float64]:
    logs: NDArray[np.float64] = log_softmax(E @ pi, axis=0)
    return logs


def word_vectors(X: Any, *, random_state: Any = 0) -> NDArray[np.float32]:
    """Return a vector per word (V, 100), from the words that documents have in common.

    The products of vectors approximate the positive pointwise mutual information of words in
    documents (Levy & Goldberg 2014). Words of fewer than five documents have the vector 0.

    Parameters
    ----------
    X : array or sparse matrix (D, V), or Corpus
        Counts of words.
    random_state : int, RandomState, Generator or None
        Seed of the eigendecomposition.

    Examples
    --------
    >>> from opelda.learning import word_vectors
    >>> word_vectors([[3, 2, 0, 0], [0, 0, 2, 3]] * 50).shape
    (4, 100)
    """
    documents = Documents(counts(X.X if isinstance(X, Corpus) else X))
    return own_space(documents, seed(random_state)).words


def as_word_vectors(name: str, value: Any) -> NDArray[np.float64]:
    """Return the vectors, checked."""
    found = real_array(name, value)
    if found.ndim == 2 and found.size:
        return found
    raise InputError("must have a row per word; TPS(vectors=word_vectors(X)) makes them.", name)
