"""Shares without optimism: effects of topics on the documents that they were learned from.

Topics fit the noise of their documents, which exaggerates differences between these documents. So
the documents are split into three folds, and topics are learned again without each fold. Optimism
is the effect on documents that a refit has seen, less that on others (Efron, "Estimating the error
rate of a prediction rule", 1983). It is subtracted document by document: with theta~_dj the shares
of document d by refit j, and d in fold i,

    theta~_d - (mean of theta~_dj over j != i) + theta~_di,

averaged over random splits. Refits have 2/3 of the documents, and their optimism is larger than the
model's; the topics of refits that do not match the model's make it smaller. Both nearly cancel
(docs/covariates.md). The delete-a-fold jackknife measures the error of the topics.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from opelda.errors import InputError
from opelda.learning._learner import Learner, another, run_seeds
from opelda.metrics import match_topics
from opelda.report._unmixing import Unmixing

N_FOLDS = 3

Array = NDArray[np.float64]


def random_folds(
    model: Learner, X: sparse.csr_array, n_splits: int, cluster: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Return the fold of each document in each split (splits, documents), by the model's seed."""
    if cluster is None:  # copies of a document stay together, and the order of rows is free
        keys = model._engine().documents(X).content_keys()
        cluster = np.unique(keys, return_inverse=True)[1]
    n_units = len(np.unique(cluster))
    if n_units < N_FOLDS:
        message = f"needs at least {N_FOLDS} different documents or clusters, got {n_units}; "
        raise InputError(message + "pass more documents.", "n_splits")
    chance = np.random.default_rng(model._learned().seed)
    orders = [chance.permutation(int(cluster.max()) + 1) for _ in range(n_splits)]
    return np.array([order[cluster] % N_FOLDS for order in orders])


def cross_fitted(
    model: Any,
    X: sparse.csr_array,
    shares: Array,
    estimate: Callable[[Array], Array],
    n_splits: int,
    cluster: NDArray[np.intp] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[Array, Array]:
    """Return shares without optimism, and the variance of estimates by the error of topics."""
    if n_splits == 1:
        raise InputError("must be 0 or at least 2, got 1.", "n_splits")
    if not isinstance(model, Learner):
        message = f"must be a fitted learner such as TopicModel(), got {type(model).__name__}; "
        raise InputError(message + "remove {n_splits}.", "model", n_splits=...)
    state, topics, n_fits = model._learned(), model.components_, n_splits * N_FOLDS
    folds, shares, estimates = random_folds(model, X, n_splits, cluster), shares.copy(), []
    settings: dict[str, Any] = {"n_components": len(topics)}
    if hasattr(model, "n_groups"):
        settings["n_groups"] = 0  # groups change no topics
    for number, seed in enumerate(run_seeds(state.seed, n_fits + 1)[1:]):
        if progress is not None:
            progress(f"refit {number + 1} of {n_fits}", number, n_fits)
        split, fold = divmod(number, N_FOLDS)
        is_out = folds[split] == fold
        refit = another(model, seed, **settings).fit(X[~is_out], vocabulary=state.vocabulary)
        found = Unmixing(refit.components_[match_topics(topics, refit.components_)[0]]).shares(X)[0]
        shares += np.where(is_out, 1.0, -1.0 / (N_FOLDS - 1))[:, np.newaxis] * found / n_splits
        estimates.append(estimate(found))
    by_fold = np.reshape(estimates, (n_splits, N_FOLDS, *estimates[0].shape))
    sampled = (N_FOLDS - 1) * by_fold.var(axis=1).mean(axis=0)
    # The jackknife multiplies the variance between fits of equal documents by (J - 1)^2 / J. Means
    # over folds vary between splits by 1 / J of this variance alone.
    between = by_fold.mean(axis=1).var(axis=0, ddof=1)
    return shares, np.maximum(sampled - (N_FOLDS - 1) ** 2 * between, between)
