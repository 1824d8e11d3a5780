"""Mixtures of documents: concentration, variation with the seed of inference, a model's own."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from opelda._validation import seed, whole
from opelda.engines import Engine
from opelda.errors import InputError
from opelda.inference import Method, infer
from opelda.inference._checked_topics import as_matrix
from opelda.metrics._topics import GivenTopics, MeasuredTopics


def effective_topics(theta: ArrayLike) -> NDArray[np.float64]:
    """Return each document's effective number of topics: exp(entropy of its mixture), from 1 to K.

    Parameters
    ----------
    theta : array (D, K)
        Mixtures; rows are divided by their sums, which must be positive.

    Examples
    --------
    >>> effective_topics([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.8, 0.1, 0.1]]).round(2)
    array([1.  , 2.  , 1.89])
    """
    shares = _shares(theta)
    topics: NDArray[np.float64] = np.exp(entr(shares).sum(axis=1))
    return np.clip(topics, 1.0, shares.shape[1])  # rounding may step over either end


def _shares(theta: Any) -> NDArray[np.float64]:
    weights = as_matrix(theta, "theta").astype(np.float64)
    largest = weights.max(axis=1)
    bad = np.flatnonzero((weights < 0).any(axis=1) | (largest <= 0))
    if len(bad):
        raise InputError(
            f"must have non-negative rows that are not all zero, but row {bad[0]} is not a "
            "mixture.",
            "theta",
        )
    weights /= largest[:, None]  # the sum of huge weights may exceed a double
    weights /= weights.sum(axis=1)[:, None]
    return weights


@dataclass(frozen=True)
class InferenceSpread:
    """Mean and sd over `n_runs` runs of f and of its two terms, float64 arrays (D,).

    With alpha < 1, compare f only between runs of the same length.
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    log_likelihood_mean: NDArray[np.float64]
    log_likelihood_sd: NDArray[np.float64]
    log_prior_mean: NDArray[np.float64]
    log_prior_sd: NDArray[np.float64]
    n_runs: int


def inference_spread(
    topics: GivenTopics,
    X: Any,
    *,
    method: str | Method = "ope",
    doc_topic_prior: ArrayLike | None = None,
    n_runs: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> InferenceSpread:
    """Infer the same documents several times, with another seed each, and return the spread of f.

    Parameters
    ----------
    topics, X, doc_topic_prior, random_state, n_jobs, engine
        As for `log_predictive_probability`.
    method : str or Method
        A method that is not random has no spread.
    n_runs : int
        At least 2. The standard deviation is that of a sample.

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> made = generate(20, n_words=100, n_topics=5)
    >>> bool((inference_spread(made.topics, made.X, random_state=0).sd > 0).any())
    True
    """
    n_runs = whole("n_runs", n_runs, 2)
    measured = MeasuredTopics.of(topics, X=X)
    matrix, prior = measured.counts(X), measured.prior(doc_topic_prior)
    rng = np.random.default_rng(seed(random_state))
    how: dict[str, Any] = {"doc_topic_prior": prior, "method": method, "n_jobs": n_jobs}
    runs = [
        infer(matrix, measured.table, random_state=rng, engine=engine, **how) for _ in range(n_runs)
    ]
    g1 = np.array([run.log_likelihood for run in runs])
    g2 = np.array([run.log_prior for run in runs])
    return InferenceSpread(*_spread(g1 + g2), *_spread(g1), *_spread(g2), n_runs)


def _spread(runs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation over runs (n_runs, D)."""
    # from the first run on: the mean of equal numbers is then not off by a rounding
    offset = runs - runs[0]
    return runs[0] + offset.mean(axis=0), offset.std(axis=0, ddof=1)


@contextmanager
def columns_without_names() -> Iterator[None]:
    """Let a model that learned from a data frame take arrays without column names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield


@columns_without_names()
def mixtures(model: Any, X: Any) -> NDArray[np.float32]:
    found = model.transform(X)
    return found.toarray() if hasattr(found, "toarray") else np.asarray(found)


def check_model(model: Any) -> None:
    """Raise unless the model can infer mixtures."""
    if not callable(getattr(model, "transform", None)):
        raise InputError(
            f"must be a fitted model, got {type(model).__name__}; topics cannot infer mixtures.",
            "model",
        )
