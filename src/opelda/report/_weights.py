"""How much of the documents each topic accounts for, as far as the model itself knows."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from opelda.learning._learner import Learner
from opelda.learning._rules import ML
from opelda.metrics._topics import GivenTopics


def topic_weights(topics: GivenTopics | None) -> NDArray[np.float64] | None:
    """Return each topic's share of the tokens that the model has learned from.

    The Online and Streaming rules keep, for each topic, the tokens they expect of it; the shares
    are those without what the prior adds. Older documents count less where the rule forgets.

    Parameters
    ----------
    topics : fitted learner of opelda
        Anything else that topics may be given as does not know.

    Returns
    -------
    float64 array (K,) or None
        Shares that sum to 1. None where they are not known: for topics without a learner, and for
        those learned by the ML rule, which keeps every topic's weights normalised.

    Examples
    --------
    >>> import numpy as np
    >>> from opelda import MLOPE, StreamingOPE
    >>> from opelda.report import topic_weights
    >>> X = np.repeat([[4, 4, 0, 0], [0, 0, 1, 1]], [30, 30], axis=0)
    >>> np.sort(topic_weights(StreamingOPE(2, batch_size=30, random_state=0).fit(X))).round(1)
    array([0.2, 0.8])
    >>> topic_weights(MLOPE(2, random_state=0).fit(X)) is None
    True
    """
    if not isinstance(topics, Learner):
        return None
    check_is_fitted(topics)
    if isinstance(topics._rule(), ML):
        return None
    weights = topics._state.weights
    mass = np.maximum(weights.sums, 0.0)
    total = float(mass.sum())
    if not topics._state.n_updates or total <= 0.0:  # nothing was learned so far
        return np.full(weights.n_topics, 1.0 / weights.n_topics)
    shares: NDArray[np.float64] = mass / total
    return shares
