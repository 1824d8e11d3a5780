"""Log predictive probability: how well topics predict words of a document from its others."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from opelda._validation import seed, whole
from opelda.engines import Engine
from opelda.errors import InputError
from opelda.inference import Method
from opelda.metrics._held_out import PredictiveProbability, predicted
from opelda.metrics._split import (
    as_share,
    check_lengths,
    positive_counts,
    split_tokens,
    tokens_per_document,
)
from opelda.metrics._topics import GivenTopics, MeasuredTopics


def log_predictive_probability(
    topics: GivenTopics,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "vb",
    held_out: float = 0.3,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> PredictiveProbability:
    """Predict held-out tokens of each document from the mixture of its other tokens.

    A document's tokens are split at random (`split_tokens`), theta is inferred on the observed
    part, and the held-out part scored, as by `predict_held_out`.

    Parameters
    ----------
    topics : array (K, V), Topics or fitted model
        An array is scored as it is; `Topics` holds single precision. A model is any learner of
        opelda, or one with `components_` such as scikit-learn's, whose rows are divided by their
        sums.
    X : array or sparse matrix (D, V), Corpus, or texts
        Documents that the topics were not learned from. Those of fewer than 2 tokens are left out
        and counted. Texts, and the words of a corpus, take a model with a vocabulary.
    doc_topic_prior : number, vector (K,) or None
        alpha; None is the model's own, and 1/K for topics without a model.
    method : str or Method
        What infers theta. Scores are comparable only between equal methods and priors.
    held_out : float
        Share of the tokens to predict.
    n_splits : int
        Random splits to average over. Same seed, same splits, whatever the topics and method.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; None is every core, but one inside a worker of joblib or the like. Results do not
        depend on it.
    engine : str or Engine
        As for `opelda.inference.infer`; ``"reference"`` is double precision throughout.

    Returns
    -------
    PredictiveProbability

    Examples
    --------
    >>> topics = [[0.45, 0.45, 0.05, 0.05], [0.05, 0.05, 0.45, 0.45]]
    >>> X = [[5, 5, 0, 0], [0, 0, 5, 5]]
    >>> good = log_predictive_probability(topics, X, random_state=0)
    >>> blind = log_predictive_probability([[0.25] * 4], X, random_state=0)
    >>> good.macro > blind.macro
    True
    >>> from opelda import OnlineOPE
    >>> from opelda.corpus import read
    >>> model = OnlineOPE(2, random_state=0).fit(read(["green tea", "black tea", "red wine"] * 9))
    >>> log_predictive_probability(model, ["green tea and wine", "black tea"]).n_documents
    2
    """
    measured = MeasuredTopics.of(topics, X=X)
    share = as_share(held_out)
    n_splits = whole("n_splits", n_splits)
    matrix = positive_counts(measured.counts(X))
    n_tokens = tokens_per_document(matrix)
    check_lengths(n_tokens)
    long_enough = n_tokens >= 2
    if not long_enough.any():
        raise InputError("has no document of at least 2 tokens, and others cannot be split.", "X")
    if not long_enough.all():
        matrix = matrix[long_enough]
    rng = np.random.default_rng(seed(random_state))
    return predicted(
        _splits(matrix, share, n_splits, rng),
        measured,
        n_left_out=int((~long_enough).sum()),
        doc_topic_prior=doc_topic_prior,
        method=method,
        random_state=rng,
        n_jobs=n_jobs,
        engine=engine,
    )


def perplexity(
    topics: GivenTopics,
    X: Any,
    *,
    doc_topic_prior: ArrayLike | None = None,
    method: str | Method = "vb",
    held_out: float = 0.3,
    n_splits: int = 5,
    random_state: Any = None,
    n_jobs: int | None = None,
    engine: str | Engine = "cpu",
) -> float:
    """Return exp(-`log_predictive_probability`): between how many words the topics seem to guess.

    Parameters and errors are those of `log_predictive_probability`.

    Examples
    --------
    >>> round(perplexity([[0.25] * 4], [[4, 4, 0, 0]], random_state=0), 3)
    4.0
    """
    found = log_predictive_probability(
        topics,
        X,
        doc_topic_prior=doc_topic_prior,
        method=method,
        held_out=held_out,
        n_splits=n_splits,
        random_state=random_state,
        n_jobs=n_jobs,
        engine=engine,
    )
    return float(np.exp(-found.macro))


def _splits(
    matrix: sparse.csr_array, share: float, n_splits: int, rng: np.random.Generator
) -> Iterator[tuple[sparse.csr_array, sparse.csr_array]]:
    """Split when asked to: inference takes its seeds from the same generator in between."""
    for _ in range(n_splits):
        yield split_tokens(matrix, held_out=share, random_state=rng)
