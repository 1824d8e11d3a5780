"""Log predictive probability: how well topics predict words of a document from its others."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from opelda.errors import InputError
from opelda.inference import Method, Topics, infer
from opelda.inference._inputs import as_seed
from opelda.metrics._split import (
    as_share,
    check_lengths,
    positive_counts,
    split_tokens,
    tokens_per_document,
)

# What a word counts as that no topic of the document's mixture gives any probability.
SMALLEST = 1e-30
WEIGHTS_AT_ONCE = 2**22


@dataclass(frozen=True)
class PredictiveProbability:
    """Log probability per held-out token, in nats; as a float it is `macro`.

    Attributes
    ----------
    macro : float
        Mean over documents of each one's mean over its held-out tokens, and over the splits.
    micro : float
        Mean over all held-out tokens.
    standard_error : float
        Of `macro`, from the spread between documents; NaN for a single document.
    n_documents, n_left_out : int
        Documents scored, and those of fewer than 2 tokens, which cannot be split.
    splits : tuple of float
        `macro` of each split.

    Examples
    --------
    >>> found = log_predictive_probability([[4, 4], [1, 0]], [[0.5, 0.5]], random_state=0)
    >>> round(float(found), 4), found.n_documents, found.n_left_out
    (-0.6931, 1, 1)
    """

    macro: float
    micro: float
    standard_error: float
    n_documents: int
    n_left_out: int
    splits: tuple[float, ...]

    def __float__(self) -> float:
        return self.macro


def log_predictive_probability(
    X: Any,
    topics: Topics | ArrayLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "vb",
    held_out: float = 0.3,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> PredictiveProbability:
    """Predict held-out tokens of each document from the mixture of its other tokens.

    A document's tokens are split at random (`split_tokens`), theta is inferred on the observed
    part, and the held-out part scored by sum_j d_j log(sum_k theta_k beta_kj) / sum_j d_j. A word
    that the mixture gives less than 1e-30 counts as that (`Topics` takes what is below 1e-15 in a
    topic for zero).

    Parameters
    ----------
    X : array or sparse matrix (D, V)
        Documents that the topics were not learned from. Those of fewer than 2 tokens are left out
        and counted.
    topics : array (K, V) or Topics
    doc_topic_prior : number, vector (K,) or None
        alpha; None is 1/K.
    method : str or Method
        What infers theta. Scores are comparable only between equal methods and priors.
    held_out : float
        Share of the tokens to predict.
    n_splits : int
        Random splits to average over. Same seed, same splits, whatever the topics and method.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads, as for `opelda.inference.infer`.

    Returns
    -------
    PredictiveProbability

    Examples
    --------
    >>> topics = [[0.45, 0.45, 0.05, 0.05], [0.05, 0.05, 0.45, 0.45]]
    >>> X = [[5, 5, 0, 0], [0, 0, 5, 5]]
    >>> good = log_predictive_probability(X, topics, random_state=0)
    >>> blind = log_predictive_probability(X, [[0.25] * 4], random_state=0)
    >>> good.macro > blind.macro
    True
    """
    table = topics if isinstance(topics, Topics) else Topics(topics)
    share = as_share(held_out)
    if not isinstance(n_splits, int | np.integer) or isinstance(n_splits, bool) or n_splits < 1:
        raise InputError(f"n_splits must be a whole number from 1 on, got {n_splits!r}.")
    matrix = positive_counts(X)
    n_tokens = tokens_per_document(matrix)
    check_lengths(n_tokens)
    long_enough = n_tokens >= 2
    n_left_out = int((~long_enough).sum())
    if not long_enough.any():
        raise InputError("X has no document of at least 2 tokens, and others cannot be split.")
    if n_left_out:
        matrix = matrix[long_enough]
    rng = np.random.default_rng(as_seed(random_state))
    scores = np.zeros((n_splits, matrix.shape[0]))
    masses = np.zeros_like(scores)
    for split in range(n_splits):
        observed, held = split_tokens(matrix, held_out=share, random_state=rng)
        theta = infer(
            observed,
            table,
            doc_topic_prior=doc_topic_prior,
            method=method,
            random_state=rng,
            n_jobs=n_jobs,
        ).theta
        scores[split], masses[split] = _score(held, theta, table)
    means = scores / masses
    return _summary(means, float(scores.sum() / masses.sum()), n_left_out)


def perplexity(
    X: Any,
    topics: Topics | ArrayLike,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "vb",
    held_out: float = 0.3,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> float:
    """Return exp(-`log_predictive_probability`): between how many words the topics seem to guess.

    Parameters and errors are those of `log_predictive_probability`.

    Examples
    --------
    >>> round(perplexity([[4, 4, 0, 0]], [[0.25] * 4], random_state=0), 3)
    4.0
    """
    found = log_predictive_probability(
        X,
        topics,
        doc_topic_prior=doc_topic_prior,
        method=method,
        held_out=held_out,
        n_splits=n_splits,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    return float(np.exp(-found.macro))


def _score(
    held: sparse.csr_array, theta: NDArray[np.float32], topics: Topics
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return each document's log probability and mass of held-out tokens."""
    n_docs = held.shape[0]
    document = np.repeat(np.arange(n_docs), np.diff(held.indptr))
    logs = np.zeros(held.nnz)
    n_at_once = max(1, WEIGHTS_AT_ONCE // topics.n_topics)
    for first in range(0, held.nnz, n_at_once):
        part = slice(first, first + n_at_once)
        weights = topics.rows[held.indices[part], : topics.n_topics] * theta[document[part]]
        logs[part] = np.log(np.maximum(weights.sum(axis=1, dtype=np.float64), SMALLEST))

    def per_document(values: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(document, weights=values, minlength=n_docs).astype(np.float64)

    return per_document(held.data * logs), per_document(held.data)


def _summary(means: NDArray[np.float64], micro: float, n_left_out: int) -> PredictiveProbability:
    per_document = means.mean(axis=0)
    n_docs = len(per_document)
    error = per_document.std(ddof=1) / np.sqrt(n_docs) if n_docs > 1 else np.nan
    return PredictiveProbability(
        macro=float(per_document.mean()),
        micro=micro,
        standard_error=float(error),
        n_documents=n_docs,
        n_left_out=n_left_out,
        splits=tuple(means.mean(axis=1).tolist()),
    )
