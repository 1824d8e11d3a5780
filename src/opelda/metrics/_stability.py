"""How much the result of inference depends on its random numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from opelda._validation import seed, threads, whole
from opelda.engines import Engine
from opelda.inference import Method, infer
from opelda.metrics._topics import GivenTopics, MeasuredTopics


@dataclass(frozen=True)
class InferenceStability:
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
    >>> topics, X = [[0.5, 0.5], [0.9, 0.1]], [[3, 1], [0, 0]]
    >>> found = inference_stability(topics, X, n_runs=3, random_state=0)
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


def inference_stability(
    topics: GivenTopics,
    X: Any,
    *,
    method: str | Method = "ope",
    doc_topic_prior: ArrayLike | None = None,
    n_runs: int = 10,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> InferenceStability:
    """Infer the same documents several times, with another seed each, and return the spread.

    How alike the topics of several models are is `topic_stability`.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        Each row a distribution over the words; a model's are divided by their sums.
    X : array or sparse matrix (D, V), Corpus, or texts
        Texts, and the words of a corpus, take a model with a vocabulary.
    method : str or Method
        What infers; one that is not random has no spread.
    doc_topic_prior : number, vector (K,) or None
        alpha; None is the model's own, and 1/K for topics without a model.
    n_runs : int
        At least 2. The standard deviation is that of a sample: it divides by ``n_runs - 1``.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    engine : str or Engine
        As for `opelda.inference.infer`.

    Returns
    -------
    InferenceStability

    Examples
    --------
    >>> from opelda.corpus import generate
    >>> made = generate(20, n_words=100, n_topics=5)
    >>> found = inference_stability(made.topics, made.X, random_state=0)
    >>> bool((found.sd > 0).any())
    True
    >>> bool((inference_stability(made.topics, made.X, method="vb").sd > 0).any())
    False
    """
    whole("n_runs", n_runs, 2)
    measured = MeasuredTopics.of(topics, X=X)
    matrix, prior = measured.counts(X), measured.prior(doc_topic_prior)
    rng, n_threads = np.random.default_rng(seed(random_state)), threads(n_jobs)
    likelihoods, priors = [], []
    for _ in range(n_runs):
        run = infer(
            matrix,
            measured.table,
            doc_topic_prior=prior,
            method=method,
            random_state=rng,
            n_jobs=n_threads,
            engine=engine,
        )
        likelihoods.append(run.log_likelihood)
        priors.append(run.log_prior)
    mean, sd = _spread(np.add(likelihoods, priors))
    likelihood_mean, likelihood_sd = _spread(np.array(likelihoods))
    prior_mean, prior_sd = _spread(np.array(priors))
    return InferenceStability(
        mean, sd, likelihood_mean, likelihood_sd, prior_mean, prior_sd, n_runs=int(n_runs)
    )


def _spread(runs: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation over runs (n_runs, D)."""
    # from the first run on: the mean of equal numbers is then not off by a rounding
    offset = runs - runs[0]
    return runs[0] + offset.mean(axis=0), offset.std(axis=0, ddof=1)
