"""Which topics can be trusted? Those that come again when topics are learned anew."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opelda._validation import seed, whole
from opelda.errors import InputError
from opelda.learning._learner import Learner
from opelda.learning._runs import another, compared_words, run_seeds
from opelda.metrics._matching import stability_over_runs
from opelda.selection._fits import Progress


@dataclass(frozen=True, eq=False)
class Stability:
    """How far the topics of a model come again in other runs; as a float it is their mean.

    Attributes
    ----------
    topics : float64 array (K,)
        For each topic the share of common words in its twenty first ones and those of the topic it
        matches, a mean over the other runs.
    runs : float64 array (n_runs,)
        Mean over topics of the model itself, and then of each other run, compared with all others
        in the same way: a model that is far below the rest is an odd one.

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.selection import stability
    >>> X = generate(300, n_words=100, n_topics=3, separated=True).X
    >>> model = TopicModel(3, random_state=0).fit(X)
    >>> found = stability(model, X, n_runs=3)
    >>> found.topics.shape, found.runs.shape
    ((3,), (3,))
    """

    topics: NDArray[np.float64]
    runs: NDArray[np.float64]

    def __float__(self) -> float:
        return float(self.topics.mean())


def stability(
    model: Any,
    X: Any,
    *,
    n_runs: int = 10,
    random_state: Any = None,
    progress: Progress | None = None,
) -> Stability:
    """Learn topics anew with other seeds, and see which of a model's come again.

    The model keeps what was found as its `topic_stability_`, which tables, pages and its file show,
    until it learns on. ``TopicModel(n_runs=...)`` does the same while it fits, and keeps the run
    that is most like the others.

    Parameters
    ----------
    model : fitted learner of opelda
    X : array or sparse matrix (D, V), Corpus, or texts
        The documents that it learned from, or others like them.
    n_runs : int
        The model and the runs it is compared with, 2 or more in all.
    random_state : int, RandomState, Generator or None
        By default the other seeds follow from the model's.
    progress : callable, optional
        Called before each fit with what it is, the fits done and all of them.

    Returns
    -------
    Stability

    Examples
    --------
    >>> from opelda import TopicModel
    >>> from opelda.corpus import generate
    >>> from opelda.selection import stability
    >>> X = generate(300, n_words=100, n_topics=3, separated=True).X
    >>> model = TopicModel(3, random_state=0).fit(X)
    >>> found = stability(model, X, n_runs=3)
    >>> bool((model.topic_stability_ == found.topics).all())
    True
    """
    if not isinstance(model, Learner):
        raise InputError(
            f"must be a fitted learner such as TopicModel(), got {type(model).__name__}.", "model"
        )
    n_runs, state = whole("n_runs", n_runs, 2), model._learned()
    counts = model._checked(X)
    words = [compared_words(model)]
    drawn = state.seed if random_state is None else seed(random_state)
    for number, run_seed in enumerate(run_seeds(drawn, n_runs)[1:]):
        if progress is not None:
            progress(f"run {number + 1} of {n_runs - 1}", number, n_runs - 1)
        words.append(
            compared_words(another(model, run_seed).fit(counts, vocabulary=state.vocabulary))
        )
    found = stability_over_runs(words)
    with state.lock.writing():
        state.stability = found[0]
    return Stability(found[0], found.mean(axis=1))
