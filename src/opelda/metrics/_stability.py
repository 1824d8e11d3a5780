"""How much the result of inference depends on its random numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda.errors import InputError
from opelda.inference import Method, Topics, infer
from opelda.inference._inputs import as_csr, as_seed


@dataclass(frozen=True)
class Stability:
    """Mean and standard deviation over runs of f and of its two terms, per document.

    Attributes
    ----------
    mean, sd : float64 arrays (D,)
        Of f = log-likelihood + log-prior. With alpha < 1 compare it only between runs of the same
        length.
    log_likelihood_mean, log_likelihood_sd : float64 arrays (D,)
    log_prior_mean, log_prior_sd : float64 arrays (D,)
    n_runs : int

    Examples
    --------
    >>> found = stability([[3, 1], [0, 0]], [[0.5, 0.5], [0.9, 0.1]], n_runs=3, random_state=0)
    >>> found.sd.shape, float(found.sd[1]), found.n_runs
    ((2,), 0.0, 3)
    """

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]
    log_likelihood_mean: NDArray[np.float64]
    log_likelihood_sd: NDArray[np.float64]
    log_prior_mean: NDArray[np.float64]
    log_prior_sd: NDArray[np.float64]
    n_runs: int


def stability(
    X: Any,
    topics: Topics | ArrayLike,
    *,
    method: str | Method = "ope",
    doc_topic_prior: ArrayLike | None = None,
    n_runs: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Stability:
    """Infer the same documents several times, with another seed each, and look at the spread.

    Parameters
    ----------
    X : array or sparse matrix (D, V)
        Word counts.
    topics : array (K, V) or Topics
    method : str or Method
        What infers; one that is not random has no spread.
    doc_topic_prior : number, vector (K,) or None
        alpha; None is 1/K.
    n_runs : int
        At least 2. The standard deviation is that of a sample: it divides by ``n_runs - 1``.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads, as for `opelda.inference.infer`.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> made = generate(20, n_words=100, n_topics=5)
    >>> found = stability(made.X, made.topics, random_state=0)
    >>> bool((found.sd > 0).any())
    True
    >>> bool((stability(made.X, made.topics, method="vb", random_state=0).sd > 0).any())
    False
    """
    if not isinstance(n_runs, int | np.integer) or isinstance(n_runs, bool) or n_runs < 2:
        raise InputError(f"n_runs must be a whole number from 2 on, got {n_runs!r}.")
    table = topics if isinstance(topics, Topics) else Topics(topics)
    matrix = as_csr(X)
    rng = np.random.default_rng(as_seed(random_state))
    likelihoods, priors = [], []
    for _ in range(n_runs):
        run = infer(
            matrix,
            table,
            doc_topic_prior=doc_topic_prior,
            method=method,
            random_state=rng,
            n_jobs=n_jobs,
        )
        likelihoods.append(run.log_likelihood)
        priors.append(run.log_prior)
    mean, sd = _spread(np.add(likelihoods, priors))
    likelihood_mean, likelihood_sd = _spread(np.array(likelihoods))
    prior_mean, prior_sd = _spread(np.array(priors))
    return Stability(
        mean, sd, likelihood_mean, likelihood_sd, prior_mean, prior_sd, n_runs=int(n_runs)
    )


def _spread(runs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation over runs (n_runs, D)."""
    # from the first run on: the mean of equal numbers is then not off by a rounding
    offset = runs - runs[0]
    return runs[0] + offset.mean(axis=0), offset.std(axis=0, ddof=1)
